"""The estimators as people use them: pipelines, searches, frames, streams, files."""

import importlib
import pickle
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import directgp as dg
from directgp import GPClassifier, GPRegressor
from directgp.estimators.rows import merged
from directgp.estimators.stream import Memory
from directgp.parameters import unwrap
from directgp.persistence import ForeignFile, NotSavable
from directgp.predictive import ClassProbabilities, CountMixture
from directgp.tables import WeightedRows
from tests.flat import flat

QUICK = {"beta": 1.0, "num_inducing": 10, "max_steps": 100}


def wave(rng, count=60):
    X = rng.uniform(-2, 2, size=(count, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=count)


@pytest.fixture(scope="module")
def table():
    return wave(np.random.default_rng(0))


@pytest.fixture(scope="module")
def regressor(table):
    return GPRegressor(**QUICK).fit(*table)


@pytest.fixture(scope="module")
def labels(table):
    return np.array(["low", "high"])[(table[0][:, 0] > 0).astype(int)]


@pytest.fixture(scope="module")
def classifier(table, labels):
    return GPClassifier(**QUICK).fit(table[0], labels)


# ---------------------------------------------------------------- predictions


def test_all_ways_to_predict_agree(regressor, table):
    X, y = table
    predictive = regressor.predict_distribution(X)
    mean, std = regressor.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, predictive.mean)
    np.testing.assert_array_equal(std, predictive.std)
    np.testing.assert_array_equal(regressor.predict(X), mean)
    quantiles = regressor.predict_quantiles(X, (0.1, 0.9))
    np.testing.assert_array_equal(quantiles, predictive.quantile((0.1, 0.9)))
    assert regressor.score(X, y) == pytest.approx(np.mean(predictive.log_prob(y)))
    weights = np.arange(1.0, len(y) + 1)
    weighted = np.average(predictive.log_prob(y), weights=weights)
    assert regressor.score(X, y, weights) == pytest.approx(weighted)
    assert np.corrcoef(mean, y)[0, 1] > 0.9


def test_masked_values_are_missing_values(regressor, table, labels):
    X, y = table
    mask = np.zeros(X.shape, bool)
    mask[3, 1] = True
    masked, gaps = np.ma.array(X, mask=mask), np.where(mask, np.nan, X)
    by_mask, by_nan = (GPRegressor(**QUICK).fit(rows, y) for rows in (masked, gaps))
    np.testing.assert_array_equal(by_mask.predict(masked), by_nan.predict(gaps))
    with pytest.raises(ValueError, match="y contains NaN"):
        GPRegressor(**QUICK).fit(X, np.ma.array(y, mask=mask[:, 1]))
    with pytest.raises(ValueError, match="contains NaN"):
        GPClassifier(**QUICK).fit(X, np.ma.array(labels, mask=mask[:, 1]))
    np.testing.assert_array_equal(regressor.predict(masked), regressor.predict(gaps))
    with pytest.raises(ValueError, match="y is NaN at 1 rows, first 3"):
        regressor.score(X, np.ma.array(y, mask=mask[:, 1]))


def test_a_classifier_speaks_in_labels(classifier, table, labels):
    X = table[0]
    assert classifier.classes_.tolist() == ["high", "low"]
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_array_equal(np.exp(classifier.predict_log_proba(X)), probabilities)
    assert np.mean(classifier.predict(X) == labels) > 0.9
    right = probabilities[np.arange(len(X)), (labels == "low").astype(int)]
    assert classifier.score(X, labels) == pytest.approx(np.mean(np.log(right)))
    assert isinstance(classifier.predict_distribution(X), ClassProbabilities)
    with pytest.raises(ValueError, match=r"label .*'odd'.*not among the classes"):
        classifier.score(X[:1], ["odd"])


def test_the_estimator_is_fit_with_the_same_arguments(table):
    """What GPRegressor does is `fit` of the rows in a fixed order, and nothing else."""
    X, y = table
    rows = merged(WeightedRows(X, y, np.ones(len(y))))
    plain = dg.fit(rows.X, rows.y, **flat(**QUICK, seed=0)).predict(X)
    np.testing.assert_array_equal(GPRegressor(**QUICK).fit(X, y).predict(X), plain.mean)


