"""Rényi, weighted KL and one divergence a layer, against integrals and limits."""

import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from directgp.divergences import (
    KL,
    PerLayer,
    Renyi,
    WeightedKL,
    WhitenedGaussian,
    divergences,
)


def make(rng, mean_field, latents=2, size=4):
    mean = rng.normal(size=(latents, size))
    if mean_field:
        scale = np.exp(0.3 * rng.normal(size=(latents, size)))
    else:
        scale = np.tril(0.3 * rng.normal(size=(latents, size, size)), -1)
        scale = scale + np.eye(size) * np.exp(0.3 * rng.normal(size=(latents, 1, size)))
    return WhitenedGaussian.from_moments(jnp.asarray(mean), jnp.asarray(scale))


def as_full(posterior):
    mean, scale = posterior.moments()
    return WhitenedGaussian(mean, jax.vmap(jnp.diag)(scale))


@pytest.mark.parametrize("alpha", [0.2, 0.5, 0.9, 1.6])
def test_against_the_integral(alpha):
    m, s = 0.7, 0.6
    q, p = stats.norm(m, s), stats.norm()

    def integrand(x):
        return np.exp(alpha * q.logpdf(x) + (1 - alpha) * p.logpdf(x))

    expected = np.log(integrate.quad(integrand, -15, 15)[0]) / (alpha * (alpha - 1))
    for scale in (jnp.full((1, 1), s), jnp.full((1, 1, 1), s)):
        got = Renyi(alpha)(WhitenedGaussian(jnp.full((1, 1), m), scale))
        np.testing.assert_allclose(got, expected, rtol=1e-9)


@pytest.mark.parametrize("mean_field", [False, True])
def test_the_limits_are_the_two_kl_divergences(rng, mean_field):
    posterior = make(rng, mean_field)
    forward = float(KL()(posterior))
    for alpha in (1 - 1e-6, 1 + 1e-6):
        np.testing.assert_allclose(Renyi(alpha)(posterior), forward, rtol=1e-4)
    mean, scale = (as_full(posterior) if mean_field else posterior).moments()
    backward = 0.0
    for m, S in zip(np.asarray(mean), np.asarray(scale), strict=True):
        V = S @ S.T
        inverse = np.linalg.inv(V)
        backward += 0.5 * (np.trace(inverse) + m @ inverse @ m - 4 + np.linalg.slogdet(V)[1])
    np.testing.assert_allclose(Renyi(1e-6)(posterior), backward, rtol=1e-4)


@pytest.mark.parametrize("alpha", [0.3, 1.2])
def test_a_diagonal_posterior_is_a_full_one(rng, alpha):
    posterior = make(rng, mean_field=True)
    both = [Renyi(alpha)(posterior), Renyi(alpha)(as_full(posterior))]
    np.testing.assert_allclose(*both, rtol=1e-10)


@pytest.mark.parametrize("divergence", [Renyi(0.4), Renyi(1.3), WeightedKL(0.5)])
@pytest.mark.parametrize("mean_field", [False, True])
def test_zero_with_zero_gradient_at_the_prior_and_positive_elsewhere(rng, divergence, mean_field):
    prior = WhitenedGaussian.prior(4, 2, mean_field)
    value, gradient = eqx.filter_value_and_grad(lambda q: divergence(q))(prior)
    assert abs(float(value)) < 1e-12
    for leaf in jax.tree.leaves(gradient):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-12)
    assert float(divergence(make(rng, mean_field))) > 0


def test_where_it_does_not_exist_it_is_infinite():
    wide = WhitenedGaussian(jnp.zeros((1, 2)), jnp.full((1, 2), 2.0))
    assert float(Renyi(3.0)(wide)) == np.inf
    assert float(Renyi(3.0)(as_full(wide))) == np.inf


def test_a_weight_divides_the_kl(rng):
    posterior = make(rng, mean_field=True)
    np.testing.assert_allclose(WeightedKL(0.25)(posterior), 4 * KL()(posterior), rtol=1e-12)
    np.testing.assert_allclose(WeightedKL(1.0)(posterior), KL()(posterior), rtol=0)


def test_each_layer_its_own():
    divergence = PerLayer((KL(), Renyi(0.5)))
    assert divergence.for_layer(0, 2) == KL()
    assert divergence.for_layer(1, 2) == Renyi(0.5)
    with pytest.raises(ValueError, match="2 divergences for a model of 3 layers"):
        divergence.for_layer(0, 3)


def test_what_is_no_tuple_of_divergences_is_refused_in_a_line():
    """In a process of its own: here the types of arguments are checked before."""
    lines = [
        "from directgp.divergences import *",
        "for parts in (Renyi(0.5), (), (KL(), 'renyi')):",
        "    try: PerLayer(parts)",
        "    except TypeError as error: print(type(error).__name__, error)",
    ]
    command = [sys.executable, "-c", "\n".join(lines)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert len(said) == 3
    assert all(line.startswith("WrongType PerLayer takes a tuple of divergences") for line in said)


def test_names_and_refusals():
    assert isinstance(divergences.create("renyi", 0.3), Renyi)
    assert isinstance(divergences.create("weighted-kl"), WeightedKL)
    with pytest.raises(ValueError, match=r"alpha of Renyi must be > 0 and not 1, got 1.0"):
        Renyi(1.0)
    with pytest.raises(ValueError, match=r"w of WeightedKL must be a number > 0, got 0.0"):
        WeightedKL(0.0)
