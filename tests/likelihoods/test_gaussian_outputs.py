"""Several outputs with noise of their own: scores and samplers are those of each output."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.expectations import ProductSampling, choose_expectation
from directgp.likelihoods import Gaussian, GaussianOutputs
from directgp.losses import CRPS, Direct, Gibbs, Integrals, LogLoss, Pinball
from directgp.marginals import Marginals
from directgp.parameters import positive

NOISE = np.array([0.1, 2.0])
NUMBER = np.array([0.0, 1.0, 1.0, 0.0])
Y = np.array([0.3, -1.0, 2.0, 0.5])
RNG = np.random.default_rng(0)


def outputs(noise=NOISE):
    return eqx.tree_at(lambda own: own.noise, GaussianOutputs(2), positive(noise, 1e-6))


def marginals(components=2):
    mean, variance = RNG.normal(size=(components, 4, 1)), RNG.uniform(0.1, 1.0, (components, 4, 1))
    log_weights = np.log(np.full(components, 1.0 / components))
    single = Marginals(jnp.asarray(mean), jnp.asarray(variance), jnp.asarray(log_weights))
    numbers = np.broadcast_to(NUMBER[:, None], mean.shape)
    both = [np.concatenate(pair, axis=-1) for pair in ((mean, numbers), (variance, 0 * variance))]
    return single, Marginals(*map(jnp.asarray, (*both, log_weights)))


def losses_of(loss, likelihood, q, expectation=None, key=None):
    how = expectation or choose_expectation(loss.needs, likelihood)
    return _losses_of(loss, likelihood, Integrals(jnp.asarray(Y), q, how, key))


@eqx.filter_jit
def _losses_of(loss, likelihood, integrals):
    return loss(likelihood, integrals)


@pytest.mark.parametrize("kind", [Gibbs, Direct])
@pytest.mark.parametrize("score", [CRPS(), Pinball((0.1, 0.9))])
def test_scores_of_the_whole_distribution_are_those_of_each_output(kind, score):
    single, numbered = marginals()
    got = np.asarray(losses_of(kind(score), outputs(), numbered))
    for output, noise in enumerate(NOISE):
        own = np.asarray(losses_of(kind(score), Gaussian(noise), single))
        np.testing.assert_allclose(got[output == NUMBER], own[output == NUMBER], rtol=1e-6)


def test_product_sampling_has_the_gradient_of_each_output():
    """With control variates no noise is left for a Gaussian: the gradient is the exact one."""
    _, numbered = marginals(1)
    sampled = ProductSampling(4, control_variates=True)

    def total(mean, variance, expectation):
        q = Marginals(mean, variance, numbered.log_weights)
        key = jax.random.key(0)
        return jnp.sum(losses_of(Direct(LogLoss()), outputs(), q, expectation, key))

    parts = numbered.mean, numbered.variance
    slopes = eqx.filter_jit(jax.value_and_grad(total, argnums=(0, 1)))
    value, exact = slopes(*parts, None)
    again, drawn = slopes(*parts, sampled)
    np.testing.assert_allclose(again, value, rtol=1e-10)
    for one, other in zip(exact, drawn, strict=True):
        np.testing.assert_allclose(one[..., 0], other[..., 0], rtol=1e-5, atol=1e-8)


def test_product_sampling_learns_the_noise_of_each_output():
    _, numbered = marginals(1)

    def total(noise, expectation, key):
        q = losses_of(Direct(LogLoss()), outputs(noise), numbered, expectation, key)
        return jnp.sum(q)

    exact = eqx.filter_jit(jax.grad(total))(jnp.asarray(NOISE), None, None)
    drawn = jax.jit(
        jax.vmap(jax.grad(lambda n, k: total(n, ProductSampling(50), k)), in_axes=(None, 0))
    )(jnp.asarray(NOISE), jax.random.split(jax.random.key(0), 40))
    error = np.asarray(drawn).std(axis=0) / np.sqrt(40)
    assert np.all(np.abs(np.mean(drawn, axis=0) - np.asarray(exact)) < 5 * error)
