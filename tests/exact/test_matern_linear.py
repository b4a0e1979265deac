"""The kernel in NumPy is the kernel in JAX, and its derivative is that of finite differences."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import approx_fprime

from directgp.exact import matern_linear
from directgp.exact.matern_linear import MaternLinear
from directgp.kernels import Linear, Matern52


def kernel_and_rows(rng, columns, rows=7):
    log_parameters = rng.normal(scale=0.7, size=columns + 2)
    return MaternLinear(log_parameters), rng.normal(size=(rows, columns))


def in_jax(kernel, X, Z):
    lengthscale, (variance, slope) = np.split(np.exp(kernel.log_parameters), [-2])
    X, Z = jnp.asarray(X), jnp.asarray(Z)
    matern = Matern52(variance, lengthscale).matrix(X, Z)
    tiny = 1e-300  # a bias must be positive
    return np.asarray(matern + Linear(slope / X.shape[1], tiny).matrix(X, Z))


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_it_is_matern_plus_linear(rng, columns):
    kernel, X = kernel_and_rows(rng, columns)
    Z = rng.normal(size=(4, columns))
    expected = in_jax(kernel, X, Z)
    np.testing.assert_allclose(kernel.matrix(X, Z), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(in_jax(kernel, X, X)), rtol=1e-6)
    own = kernel.with_gradient(X)
    np.testing.assert_allclose(own.matrix, kernel.matrix(X, X), rtol=1e-12)
    np.testing.assert_allclose(own.matern + own.linear, own.matrix, rtol=1e-15)


def test_blocks_of_rows_make_no_difference(rng, monkeypatch):
    kernel, X = kernel_and_rows(rng, 3, rows=50)
    Z = rng.normal(size=(20, 3))
    whole, own = kernel.matrix(X, Z), kernel.with_gradient(X)
    monkeypatch.setattr(matern_linear, "_IN_CACHE", 110)
    np.testing.assert_array_equal(kernel.matrix(X, Z), whole)
    for found, expected in zip(kernel.with_gradient(X), own, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_gradient_is_that_of_finite_differences(rng, columns):
    kernel, X = kernel_and_rows(rng, columns)
    cotangent = rng.normal(size=(7, 7))
    cotangent = cotangent + cotangent.T

    def total(log_parameters):
        return float(np.sum(cotangent * MaternLinear(log_parameters).matrix(X, X)))

    expected = approx_fprime(kernel.log_parameters, total, 1e-6)
    found = kernel.with_gradient(X).pull_back(cotangent)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_equal_rows_give_a_finite_gradient():
    X = np.zeros((3, 2))
    own = MaternLinear.start(2).with_gradient(X)
    assert np.all(own.pull_back(np.ones((3, 3)))[:2] == 0.0)
    np.testing.assert_allclose(own.matrix, 0.7)


def test_the_start_is_within_the_bounds():
    for columns in (1, 4, 40):
        kernel = MaternLinear.start(columns)
        assert kernel.num_columns == columns
        for value, (low, high) in zip(kernel.log_parameters, kernel.bounds(), strict=True):
            assert low < value < high
