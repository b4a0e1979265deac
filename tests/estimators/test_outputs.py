"""Several outputs, labels, robust losses and deep models through the estimators."""

import numpy as np
import pytest

import directgp as dg
from directgp import GPClassifier, GPRegressor
from directgp.estimators.rows import merged
from directgp.models import DeepGP, MultiOutput, OnFeatures
from directgp.tables import WeightedRows

QUICK = {"beta": 1.0, "num_inducing": 10, "max_steps": 80}


@pytest.fixture(scope="module")
def table():
    """Two outputs of which the second follows the first and is missing for a while."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(80, 2))
    base = np.sin(2 * X[:, 0])
    Y = np.stack([base, 100 - 20 * base], axis=1) + [0.05, 1.0] * rng.normal(size=(80, 2))
    Y[20:40, 1] = np.nan
    return X, Y


@pytest.fixture(scope="module")
def regressor(table):
    return GPRegressor(**QUICK).fit(*table)


def test_several_outputs_come_back_in_their_own_units(regressor, table):
    X, Y = table
    assert regressor.n_outputs_ == 2 and regressor.fitted_.num_outputs == 2
    mean, std = regressor.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape
    first, second = regressor.predict_distribution(X)
    np.testing.assert_array_equal(mean, np.stack([first.mean, second.mean], axis=1))
    assert regressor.predict_quantiles(X, (0.1, 0.9)).shape == (80, 2, 2)
    np.testing.assert_array_equal(regressor.predict_quantiles(X, 0.9)[:, 1], second.quantile(0.9))
    for number in range(2):
        known = np.isfinite(Y[:, number])
        error = mean[known, number] - Y[known, number]
        assert np.sqrt(np.mean(error**2)) < 0.5 * np.std(Y[known, number])


def test_the_score_is_the_mean_over_measured_values(regressor, table):
    X, Y = table
    first, second = regressor.predict_distribution(X)
    known = np.isfinite(Y[:, 1])
    logs = np.concatenate([first.log_prob(Y[:, 0]), second[known].log_prob(Y[known, 1])])
    assert regressor.score(X, Y) == pytest.approx(np.mean(logs))
    weight = np.arange(1.0, 81.0)
    weighted = np.average(logs, weights=np.concatenate([weight, weight[known]]))
    assert regressor.score(X, Y, weight) == pytest.approx(weighted)


def test_outputs_of_a_row_come_together(regressor, table):
    X, Y = table
    joint = regressor.predict_joint(X)
    np.testing.assert_array_equal(joint.mean, regressor.predict(X))
    assert joint.covariance.shape == (80, 2, 2) and joint.sample(3, 0).shape == (3, 80, 2)
    assert joint.log_prob(Y).shape == (80,)
    alone = GPRegressor(**QUICK | {"max_steps": 10}).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="predict_joint is for several outputs; use predict_dist"):
        alone.predict_joint(X)
    with pytest.raises(ValueError, match="predict_joint is for several outputs, and this model"):
        alone.fitted_.predict_joint(X)


def test_the_joint_loss_through_the_estimator(table, tmp_path):
    X, Y = table
    model = GPRegressor(loss="joint-log", **QUICK).fit(X, Y)
    assert model.fitted_.objective.loss == dg.Joint(dg.Direct(dg.LogLoss()))
    model.save(tmp_path / "joint.dgp")
    loaded = GPRegressor.load(tmp_path / "joint.dgp")
    np.testing.assert_array_equal(
        loaded.predict_joint(X).covariance, model.predict_joint(X).covariance
    )
    assert loaded.fitted_.objective.loss == model.fitted_.objective.loss
    robust = GPRegressor(loss="joint-log", robust="gamma")
    assert robust._loss() == dg.Joint(dg.Direct(dg.GammaLoss()))
    one = GPRegressor(loss="joint-log", **QUICK | {"max_steps": 10}).fit(X, Y[:, 0])
    assert one.fitted_.objective.loss == dg.Direct(dg.LogLoss())  # of one output it is the same
    with pytest.raises(ValueError, match="SquareLoss of several outputs is the sum over them"):
        dg.Joint(dg.Direct(dg.SquareLoss()))


def test_a_model_of_several_outputs_is_saved_to_the_last_bit(regressor, table, tmp_path):
    X, _ = table
    regressor.save(tmp_path / "two.dgp")
    loaded = GPRegressor.load(tmp_path / "two.dgp")
    np.testing.assert_array_equal(loaded.predict(X), regressor.predict(X))
    assert loaded.n_outputs_ == 2 and loaded.n_features_in_ == 2


@pytest.mark.slow
def test_a_stream_of_several_outputs_goes_on(regressor, table):
    X, Y = table
    stream = GPRegressor(**QUICK).fit(X, Y)
    before = stream.score(X, Y)
    assert stream.partial_fit(X, Y).score(X, Y) > before - 0.1
    with pytest.raises(ValueError, match="y has 1 outputs but the model was trained on 2"):
        stream.partial_fit(X, Y[:, 0])


def test_equal_rows_of_several_outputs_are_merged():
    X, Y = np.array([[1.0], [0.0], [1.0]]), np.array([[5.0, 6.0], [7.0, 8.0], [5.0, 6.0]])
    together = merged(WeightedRows(X, Y, np.ones(3)))
    assert together.y.tolist() == [[7.0, 8.0], [5.0, 6.0]]
    assert together.weight.tolist() == [1.0, 2.0]


def test_labels_are_learned_together_where_they_are_known(table):
    X, Y = table
    labels = np.where(np.isnan(Y), np.nan, np.nanmean(Y, axis=0) < Y)
    model = GPClassifier(**QUICK).fit(X, labels)
    predicted, (first, second) = model.predict(X), model.predict_proba(X)
    assert predicted.shape == (80, 2) and predicted.dtype.kind == "i"
    np.testing.assert_allclose(second.sum(axis=1), 1.0)
    known = np.isfinite(labels)
    assert np.mean(predicted[known] == labels[known]) > 0.9
    right = np.where(labels[:, 0] == 1, first[:, 1], first[:, 0])
    only_first = np.where([True, False], labels, np.nan)
    assert model.score(X, only_first) == pytest.approx(np.mean(np.log(right)))
    with pytest.raises(ValueError, match=r"must be 0 or 1.*MultiOutputClassifier"):
        model.fit(X, np.round(np.nan_to_num(Y)))
    with pytest.raises(ValueError, match="class_weight='balanced' is for a single column"):
        GPClassifier(class_weight="balanced").fit(X, labels)


def test_robust_takes_the_place_of_the_log_loss():
    rng = np.random.default_rng(1)
    X = np.sort(rng.uniform(-3, 3, size=(100, 1)), axis=0)
    clean = np.sin(X[:, 0])
    y = clean + 0.1 * rng.normal(size=100)
    y[::20] += 20.0
    quick = QUICK | {"max_steps": 200}
    robust = GPRegressor(robust="gamma", robust_power=1.3, **quick).fit(X, y)
    assert robust.fitted_.objective.loss == dg.Direct(dg.GammaLoss(1.3))
    assert np.sqrt(np.mean((robust.predict(X) - clean) ** 2)) < 0.3
    averaged = GPRegressor(robust="beta", objective="elbo")
    assert averaged._loss() == dg.Gibbs(dg.BetaLoss())
    assert GPClassifier(robust="gamma")._loss() == dg.Direct(dg.GammaLoss())


@pytest.mark.slow
def test_deep_and_feature_models_are_saved_to_the_last_bit(table, tmp_path):
    X, y = table[0], table[1][:, 0]
    for options, kind in (
        ({"layers": 2, "width": 2, "deep": "samples", "objective": "elbo"}, DeepGP),
        ({"features": "mlp"}, OnFeatures),
    ):
        model = GPRegressor(**QUICK | {"max_steps": 20}, **options).fit(X, y)
        assert isinstance(model.fitted_.gp.model, kind)
        model.save(tmp_path / "m.dgp")
        loaded = GPRegressor.load(tmp_path / "m.dgp")
        np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
        assert loaded.score(X, y) == model.score(X, y)


@pytest.mark.slow
def test_a_deep_model_of_several_outputs_with_features(table, tmp_path):
    X, Y = table
    options = {"layers": 2, "features": "mlp", "robust": "beta"}
    model = GPRegressor(**QUICK, **options).fit(X, Y)
    assert isinstance(model.fitted_.gp.model, MultiOutput)
    model.save(tmp_path / "m.dgp")
    loaded = GPRegressor.load(tmp_path / "m.dgp")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"robust": "huber"}, "unknown robust loss 'huber'; choose one of: beta, gamma"),
        ({"robust": "gamma", "loss": "crps"}, "replaces the log loss"),
        ({"robust": "gamma", "robust_power": 0.9}, "power of GammaLoss must be > 1"),
        ({"robust_power": 1.2}, "needs a robust loss; add robust='gamma'"),
        ({"layers": 1, "width": 3}, "width=3 has no effect on a Sparse model; give layers=2 too"),
        ({"layers": "three"}, "layers must be 'auto' or a whole number"),
        ({"features": "cnn"}, "unknown features 'cnn'; choose one of: mlp"),
    ],
    ids=["name", "loss", "power", "alone", "width", "layers", "features"],
)
def test_what_cannot_be_combined_is_said_in_one_line(table, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        GPRegressor(**QUICK | options).fit(table[0], table[1][:, 0])
    assert "\n" not in str(caught.value)