def test_counts_by_name(table):
    X, y = table
    counts = np.round(np.exp(y))
    model = GPRegressor("poisson", **QUICK).fit(X, counts)
    assert isinstance(model.predict_distribution(X), CountMixture)
    assert np.isfinite(model.score(X, counts))
    with pytest.raises(ValueError, match="y must be counts"):
        model.partial_fit(X, y)


def test_losses_by_name_or_as_parts(table):
    by_name = GPRegressor(loss="crps", **QUICK).fit(*table)
    assert by_name.fitted_.objective.loss == dg.Direct(dg.CRPS())
    assert np.corrcoef(by_name.predict(table[0]), table[1])[0, 1] > 0.8
    for part in (dg.CRPS(), dg.Direct(dg.CRPS())):
        as_part = GPRegressor(loss=part, **QUICK).fit(*table)
        np.testing.assert_array_equal(as_part.predict(table[0]), by_name.predict(table[0]))


def test_the_elbo_is_an_objective(table):
    model = GPRegressor(objective="elbo", **QUICK).fit(*table)
    assert model.fitted_.objective.loss == dg.Gibbs(dg.LogLoss())


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (GPRegressor(likelihood="bernoulli"), "use GPClassifier for classes"),
        (GPRegressor(likelihood="cauchy"), "unknown likelihood 'cauchy'"),
        (GPRegressor(loss="hinge"), "unknown loss 'hinge'"),
        (GPRegressor(objective="mcmc"), "unknown objective 'mcmc'"),
        (GPClassifier(link="cloglog"), "unknown link 'cloglog'"),
        (GPRegressor(time_budget=-1.0), "time_budget must be a number of seconds above 0"),
        (GPRegressor(learning_rate=50.0), "learning_rate must be at most 1, got 50.0"),
        (GPRegressor(epochs=3), "epochs=3 is about mini-batches, and the .* give max_steps"),
    ],
    ids=str,
)
def test_bad_parameters_are_named_when_fitting(estimator, message):
    X = np.arange(20.0)[:, None]
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, np.arange(20) % 2)


def test_link_and_class_weight(table):
    X = table[0]
    rare = np.where(X[:, 0] > 1.5, "yes", "no")
    plain = GPClassifier(**QUICK).fit(X, rare)
    balanced = GPClassifier(class_weight="balanced", **QUICK).fit(X, rare)
    as_dict = GPClassifier(class_weight={"no": 0.5, "yes": 5.0}, **QUICK).fit(X, rare)
    assert isinstance(GPClassifier("logit")._binary(), dg.BernoulliLogit)
    assert as_dict.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02
    assert balanced.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean() + 0.02


# ---------------------------------------------------------------- the scikit-learn world


