"""Rows of every likelihood, and integrals by brute force, for losses between Gibbs and Direct."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from scipy.stats import norm

from directgp.likelihoods import likelihoods
from directgp.marginals import Marginals

SINGLE = [name for name in likelihoods if name != "categorical"]
"""The likelihoods of one latent value, all of them."""


def targets(likelihood, size=6):
    """Values that such a likelihood can score, unlikely ones among them."""
    if likelihood.support == "classes":
        return np.arange(size, dtype=float) % 2
    if likelihood.support == "counts":
        return np.array([0.0, 1.0, 3.0, 7.0, 25.0, 60.0])[:size]
    return np.array([-3.0, -0.5, 0.1, 0.9, 2.0, 6.0])[:size]


def mixture(components=3, rows=6, seed=0):
    """q(f) of several components."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(components))
    mean = rng.normal(size=(components, rows, 1))
    variance = rng.uniform(0.05, 0.8, (components, rows, 1))
    return Marginals(*(jnp.asarray(part) for part in (mean, variance, np.log(weights))))


def dense(likelihood, y, q, function):
    """E_q[function(log p(y | f))] of every row, as a sum over a fine grid of f."""
    weights = np.exp(np.asarray(q.log_weights))
    total = np.zeros(len(y))
    means, spreads = np.asarray(q.mean)[..., 0], np.sqrt(np.asarray(q.variance)[..., 0])
    for weight, centre, spread in zip(weights, means, spreads, strict=True):
        f = np.linspace(centre - 40 * spread, centre + 40 * spread, 80_001, axis=-1)
        log_prob = _log_prob(likelihood, np.broadcast_to(y[:, None], f.shape), f[..., None])
        density = norm.pdf(f, centre[:, None], spread[:, None]) * (f[:, 1:2] - f[:, :1])
        total += weight * np.sum(density * function(np.asarray(log_prob)), axis=1)
    return total


@eqx.filter_jit  # one program for all components and functions of a likelihood
def _log_prob(likelihood, y, f):
    return likelihood.log_prob(jnp.asarray(y), jnp.asarray(f))
