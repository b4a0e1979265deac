"""KL of whitened Gaussians against the dense formula, sampling and the closed form of SciPy."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from directgp.divergences import KL, WhitenedGaussian, divergences


def make(rng, latents=2, size=4, mean_field=False):
    mean = rng.normal(size=(latents, size))
    if mean_field:
        scale = np.exp(0.5 * rng.normal(size=(latents, size)))
    else:
        scale = np.tril(rng.normal(size=(latents, size, size)))
        index = np.arange(size)
        scale[:, index, index] = np.exp(0.5 * rng.normal(size=(latents, size)))
    return WhitenedGaussian.from_moments(jnp.asarray(mean), jnp.asarray(scale)), mean, scale


def dense(mean, covariance, prior_covariance):
    """KL(N(mean, covariance) ‖ N(0, prior_covariance)), in the unwhitened basis."""
    inverse = np.linalg.inv(prior_covariance)
    return 0.5 * (
        np.trace(inverse @ covariance)
        + mean @ inverse @ mean
        - len(mean)
        + np.linalg.slogdet(prior_covariance)[1]
        - np.linalg.slogdet(covariance)[1]
    )


@pytest.mark.parametrize("mean_field", [False, True])
@pytest.mark.parametrize("latents", [1, 3])
def test_against_the_dense_formula_in_any_basis(rng, mean_field, latents):
    posterior, mean, scale = make(rng, latents, mean_field=mean_field)
    root = rng.normal(size=(4, 4))
    prior = root @ root.T + np.eye(4)
    L = np.linalg.cholesky(prior)
    expected = 0.0
    for m, S in zip(mean, scale, strict=True):
        S = np.diag(S) if mean_field else S
        expected += dense(L @ m, L @ S @ S.T @ L.T, prior)
    np.testing.assert_allclose(KL()(posterior), expected, rtol=1e-10)


@pytest.mark.parametrize("mean_field", [False, True])
def test_against_sampling_with_scipy_densities(rng, mean_field):
    posterior, mean, scale = make(rng, 1, 3, mean_field)
    S = np.diag(scale[0]) if mean_field else scale[0]
    q = multivariate_normal(mean[0], S @ S.T)
    draws = q.rvs(40_000, random_state=0)
    terms = q.logpdf(draws) - multivariate_normal(np.zeros(3), np.eye(3)).logpdf(draws)
    error = 4 * np.std(terms) / np.sqrt(len(terms))
    assert abs(np.mean(terms) - float(KL()(posterior))) < error


@pytest.mark.parametrize("mean_field", [False, True])
def test_is_zero_with_zero_gradient_at_the_prior_only(rng, mean_field):
    prior = WhitenedGaussian.prior(5, latents=2, mean_field=mean_field)
    value, gradient = eqx.filter_value_and_grad(lambda q: KL()(q))(prior)
    assert float(value) == 0.0
    for leaf in jax.tree.leaves(gradient):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-14)
    assert float(KL()(make(rng, mean_field=mean_field)[0])) > 0


@given(st.sampled_from([1, 4]), st.just(2), st.booleans(), st.integers(0, 1000))
def test_is_never_negative(size, latents, mean_field, seed):
    with jax.enable_x64(True):
        posterior, _, _ = make(np.random.default_rng(seed), latents, size, mean_field)
        assert float(KL()(posterior)) >= 0


def test_is_found_by_name():
    assert isinstance(divergences.create("kl"), KL)


def test_moments_round_trip(rng):
    for mean_field in (False, True):
        posterior, mean, scale = make(rng, mean_field=mean_field)
        np.testing.assert_allclose(posterior.moments()[0], mean)
        np.testing.assert_allclose(posterior.moments()[1], scale, rtol=1e-12)
    with pytest.raises(ValueError, match="positive diagonal"):
        WhitenedGaussian.from_moments(jnp.zeros((1, 2)), -jnp.eye(2)[None])
