"""Stacks of models of counts: members, calibration, files, and odd tables."""

import numpy as np
import pytest
from scipy.stats import nbinom

from directgp import DirectGPError, GPRegressor
from directgp.fitting.stacking import FittedCountStack, fit_count_stack
from directgp.fitting.stacking.count_member import ByLogLinear, smoothed_log
from directgp.fitting.stacking.log_linear import cross_fitted_log_linear
from directgp.fitting.stacking.rate_calibration import calibrated_rates, log_mass, rate_line
from directgp.persistence import load, save


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3))
    rate = np.exp(1.0 + 0.8 * X[:, 0] + 0.5 * np.sin(2 * X[:, 1]))
    return X, rng.poisson(rate * rng.gamma(4.0, 0.25, 160)).astype(float)


@pytest.fixture(scope="module")
def stack(rows):
    return fit_count_stack(*rows)


def test_log_mass_is_that_of_scipy():
    y, log_rate = np.arange(12.0), np.linspace(-3, 4, 12)
    size = 1 / 0.7
    expected = nbinom.logpmf(y, size, size / (size + np.exp(log_rate)))
    np.testing.assert_allclose(log_mass(y, log_rate, 0.7), expected, rtol=1e-10)


def test_the_mixture_is_the_weighted_sum_of_its_components(rows, stack):
    X, y = rows
    scaled = np.clip(stack.inputs.forward_inputs(X[:7]), -30, 30)
    total = np.zeros(7)
    for member, weight in zip(stack.members, stack.weights, strict=True):
        for log_rate, share in zip(*member.predict(scaled), strict=True):
            total += weight * share * np.exp(log_mass(y[:7], log_rate, stack.dispersion))
    np.testing.assert_allclose(np.exp(stack.predict(X[:7]).log_prob(y[:7])), total, rtol=1e-9)


def test_probabilities_sum_to_one_and_the_mean_is_theirs(rows, stack):
    predictive = stack.predict(rows[0][:3])
    values = np.arange(600.0)
    masses = np.exp([predictive.log_prob(np.full(3, value)) for value in values])
    np.testing.assert_allclose(masses.sum(axis=0), 1.0, atol=1e-6)
    np.testing.assert_allclose(values @ masses, predictive.mean, rtol=1e-4)


def test_all_members_are_there_and_it_beats_one_rate_for_all(rows, stack):
    y = rows[1]
    assert set(stack.shares) == {"log-linear", "exact GP", "trees", "trees + GP"}
    assert stack.weights.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    new = rng.normal(size=(400, 3))
    rate = np.exp(1.0 + 0.8 * new[:, 0] + 0.5 * np.sin(2 * new[:, 1]))
    counts = rng.poisson(rate * rng.gamma(4.0, 0.25, 400)).astype(float)
    found = -stack.predict(new).log_prob(counts).mean()
    line = rate_line(np.full(len(y), np.log(y.mean())), y, np.ones(len(y)))
    constant = -log_mass(counts, np.full(400, np.log(y.mean())), line.dispersion).mean()
    assert found < constant - 0.2
    lower, upper = stack.predict(new).interval(0.9)
    assert np.mean((counts >= lower) & (counts <= upper)) > 0.85


def test_offsets_find_rows_that_are_always_zero():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(2000) < 0.4, 0.0, rng.poisson(8.0, 2000))
    log_rate, weight = np.full(2000, np.log(y.mean())), np.ones(2000)
    line = rate_line(log_rate, y, weight)
    model = ByLogLinear(np.zeros(1), 0.0)
    member = calibrated_rates("m", model, log_rate, line, y, weight, 1e-3)
    shares = dict(zip(member.offsets.tolist(), member.shares.tolist(), strict=True))
    assert shares[-5.0] == pytest.approx(0.4, abs=0.05)


def test_out_of_fold_rates_do_not_see_their_row(rows):
    X, y = rows
    found = cross_fitted_log_linear(X, y, np.ones(len(y)), seed=0)
    changed = y.copy()
    changed[3] += 40
    again = cross_fitted_log_linear(X, changed, np.ones(len(y)), seed=0)
    assert not np.array_equal(found.slopes, again.slopes)
    assert again.out_of_fold[3] == pytest.approx(found.out_of_fold[3], abs=0.15)


def test_predictions_do_not_depend_on_the_other_rows(rows, stack):
    X, y = rows
    together = stack.predict(X)
    alone = [stack.predict(X[k : k + 1]) for k in range(20)]
    assert np.array_equal(together.means[:, :20], np.column_stack([each.means for each in alone]))
    logs = [each.log_prob(value)[0] for each, value in zip(alone, y[:20], strict=True)]
    np.testing.assert_allclose(together.log_prob(y)[:20], logs, rtol=1e-13)


def test_a_saved_stack_predicts_the_same_to_the_last_bit(rows, stack, tmp_path):
    save(stack, tmp_path / "model")
    found = load(tmp_path / "model").fitted
    assert isinstance(found, FittedCountStack)
    expected = stack.predict(rows[0]).log_prob(3.0)
    assert np.array_equal(found.predict(rows[0]).log_prob(3.0), expected)
    assert "log-linear" in repr(found)


@pytest.mark.parametrize(
    "y", [np.zeros(30), np.full(30, 7.0), np.r_[np.zeros(29), 1e6], np.arange(30.0)]
)
def test_odd_counts(y):
    X = np.random.default_rng(0).normal(size=(30, 2))
    predictive = fit_count_stack(X, y).predict(100 * X)
    assert np.isfinite(predictive.mean).all()
    assert np.isfinite(predictive.log_prob(y)).all()


@pytest.mark.parametrize("count", [2, 4, 9])
def test_few_rows(count):
    X = np.arange(float(count))[:, None]
    assert np.isfinite(fit_count_stack(X, np.arange(float(count))).predict(X).mean).all()


def test_weights_count_as_rows(rows):
    X, y = rows
    heavy = fit_count_stack(X, y, sample_weight=np.where(y > np.median(y), 5.0, 1.0))
    assert heavy.predict(X).mean.mean() > fit_count_stack(X, y).predict(X).mean.mean() + 0.3


def test_what_is_no_count_is_refused():
    with pytest.raises(DirectGPError, match="counts"):
        fit_count_stack(np.zeros((3, 1)), [1.0, 2.5, 0.0])


def test_the_default_for_counts_is_a_stack_and_an_option_gives_one_gp(rows):
    X, y = rows
    assert isinstance(
        GPRegressor(likelihood="negative-binomial").fit(X, y).fitted_, FittedCountStack
    )


def test_smoothed_log_is_that_of_the_rate_and_a_half():
    np.testing.assert_allclose(smoothed_log(np.log([2.0, 0.1])), np.log([2.5, 0.6]))
