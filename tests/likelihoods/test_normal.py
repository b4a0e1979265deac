"""Log Φ and its derivatives against SciPy, on both sides and at the ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from directgp.likelihoods.normal import log_ndtr, log_ndtr_and_ratio

POINTS = np.concatenate([np.linspace(-40.0, 30.0, 1401), -np.logspace(-300, 6, 200)])


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 2e-15), (np.float32, 1e-6)])
def test_values_are_those_of_scipy(dtype, tolerance):
    x = POINTS.astype(dtype)
    exact = x.astype(float)
    known = special.log_ndtr(exact)
    found = np.asarray(jax.jit(log_ndtr)(jnp.asarray(x)), float)
    # Far above 0 the value is −e^{−x²/2}/(…), which magnifies the rounding of x²/2.
    allowed = tolerance * np.where(exact > 0, np.maximum(1.0, exact**2), 1.0) * np.abs(known)
    assert np.all(np.abs(found - known) <= allowed + np.finfo(dtype).tiny)


def test_the_ratio_is_the_derivative():
    x = jnp.asarray(POINTS)
    ratio = log_ndtr_and_ratio(x)[1]
    np.testing.assert_array_equal(jax.vmap(jax.grad(log_ndtr))(x), ratio)
    scaled = special.erfcx(-np.clip(POINTS, -1e300, 20.0) / np.sqrt(2.0))
    below = POINTS < 20.0
    np.testing.assert_allclose(ratio[below], (np.sqrt(2 / np.pi) / scaled)[below], rtol=1e-13)


ORDERS = [
    (jax.jit(function), jax.jit(jax.grad(function))) for function in (log_ndtr, jax.grad(log_ndtr))
]


@pytest.mark.parametrize("at", [-30.0, -3.0, -1e-3, 0.0, 1e-3, 2.0, 8.0])
def test_derivatives_of_both_orders_are_differences(at):
    at, step = jnp.asarray(at), 1e-5 * max(1.0, abs(at))
    for function, slope in ORDERS:
        difference = (function(at + step) - function(at - step)) / (2.0 * step)
        np.testing.assert_allclose(slope(at), difference, rtol=1e-7, atol=1e-12)


def test_the_ends():
    ends = jnp.asarray([-np.inf, np.inf, np.nan])
    np.testing.assert_array_equal(log_ndtr(ends), [-np.inf, 0.0, np.nan])
    np.testing.assert_array_equal(jax.vmap(jax.grad(log_ndtr))(ends), [np.inf, 0.0, np.nan])
    second = jax.vmap(jax.grad(jax.grad(log_ndtr)))(jnp.asarray([-1e4, np.inf]))
    np.testing.assert_allclose(second, [-1.0, 0.0], rtol=1e-5)
