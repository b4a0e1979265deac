"""Exact regression against SciPy's multivariate Gaussian, and on tables that ask for trouble."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import approx_fprime

from directgp.errors import DirectGPError
from directgp.exact.leave_one_out import losses
from directgp.exact.matern_linear import MaternLinear
from directgp.exact.regression import conditioned, exact_regression
from directgp.exact.regression_objective import Problem

THETA = np.array([0.3, -0.2, -0.1, -1.0, np.log(0.2)])
"""Two log length-scales, log variance, log slope variance, log noise."""


def table(rng, rows=12):
    X = rng.normal(size=(rows, 2))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=rows)


def covariance(X):
    return MaternLinear(THETA[:-1]).matrix(X, X) + np.exp(THETA[-1]) * np.eye(len(X))


def given(X, y, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    return conditioned(X, y, weight, MaternLinear(THETA[:-1]), float(THETA[-1]))


def evidence(X, y, weight, loss=None, prior_deviation=1.5):
    """The objective of all rows together, and its gradient."""
    value, gradient = Problem(X, y, weight, loss, prior_deviation)(THETA)
    return value * weight.sum(), gradient * weight.sum()


def prior(theta=THETA, deviation=1.5):
    centre = MaternLinear.start(2).log_parameters[:2]
    noise = (theta[-1] - np.log(0.1)) / 2.5
    return 0.5 * np.sum(((theta[:2] - centre) / deviation) ** 2) + 0.5 * noise**2


def test_the_evidence_is_that_of_a_multivariate_gaussian(rng):
    X, y = table(rng)
    found, _ = evidence(X, y, np.ones(12))
    expected = -stats.multivariate_normal.logpdf(y, np.zeros(12), covariance(X)) + prior()
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("name", ["evidence", *losses])
def test_the_gradient_is_that_of_finite_differences(name, rng):
    X, y = table(rng)
    weight = rng.uniform(0.5, 2.0, 12)
    problem = Problem(X, y, weight, None if name == "evidence" else losses.lookup(name), 1.0)
    expected = approx_fprime(THETA, lambda theta: problem(theta)[0], 1e-6)
    np.testing.assert_allclose(problem(THETA)[1], expected, rtol=1e-3, atol=1e-5)


def test_a_row_of_weight_2_is_a_row_given_twice(rng):
    X, y = table(rng)
    weight = np.where(np.arange(12) < 4, 2.0, 1.0)
    twice = np.repeat(np.arange(12), weight.astype(int))
    merged, by_merged = evidence(X, y, weight)
    whole, by_whole = evidence(X[twice], y[twice], np.ones(16))
    np.testing.assert_allclose(merged, whole, rtol=1e-6)
    np.testing.assert_allclose(by_merged, by_whole, rtol=1e-5, atol=1e-6)
    new = rng.normal(size=(5, 2))
    once, copies = given(X, y, weight).predict(new), given(X[twice], y[twice]).predict(new)
    np.testing.assert_allclose(once, copies, rtol=1e-6)
    learned = exact_regression(X, y, weight=weight).predict(new)
    learned_twice = exact_regression(X[twice], y[twice]).predict(new)
    np.testing.assert_allclose(learned, learned_twice, rtol=2e-2)


def test_predictions_are_those_of_the_conditional_gaussian(rng):
    X, y = table(rng)
    new = rng.normal(size=(4, 2))
    kernel, K = MaternLinear(THETA[:-1]), covariance(X)
    cross = kernel.matrix(new, X)
    mean, variance = given(X, y).predict(new)
    np.testing.assert_allclose(mean, cross @ np.linalg.solve(K, y), rtol=1e-6)
    explained = np.einsum("nm,mn->n", cross, np.linalg.solve(K, cross.T))
    expected = kernel.diagonal(new) - explained + np.exp(THETA[-1])
    np.testing.assert_allclose(variance, expected, rtol=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_row_left_out_is_predicted_as_a_new_row(weighted, rng):
    X, y = table(rng)
    weight = rng.uniform(0.5, 3.0, 12) if weighted else np.ones(12)
    left_out = given(X, y, weight).left_out
    for row in range(12):
        others = np.arange(12) != row
        mean, variance = given(X[others], y[others], weight[others]).predict(X[[row]])
        np.testing.assert_allclose(left_out.mean[row], mean[0], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(left_out.variance[row], variance[0], rtol=1e-5)


@pytest.mark.parametrize("rows", [7, 100, 259])
def test_no_row_has_influence_on_another(rows, rng):
    X, y = table(rng, rows)
    fitted = exact_regression(X, y, max_steps=2)
    new = rng.normal(size=(300, 2))
    together = np.stack(fitted.predict(new))
    for few in ([17], [299, 3, 256], list(range(290, 40, -1))):
        np.testing.assert_array_equal(np.stack(fitted.predict(new[few])), together[:, few])


def test_the_mean_alone_is_that_of_both(rng):
    X, y = table(rng, 100)
    fitted = exact_regression(X, y, max_steps=2)
    new = rng.normal(size=(300, 2))
    np.testing.assert_array_equal(fitted.predicted_mean(new), fitted.predict(new)[0])


@pytest.mark.parametrize("objective", ["evidence", *losses])
def test_learning_makes_the_objective_smaller(objective, rng):
    X, y = table(rng, 40)
    loss = None if objective == "evidence" else losses.lookup(objective)
    problem = Problem(X, y, np.ones(40), loss, 1.5)
    start = exact_regression(X, y, objective=objective, max_steps=0)
    fitted = exact_regression(X, y, objective=objective)

    def value(gp):
        return problem(np.append(gp.kernel.log_parameters, gp.log_noise))[0]

    assert value(fitted) < value(start)
    bounds = fitted.kernel.bounds()
    for parameter, (low, high) in zip(fitted.kernel.log_parameters, bounds, strict=True):
        assert low - 1e-9 <= parameter <= high + 1e-9


def test_it_finds_the_noise_and_the_column_that_matters(rng):
    X = rng.normal(size=(150, 2))
    fitted = exact_regression(X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=150))
    assert 0.2 < np.exp(0.5 * fitted.log_noise) < 0.4
    lengthscales = fitted.kernel.log_parameters[:2]
    assert lengthscales[0] < lengthscales[1] - 1.0


def test_more_rows_than_it_learns_from(rng):
    X, y = table(rng, 90)
    fitted = exact_regression(X, y, learn_from=40)
    again = exact_regression(X, y, learn_from=40)
    other = exact_regression(X, y, learn_from=40, polish_steps=0)
    assert len(fitted.alpha) == 90 and fitted.log_noise == again.log_noise != other.log_noise
    error = fitted.predict(X)[0] - np.sin(X[:, 0])
    assert np.sqrt(np.mean(error**2)) < 0.25


def troubles(rng):
    X = rng.normal(size=(30, 2))
    y = np.sin(X[:, 0])
    return {
        "constant y": (X, np.zeros(30)),
        "equal rows": (np.repeat(X[:10], 3, axis=0), np.repeat(y[:10], 3)),
        "equal rows, other y": (np.repeat(X[:10], 3, axis=0), y),
        "a constant column": (np.column_stack([X, np.zeros(30)]), y),
        "constant columns alone": (np.zeros((30, 1)), y),
        "2 rows": (X[:2], y[:2]),
        "far rows": (np.clip(X * 1e3, -30, 30), y),
        "near rows": (X * 1e-8, y),
        "an outlier": (X, np.where(np.arange(30) == 0, 5.0, 0.01 * y)),
        "more columns than rows": (rng.normal(size=(5, 40)), y[:5]),
    }


@pytest.mark.parametrize("objective", ["evidence", "log", "crps"])
def test_numbers_are_finite_whatever_the_table(objective, rng):
    for name, (X, y) in troubles(rng).items():
        fitted = exact_regression(X, y, objective=objective)
        for mean, variance in (fitted.predict(X), fitted.predict(X * 1e3), fitted.left_out):
            assert np.all(np.isfinite(mean)), name
            assert np.all(np.isfinite(variance)) and np.all(variance > 0), name


def test_rows_that_are_no_numbers_are_refused_in_a_line():
    X = np.array([[0.0], [np.nan]])
    with pytest.raises(DirectGPError, match="cannot be factorised") as caught:
        conditioned(X, np.zeros(2), np.ones(2), MaternLinear.start(1), -2.0)
    assert "\n" not in str(caught.value)
