"""Rows of every likelihood, and integrals by brute force, for losses between Gibbs and Direct."""

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
    for weight, mean, variance in zip(weights, q.mean[..., 0], q.variance[..., 0], strict=True):
        for row, target in enumerate(y):
            centre, spread = float(mean[row]), float(np.sqrt(variance[row]))
            f = np.linspace(centre - 40 * spread, centre + 40 * spread, 80_001)
            log_prob = likelihood.log_prob(jnp.full(f.shape, target), jnp.asarray(f)[:, None])
            density = norm.pdf(f, centre, spread) * (f[1] - f[0])
            total[row] += weight * np.sum(density * function(np.asarray(log_prob)))
    return total