def test_pipeline_search_and_cross_validation(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), GPRegressor(**QUICK))
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.shape == (3,) and np.isfinite(scores).all()
    search = GridSearchCV(GPRegressor(**QUICK), {"beta": [0.1, 1000.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"beta": 0.1}  # so heavy a divergence learns nothing
    assert search.best_estimator_.fitted_.beta == 0.1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_give_their_column_names(library, table, regressor):
    frames = importlib.import_module(library)
    X, y = table
    frame = frames.DataFrame({"width": X[:, 0], "height": X[:, 1]})
    model = GPRegressor(**QUICK).fit(frame, frames.Series(y))
    assert model.feature_names_in_.tolist() == ["width", "height"]
    np.testing.assert_array_equal(model.predict(frame), regressor.predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[["height", "width"]])


def test_weights_are_repetitions_and_order_does_not_matter(table, rng):
    X, y = table
    weights = rng.integers(0, 3, size=len(y))
    weighted = GPRegressor(**QUICK).fit(X, y, sample_weight=weights)
    shuffle = rng.permutation(weights.sum())
    repeated = GPRegressor(**QUICK).fit(
        np.repeat(X, weights, 0)[shuffle], np.repeat(y, weights)[shuffle]
    )
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_random_states(table):
    X, y = table
    first, second = (
        GPRegressor(**QUICK, random_state=seed).fit(X, y).predict(X)
        for seed in (1, np.random.RandomState(1))
    )
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("estimator", [GPRegressor(), GPClassifier()])
@pytest.mark.parametrize("method", ["score", "predict", "save", "get_feature_names_in"])
def test_what_needs_a_fit_says_so(estimator, method, table, tmp_path):
    given = {"score": table, "predict": table[:1], "save": (tmp_path / "m.dgp",)}
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(estimator, method)(*given.get(method, ()))
    assert not list(tmp_path.iterdir())


def test_a_clone_is_unfitted_and_warm_start_goes_on(table):
    X, y = table
    model = GPRegressor(**QUICK | {"max_steps": 50}, warm_start=True).fit(X, y)
    first = model.fitted_.history["objective"][-1]
    model.fit(X, y)
    assert model.fitted_.history["objective"][0] < first
    assert not hasattr(clone(model), "fitted_")
    with pytest.raises(ValueError, match="1 features"):
        model.fit(X[:, :1], y)


# ---------------------------------------------------------------- streams


def test_a_stream_is_learned_piece_by_piece():
    """Rows that come sorted: each piece shows another region, and none is forgotten."""
    rng = np.random.default_rng(1)
    X, y = wave(rng, 240)
    order = np.argsort(X[:, 0])
    model = GPRegressor(**QUICK)
    model.partial_fit(X[::8], y[::8])
    before = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    for piece in np.array_split(order, 4):
        model.partial_fit(X[piece], y[piece])
    after = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert after < before and after < 0.2
    assert model._memory.seen == 30 + 240


def test_a_stream_remembers_what_fit_has_seen():
    """One new row at the edge must not cost what `fit` knew elsewhere."""
    X, y = wave(np.random.default_rng(2), 120)
    model = GPRegressor(**QUICK).fit(X, y)
    before = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    edge = np.argmax(X[:, 0])
    for _ in range(5):
        model.partial_fit(X[[edge]], y[[edge]])
    after = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert after < 1.3 * before
    assert model._memory.seen == 125


def test_a_long_stream_goes_on_being_remembered(monkeypatch):
    """Every call draws anew: rows of all calls are in the memory, also of late ones."""
    monkeypatch.setattr("directgp.estimators.stream.continued", lambda fitted, *_: fitted)
    X, y = wave(np.random.default_rng(3), 100)
    model = GPRegressor(**QUICK).fit(X, y)
    for call in range(300):
        model.partial_fit(X, np.full(100, float(call)))
    kept = model._memory.rows.y
    counts = np.histogram(kept, bins=10, range=(0, 300))[0]
    assert len(kept) == 1000 and np.all(np.abs(counts - 100) < 50)


def test_what_is_held_fixed_stays_so_in_a_stream(table):
    X, y = table
    likelihood = dg.StudentT(df=4.0, learn_df=False)
    model = GPRegressor(likelihood=likelihood, **QUICK).fit(X, y).partial_fit(X, y)
    assert float(unwrap(model.fitted_.gp.likelihood.df)) == pytest.approx(4.0)


def test_square_loss_keeps_its_spread_in_a_stream(table):
    X, y = table
    model = GPRegressor(loss="square", **QUICK).fit(X, y)
    score, std = model.score(X, y), model.predict(X, return_std=True)[1]
    for _ in range(3):
        model.partial_fit(X, y)
    assert model.score(X, y) > score - 0.1
    assert 0.5 < np.mean(model.predict(X, return_std=True)[1]) / np.mean(std) < 1.5


def test_memory_is_a_fair_sample(rng):
    def piece(value, count):
        return WeightedRows(np.full((count, 1), value), np.full(count, value), np.ones(count))

    memory = Memory.of(piece(0.0, 3000), rng)
    for value in (1.0, 2.0, 3.0):
        memory = memory.extended(piece(value, 3000), rng)
    counts = np.bincount(memory.rows.y.astype(int))
    assert memory.seen == 12_000 and counts.sum() == 1000
    assert np.all(np.abs(counts - 250) < 5 * np.sqrt(250))
    together = memory.trained_on(piece(4.0, 10))
    assert together.weight.sum() == pytest.approx(12_010)


def test_a_classifiers_stream_knows_all_classes_from_the_start(table):
    X = table[0]
    y = (X[:, 0] > 0).astype(int)
    first = y < 1
    model = GPClassifier(**QUICK)
    with pytest.raises(ValueError, match="at least two classes"):
        model.partial_fit(X[first], y[first])
    model = GPClassifier(**QUICK).fit(X, y)
    model.partial_fit(X[first], y[first], classes=[0, 1])
    assert model.predict_proba(X).shape == (60, 2)
    with pytest.raises(ValueError, match="not among the classes"):
        model.partial_fit(X, y + 1)


# ---------------------------------------------------------------- keeping


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_files_and_pickles_predict_the_same_bits(name, request, table, tmp_path):
    model, X = request.getfixturevalue(name), table[0]
    model.save(tmp_path / "model")
    loaded = type(model).load(tmp_path / "model")
    pickled = pickle.loads(pickle.dumps(model))
    for copy in (loaded, pickled):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        np.testing.assert_array_equal(
            copy.predict_distribution(X).mean, model.predict_distribution(X).mean
        )
        assert copy.get_params() == model.get_params()
        assert copy.n_features_in_ == 2
    assert dg.load(tmp_path / "model").features == {"x0": "number", "x1": "number"}
    other = GPClassifier if name == "regressor" else GPRegressor
    with pytest.raises(ForeignFile, match=f"holds no {other.__name__}"):
        other.load(tmp_path / "model")


def test_files_keep_names_parts_and_learn_on(table, tmp_path):
    import pandas

    X, y = table
    frame = pandas.DataFrame(X, columns=["a", "b"])
    model = GPRegressor(**QUICK, loss=dg.LogLoss()).fit(frame, y)
    model.save(tmp_path / "model")
    loaded = GPRegressor.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == ["a", "b"] and loaded.loss == dg.LogLoss()
    again = GPRegressor.load(tmp_path / "model").partial_fit(frame, y)
    np.testing.assert_array_equal(loaded.partial_fit(frame, y).predict(frame), again.predict(frame))
    assert len(loaded._memory.rows.y) == len(y)  # only what came after loading
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(NotSavable, match="random_state"):
        model.save(tmp_path / "model")


@pytest.mark.slow
def test_a_pickle_keeps_its_precision_in_a_process_of_its_own(regressor, table, tmp_path):
    (tmp_path / "model").write_bytes(pickle.dumps(regressor))
    program = (
        "import pickle, sys; m = pickle.load(open(sys.argv[1], 'rb')); "
        "print(repr(float(m.predict([[0.3, 0.4]])[0])))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "model"],
        capture_output=True, text=True, check=True, env={"PYTHONPATH": "src"},
    )  # fmt: skip
    assert float(done.stdout) == regressor.predict([[0.3, 0.4]])[0]


# ---------------------------------------------------------------- time


def test_a_time_budget_ends_the_fit_in_time(table):
    X, y = table
    patient = {**QUICK, "max_steps": 200_000}
    GPRegressor(**patient, time_budget=0.1).fit(X, y)  # compiles
    began = time.monotonic()
    model = GPRegressor(**patient, time_budget=2.0).fit(X, y)
    seconds, steps = time.monotonic() - began, model.fitted_.history["step"][-1]
    assert seconds < 6.0 and 50 <= steps < 200_000
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.9


@pytest.mark.parametrize(
    ("name", "loss"),
    [("direct-log", dg.Direct(dg.LogLoss())), ("elbo", dg.Gibbs(dg.LogLoss()))],
    ids=["direct-log", "elbo"],
)
def test_names_of_fit_say_loss_and_objective_at_once(name, loss):
    assert GPRegressor(loss=name)._loss() == loss
