"""Predictions without a fold, from the inverse of all rows."""

import numpy as np
import pytest

from directgp.exact.folds_left_out import FoldsLeftOut
from directgp.exact.matern_linear import MaternLinear
from directgp.exact.regression import conditioned

KERNEL = MaternLinear(np.array([0.3, -0.2, -0.1, -1.0]))
LOG_NOISE = float(np.log(0.2))


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=40)
    return X, y, rng.choice([0.5, 1.0, 3.0], 40), np.arange(40) % 5 == 2


def test_others_are_those_of_a_gp_without_the_fold(rows):
    X, y, weight, aside = rows
    found = FoldsLeftOut.of(conditioned(X, y, weight, KERNEL, LOG_NOISE)).others(aside)
    less = conditioned(X[~aside], y[~aside], weight[~aside], KERNEL, LOG_NOISE).left_out
    np.testing.assert_allclose(found.mean, less.mean, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(found.variance, less.variance, rtol=1e-6)


def test_a_fold_is_predicted_from_any_values_at_the_others(rows):
    X, y, weight, aside = rows
    values = np.cos(y[~aside])
    whole = FoldsLeftOut.of(conditioned(X, y, weight, KERNEL, LOG_NOISE))
    less = conditioned(X[~aside], values, weight[~aside], KERNEL, LOG_NOISE)
    expected, _ = less.predict(X[aside])
    np.testing.assert_allclose(whole.mean_aside(aside, values), expected, rtol=1e-6, atol=1e-8)
