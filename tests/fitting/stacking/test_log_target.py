"""When a stack learns the logarithm of its target, and that nothing else depends on it."""

import numpy as np
import pytest

from directgp.fitting.stacking import fit_stack
from directgp.persistence import load, save
from directgp.predictive import GaussianMixture, Warped


def relative_errors(rng, count=150):
    X = rng.uniform(-1, 1, (count, 2))
    return X, np.exp(2.0 + 1.5 * X[:, 0] + 0.3 * rng.normal(size=count))


@pytest.fixture(scope="module")
def of_logs():
    X, y = relative_errors(np.random.default_rng(0))
    return fit_stack(X, y)


def test_relative_errors_are_learned_as_logarithms(of_logs):
    assert of_logs.warp is not None
    X, y = relative_errors(np.random.default_rng(1), 500)
    found = of_logs.predict(X)
    assert isinstance(found, Warped)
    truth = -np.log(0.3 * np.sqrt(2 * np.pi)) - 0.5 - np.mean(np.log(y))  # the expected log density
    assert np.mean(found.log_prob(y)) > truth - 0.2
    low, high = found.interval(0.9)
    assert 0.84 < np.mean((low <= y) & (y <= high)) < 0.96


def test_out_of_fold_losses_are_those_of_y_in_units_of_its_deviation(of_logs):
    X, y = relative_errors(np.random.default_rng(0))
    seen = -of_logs.predict(X).log_prob(y) - np.log(np.std(y))
    # Rows that were seen are predicted a little better, and the units are the same.
    assert 0 < np.mean(of_logs.out_of_fold) - np.mean(seen) < 0.3


def test_equal_errors_a_target_below_zero_and_other_losses_stay_as_they_are(rng):
    X = rng.uniform(-1, 1, (120, 2))
    y = 5.0 + 2 * X[:, 0] + 0.5 * rng.normal(size=120)
    assert np.min(y) > 0 and np.max(y) > 2 * np.min(y)
    plain = fit_stack(X, y)
    assert plain.warp is None and isinstance(plain.predict(X), GaussianMixture)
    X, y = relative_errors(rng, 80)
    assert fit_stack(X, y - 50.0).warp is None
    assert fit_stack(X, y, loss="crps").warp is None


def test_another_unit_changes_nothing_but_the_unit(of_logs):
    X, y = relative_errors(np.random.default_rng(0))
    scaled = fit_stack(X, 1000.0 * y)
    np.testing.assert_allclose(
        scaled.predict(X).quantile(0.9), 1000.0 * of_logs.predict(X).quantile(0.9), rtol=1e-6
    )


def test_it_is_saved_and_loaded_to_the_bit(of_logs, tmp_path):
    save(of_logs, tmp_path / "model.dgp")
    again = load(tmp_path / "model.dgp")
    X, y = relative_errors(np.random.default_rng(2), 20)
    found, expected = getattr(again, "fitted", again).predict(X), of_logs.predict(X)
    np.testing.assert_array_equal(found.log_prob(y), expected.log_prob(y))


def test_the_noise_is_said_to_be_that_of_the_logarithm(of_logs):
    found = of_logs.hyperparameters()["exact GP"]
    assert 0.15 < found["noise_std_of_log"] < 0.6
