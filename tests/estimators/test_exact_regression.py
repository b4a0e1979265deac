"""`GPRegressor(inference="exact")`: the same model as `fit`, saved, pickled, refused."""

import pickle

import numpy as np
import pytest

import directgp as dg


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=40), rng.integers(1, 3, 40)


@pytest.mark.parametrize(
    ("options", "loss"),
    [
        ({}, "direct-log"),
        ({"objective": "elbo"}, "elbo"),
        ({"loss": "elbo"}, "elbo"),
        ({"loss": "crps"}, "direct-crps"),
        ({"loss": "square"}, "direct-square"),
        ({"loss": dg.Pinball((0.9,))}, dg.Direct(dg.Pinball((0.9,)))),
        ({"layers": 1, "beta": 1}, "direct-log"),
    ],
)
def test_it_is_the_fit_of_an_exact_spec(rows, options, loss):
    X, y, weight = rows
    made = dg.GPRegressor(inference="exact", learn_from=25, max_steps=30, **options)
    found = made.fit(X, y, weight)
    expected = dg.fit(
        X,
        y,
        model=dg.Exact(learn_from=25),
        loss=loss,
        training=dg.Training(max_steps=30),
        sample_weight=weight,
    ).predict(X)
    mean, deviation = found.predict(X, return_std=True)
    np.testing.assert_array_equal(mean, expected.mean)
    np.testing.assert_array_equal(deviation, expected.std)


def test_it_comes_back_from_a_file_and_from_a_pickle(rows, tmp_path):
    X, y, _ = rows
    made = dg.GPRegressor(inference="exact").fit(X, y)
    made.save(tmp_path / "m.dgp")
    for again in (dg.GPRegressor.load(tmp_path / "m.dgp"), pickle.loads(pickle.dumps(made))):
        np.testing.assert_array_equal(again.predict(X), made.predict(X))
        assert again.inference == "exact" and repr(again.fitted_) == repr(made.fitted_)


def test_it_is_calibrated_and_decides_as_others_do(rows):
    X, y, _ = rows
    made = dg.GPRegressor(inference="exact", loss=dg.NewsvendorCost(4, 1)).fit(X[:25], y[:25])
    assert made.fitted_.loss == dg.Direct(dg.Pinball((0.8,)))
    assert made.decide(X[25:]).action.shape == (15,)
    low, high = made.calibrate(X[25:], y[25:]).predict_interval(X, 0.8)
    assert (low < high).all()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"num_inducing": 9}, "num_inducing=9 has no effect on an exact GP; leave it out"),
        ({"layers": 2}, "layers=2 has no effect on an exact GP"),
        ({"width": 3}, "width=3 has no effect on an exact GP"),
        ({"kernel": "rbf"}, "kernel='rbf' has no effect on an exact GP"),
        ({"beta": 0.1}, "beta has no effect"),
        ({"robust": "beta"}, "is fitted for loss='elbo'"),
        ({"epochs": 3}, "epochs=3 has no effect"),
        ({"learning_rate": 0.1}, "learning_rate=0.1 has no effect"),
        ({"divergence": "renyi:alpha=0.4"}, "divergence has no effect"),
        ({"inference": "ep"}, "inference must be one of exact, got 'ep'"),
        ({"inference": None, "learn_from": 9}, "learn_from=9 has no effect on a Sparse model; giv"),
    ],
)
def test_parameters_without_effect_are_refused(rows, options, complaint):
    X, y, _ = rows
    with pytest.raises(dg.DirectGPError, match=complaint):
        dg.GPRegressor(**{"inference": "exact"} | options).fit(X, y)


def test_counts_and_several_outputs_are_refused(rows):
    X, y, _ = rows
    with pytest.raises(dg.DirectGPError, match="Gaussian noise, got PoissonExp"):
        dg.GPRegressor(inference="exact", likelihood="poisson").fit(X, np.round(np.abs(y)))
    with pytest.raises(dg.DirectGPError, match="an exact GP has one output, got 2"):
        dg.GPRegressor(inference="exact").fit(X, np.stack([y, y], axis=1))


def test_training_does_not_go_on_from_it(rows):
    X, y, _ = rows
    made = dg.GPRegressor(inference="exact").fit(X, y)
    with pytest.raises(dg.DirectGPError, match="fitted with inference='exact'"):
        made.partial_fit(X, y)
    with pytest.raises(dg.DirectGPError, match="fitted with inference='exact'"):
        made.set_params(warm_start=True).fit(X, y)
    with pytest.raises(dg.DirectGPError, match="inference"):
        dg.GPClassifier(inference="exact").fit(X, y > 0)
