"""Mixtures of Gaussians over f: averages, and several outputs as a mixture of latent functions."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.marginals import Marginals, OutputMarginals, single


@pytest.fixture
def latents(rng):
    weights = np.array([0.2, 0.5, 0.3])
    variance = jnp.asarray(rng.uniform(0.5, 2.0, (3, 4, 2)))
    return Marginals(jnp.asarray(rng.normal(size=(3, 4, 2))), variance, jnp.log(weights))


def test_averages_weigh_the_components(latents, rng):
    values = jnp.asarray(rng.normal(size=(3, 4)))
    weights = np.exp(latents.log_weights)
    np.testing.assert_allclose(latents.average(values), weights @ values, rtol=1e-12)
    wanted = np.log(weights @ np.exp(values))
    np.testing.assert_allclose(latents.log_average_exp(values), wanted, rtol=1e-12)


def test_one_component_is_returned_as_it_is(rng):
    values = jnp.asarray(rng.normal(size=(1, 4)))
    one = single(jnp.zeros((4, 1)), jnp.ones((4, 1)))
    np.testing.assert_array_equal(one.average(values), values[0])
    np.testing.assert_array_equal(one.log_average_exp(values), values[0])


def test_outputs_are_linear_in_the_latent_functions(latents, rng):
    mixing = jnp.asarray(rng.normal(size=(3, 2)))
    q = OutputMarginals(latents, mixing)
    for s, n in ((0, 0), (2, 3)):
        covariance = mixing @ np.diag(latents.variance[s, n]) @ mixing.T
        np.testing.assert_allclose(q.mean[s, n], mixing @ latents.mean[s, n], rtol=1e-12)
        np.testing.assert_allclose(q.covariance[s, n], covariance, rtol=1e-12)
        np.testing.assert_allclose(q.variance[s, n], np.diag(covariance), rtol=1e-12)


def test_each_value_by_itself_knows_the_number_of_its_output(latents, rng):
    mixing = jnp.asarray(rng.normal(size=(3, 2)))
    q = OutputMarginals(latents, mixing, with_number=True)
    alone = q.by_value()
    assert alone.mean.shape == alone.variance.shape == (3, 12, 2)
    np.testing.assert_array_equal(alone.mean[0, :, 1], np.tile([0.0, 1.0, 2.0], 4))
    np.testing.assert_array_equal(alone.mean[..., 0].reshape(3, 4, 3), q.mean)
    np.testing.assert_array_equal(alone.variance[..., 1], np.zeros((3, 12)))
