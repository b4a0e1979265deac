"""Exact GP classification by Laplace's approximation, in NumPy."""

import numpy as np
import pytest

from directgp.exact.classification import (
    _covariance,
    _levels,
    _Problem,
    _signs,
    exact_classification,
)
from directgp.exact.laplace_rows import find_mode, left_out_latents, negative_log_evidence
from directgp.exact.matern_linear import MaternLinear


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    return X, (X[:, 0] + 0.7 * rng.normal(size=40) > 0).astype(int), rng.uniform(0.5, 2.0, 40)


def _parts(rows, num_classes=2):
    X, y, weight = rows
    sign = _signs(y, num_classes)
    kernel = MaternLinear(np.log([1.0, 2.0, 1.5, 0.8]))
    return sign[0], weight, float(_levels(sign, weight)[0]), _covariance(kernel, X)


def test_at_the_mode_the_gradient_vanishes(rows):
    sign, weight, level, kernel = _parts(rows)
    mode = find_mode(kernel, sign, weight, level, tolerance=1e-13)
    np.testing.assert_allclose(mode.alpha, mode.slope, atol=1e-5)
    again = find_mode(kernel, sign, weight, level, start=mode.alpha)
    np.testing.assert_allclose(again.f, mode.f, atol=1e-5)


def test_evidence_is_the_gaussian_integral_of_a_quadratic_expansion(rows):
    sign, weight, level, kernel = _parts(rows)
    mode = find_mode(kernel, sign, weight, level)
    moved = mode.f - level
    log_joint = (
        np.sum(weight * -np.logaddexp(0.0, -sign * mode.f))
        - 0.5 * moved @ np.linalg.solve(kernel, moved)
        - 0.5 * np.linalg.slogdet(kernel)[1]
    )
    hessian = np.linalg.inv(kernel) + np.diag(mode.curvature)
    expected = log_joint - 0.5 * np.linalg.slogdet(hessian)[1]
    found = negative_log_evidence(kernel, mode).value
    assert -found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_gradient_is_the_slope_of_the_objective(rows, classes):
    X, y, weight = rows
    y = y + (np.arange(40) % 5 == 0) * (classes == 3)
    sign = _signs(y, classes)
    theta = MaternLinear.start(2).log_parameters + np.array([0.2, -0.3, 0.4, 0.1])

    def objective(at):
        return _Problem(X, sign, weight, _levels(sign, weight), 1.0)(at)

    steps = 1e-4 * np.eye(4)
    slopes = [(objective(theta + s)[0] - objective(theta - s)[0]) / 2e-4 for s in steps]
    np.testing.assert_allclose(objective(theta)[1], slopes, atol=2e-6)


def test_left_out_latents_are_those_of_a_fit_without_the_row(rows):
    sign, weight, level, kernel = _parts(rows)
    mean, variance = left_out_latents(kernel, find_mode(kernel, sign, weight, level))
    for row in (3, 17):
        rest = np.arange(40) != row
        own = kernel[np.ix_(rest, rest)]
        mode = find_mode(own, sign[rest], weight[rest], level)
        cross = kernel[row, rest]
        exact = level + cross @ mode.alpha
        left = kernel[row, row] - cross @ np.linalg.solve(own + np.diag(1 / mode.curvature), cross)
        assert mean[row] == pytest.approx(exact, abs=0.05)
        assert variance[row] == pytest.approx(left, rel=0.05)


def test_a_row_of_weight_two_is_two_rows(rows):
    X, y, _ = rows
    twice = exact_classification(np.r_[X, X[:5]], np.r_[y, y[:5]], 2)
    weight = np.ones(40)
    weight[:5] = 2.0
    weighted = exact_classification(X, y, 2, weight=weight)
    new = np.random.default_rng(1).normal(size=(6, 2))
    expected, found = (fit.gp.predict(new).mean for fit in (twice, weighted))
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_rows_do_not_influence_each_other(rows):
    X, y, _ = rows
    gp = exact_classification(X, y, 2, max_steps=3).gp
    new = np.random.default_rng(1).normal(size=(300, 2))
    together, alone = gp.predict(new), gp.predict(new[290:])
    assert np.array_equal(together.mean[:, 290:], alone.mean)
    assert np.array_equal(together.variance[:, 290:], alone.variance)


def test_a_class_without_rows_is_improbable(rows):
    X, y, _ = rows
    fitted = exact_classification(X, y, 3, max_steps=3)
    logs = fitted.gp.predict(X).log_probabilities()
    assert logs.shape == (40, 3) and np.all(np.isfinite(logs))
    assert np.all(np.exp(logs[:, 2]) < 0.1)
