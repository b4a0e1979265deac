"""The evidence by panels is that of SciPy, its gradient that of all pairs of rows together."""

import numpy as np
import pytest
from scipy import stats

from directgp.exact import evidence as module
from directgp.exact.evidence import Evidence
from directgp.exact.matern_linear import MaternLinear

LOG_NOISE, JITTER = float(np.log(0.2)), 1e-9


def table(rng, rows, columns):
    X = rng.normal(size=(rows, columns))
    return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=rows), rng.uniform(0.5, 3.0, rows)


def kernel_of(rng, columns):
    return MaternLinear(rng.normal(scale=0.4, size=columns + 2))


@pytest.mark.parametrize("rows", [1, 2, 63, 64, 65, 128, 150])
@pytest.mark.parametrize("columns", [1, 4])
def test_value_and_gradient_are_those_of_the_whole_matrices(rows, columns, rng):
    X, y, weight = table(rng, rows, columns)
    kernel = kernel_of(rng, columns)
    found = Evidence(X, y, weight)(kernel, LOG_NOISE, JITTER)
    assert found is not None
    noise = np.exp(LOG_NOISE) / weight
    K = kernel.matrix(X, X) + np.diag(noise + JITTER)
    inverse = np.linalg.inv(K)
    alpha = inverse @ y
    cotangent = 0.5 * (inverse - np.outer(alpha, alpha))
    copies = np.sum(weight - 1.0)  # a row of weight w is the mean of w rows
    expected = (
        -stats.multivariate_normal.logpdf(y, np.zeros(rows), K)
        + 0.5 * copies * (LOG_NOISE + np.log(2 * np.pi))
        + 0.5 * np.sum(np.log(weight))
    )
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)
    by_kernel = kernel.with_gradient(X).pull_back(cotangent)
    np.testing.assert_allclose(found.by_kernel, by_kernel, rtol=1e-7, atol=1e-8)
    by_noise = noise @ np.diagonal(cotangent) + 0.5 * copies
    np.testing.assert_allclose(found.by_noise, by_noise, rtol=1e-8, atol=1e-9)


def test_an_evaluation_leaves_nothing_behind_for_the_next(rng):
    X, y, weight = table(rng, 100, 3)
    first, second = kernel_of(rng, 3), kernel_of(rng, 3)
    evidence = Evidence(X, y, weight)
    before = evidence(first, LOG_NOISE, JITTER)
    evidence(second, 1.0, JITTER)
    again = evidence(first, LOG_NOISE, JITTER)
    assert before is not None and again is not None
    assert before.value == again.value and np.array_equal(before.by_kernel, again.by_kernel)


def test_rows_and_weights_are_not_changed(rng):
    given = table(rng, 70, 2)
    before = [each.copy() for each in given]
    Evidence(*given)(kernel_of(rng, 2), LOG_NOISE, JITTER)
    assert all(map(np.array_equal, given, before))


def test_a_matrix_without_a_factor_has_no_evidence():
    X = np.zeros((3, 1))
    assert Evidence(X, np.zeros(3), np.ones(3))(MaternLinear.start(1), -80.0, -1e-3) is None


def test_panels_make_no_difference(rng, monkeypatch):
    X, y, weight = table(rng, 90, 2)
    kernel = kernel_of(rng, 2)
    found = Evidence(X, y, weight)(kernel, LOG_NOISE, JITTER)
    monkeypatch.setattr(module, "_PANEL", 7)
    other = Evidence(X, y, weight)(kernel, LOG_NOISE, JITTER)
    assert found is not None and other is not None
    np.testing.assert_allclose(found.by_kernel, other.by_kernel, rtol=1e-9)
