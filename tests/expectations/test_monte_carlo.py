"""bMC is biased of order 1/L; smoothing bounds its gradient."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from directgp.expectations import ClosedForm, MonteCarlo
from directgp.likelihoods import BernoulliProbit, LogProb, PoissonExp
from directgp.marginals import Marginals, single

_ROWS = 40_000


def test_bias_of_bmc_falls_like_one_over_samples():
    y, q = jnp.ones(_ROWS), single(jnp.full((_ROWS, 1), -1.0), jnp.full((_ROWS, 1), 2.0))
    integrand = LogProb(BernoulliProbit())

    @eqx.filter_jit
    def slope_at_mean(expectation, seed):
        def total(mean):
            moved = Marginals(mean, q.variance, q.log_weights)
            value = expectation.mixture_log_mean_exp(integrand, y, moved, jax.random.key(seed))
            return jnp.sum(value), value

        gradient, value = jax.grad(total, has_aux=True)(q.mean)
        return jnp.mean(value), jnp.mean(gradient)

    samples = np.array([4, 8, 16, 32])
    exact = slope_at_mean(ClosedForm(), 0)
    estimates = np.array([slope_at_mean(MonteCarlo(int(L)), int(L)) for L in samples])
    biases = estimates - np.array(exact)
    for bias in biases.T:
        order = np.polyfit(np.log(samples), np.log(np.abs(bias)), 1)[0]
        assert -1.25 < order < -0.8
    assert np.all(biases[:, 0] < 0)


@pytest.mark.parametrize("smoothing", [1e-4, 0.3])
def test_smoothed_gradient_is_the_papers_with_nu_on_the_mean(smoothing):
    """d = (1/L) Σ φ′ / ((1/L) Σ φ + ν), `dlm-supp` section 2."""
    samples, key = 7, jax.random.key(0)
    y, mean, variance = jnp.asarray([3.0, 0.0]), jnp.asarray([[0.5], [2.0]]), jnp.full((2, 1), 0.8)

    def total(mean):
        q = single(mean, variance)
        expectation = MonteCarlo(samples, smoothing=smoothing)
        return jnp.sum(expectation.mixture_log_mean_exp(LogProb(PoissonExp()), y, q, key))

    noise = np.asarray(jax.random.normal(key, (samples, 1, 2, 1)))[:, 0]
    f = np.asarray(mean) + np.sqrt(variance) * noise
    probability = stats.poisson.pmf(np.asarray(y), np.exp(f[..., 0]))
    slope = probability * (np.asarray(y) - np.exp(f[..., 0]))
    expected = slope.mean(0) / (probability.mean(0) + smoothing)
    np.testing.assert_allclose(jax.jit(jax.grad(total))(mean)[:, 0], expected, rtol=1e-10)


def test_smoothing_bounds_the_gradient_where_samples_miss_the_label():
    q = single(jnp.full((1, 1), -30.0), jnp.full((1, 1), 0.1))

    def value(mean, smoothing):
        moved = Marginals(mean, q.variance, q.log_weights)
        expectation = MonteCarlo(5, smoothing=smoothing)
        integrand = LogProb(BernoulliProbit())
        return expectation.mixture_log_mean_exp(integrand, jnp.ones(1), moved, jax.random.key(0))[0]

    both = eqx.filter_jit(jax.value_and_grad(value))
    assert both(q.mean, 0.0)[1][0, 0, 0] > 25.0
    smooth, slope = both(q.mean, 1e-4)
    assert abs(slope[0, 0, 0]) < 1e-10
    np.testing.assert_allclose(smooth, np.log(1e-4))


def test_smoothing_of_a_mixture_is_that_of_the_whole():
    q = Marginals(
        jnp.asarray([[[-1.0]], [[2.0]]]), jnp.ones((2, 1, 1)), jnp.log(jnp.asarray([0.3, 0.7]))
    )
    integrand, y, key = LogProb(BernoulliProbit()), jnp.ones(1), jax.random.key(0)
    plain, smooth = (
        eqx.filter_jit(how.mixture_log_mean_exp)(integrand, y, q, key)
        for how in (MonteCarlo(6), MonteCarlo(6, smoothing=0.05))
    )
    np.testing.assert_allclose(np.exp(smooth), np.exp(plain) + 0.05, rtol=1e-12)


@pytest.mark.parametrize("smoothing", [-1e-3, float("nan"), float("inf")])
def test_impossible_smoothing_is_refused(smoothing):
    with pytest.raises(ValueError, match="smoothing of MonteCarlo"):
        MonteCarlo(5, smoothing=smoothing)
