"""Reference posterior by self-normalised importance sampling at quasi-random points.

The proposal is a multivariate t around a Gaussian approximation, whose heavy tails keep the weights
bounded. The effective sample size shows whether the approximation is good enough; `sampling` has
MCMC to check it with.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import softmax
from jax.scipy.special import gammaln, logsumexp, ndtr
from jaxtyping import Array, Float
from scipy import special

from directgp.exact.posterior import Posterior
from directgp.exact.target import Target

DEGREES = 12.0


class Weighted(NamedTuple):
    """Draws v_j with weights that sum to 1, log p(y), and the effective number of draws.

    `gaussian` are the weights with which the same draws stand for the proposal's Gaussian, whose
    averages are often known: E_p[g] ≈ E_q[g] + Σ_j (weights − gaussian)_j g(v_j) then has a
    fraction of the error (a control variate).
    """

    draws: Float[Array, "J M"]
    weights: Float[Array, "J"]
    gaussian: Float[Array, "J"]
    log_evidence: Float[Array, ""]
    effective: Float[Array, ""]

    def probit(self, rows: Float[Array, "S M"], proposal: Posterior) -> Float[Array, "S"]:
        """p(y = 1 | x): that of the proposal, with a correction by the weights.

        Args:
            rows: scaled features.
            proposal: the Gaussian of the proposal.
        """
        change = self.weights - self.gaussian
        correction = lax.map(lambda row: change @ ndtr(self.draws @ row), rows)
        return jnp.clip(proposal.probit(rows) + correction, 0.0, 1.0)

    @property
    def mean(self) -> Float[Array, "M"]:
        """E[v]."""
        return self.weights @ self.draws

    @property
    def covariance(self) -> Float[Array, "M M"]:
        """Cov[v]."""
        centred = self.draws - self.mean
        return (centred.T * self.weights) @ centred


def t_points(dimension: int, log2_count: int, seed: int = 0) -> Float[np.ndarray, "J M"]:
    """Scrambled Sobol points as draws of a standard multivariate t.

    Args:
        dimension: M.
        log2_count: log2 of the number of draws.
        seed: seed of the scrambling.
    """
    from scipy import stats  # slow to import

    sobol = stats.qmc.Sobol(dimension + 1, scramble=True, rng=seed).random_base2(log2_count)
    uniform = np.clip(sobol, 1e-12, 1 - 1e-12)
    stretch = np.sqrt(DEGREES / stats.chi2(DEGREES).ppf(uniform[:, :1]))
    return special.ndtri(uniform[:, 1:]) * stretch


def importance(target: Target, proposal: Posterior, points: Float[Array, "J M"]) -> Weighted:
    """Importance weights of draws of a t around a Gaussian, and log p(y).

    Args:
        target: the density.
        proposal: the Gaussian.
        points: standard draws, from `t_points`.
    """
    size = points.shape[1]
    factor = jnp.linalg.cholesky(proposal.covariance)
    draws = proposal.mean + points @ factor.T
    # The normaliser of N(v; 0, I) is (2π)^{−M/2}.
    log_target = -_values(target, draws) - 0.5 * size * jnp.log(2.0 * jnp.pi)
    log_proposal = _log_t(points) - jnp.sum(jnp.log(jnp.diag(factor)))
    log_weights = log_target - log_proposal
    weights = softmax(log_weights)
    gaussian = softmax(-0.5 * jnp.sum(points**2, axis=1) - _log_t(points))
    log_evidence = logsumexp(log_weights) - jnp.log(points.shape[0])
    return Weighted(draws, weights, gaussian, log_evidence, 1.0 / jnp.sum(weights**2))


def _values(target: Target, draws: Array) -> Array:
    """−log target at all draws, without its utility."""
    fits = jnp.sum(target.likelihood.log_sigmoid(draws @ target.rows.T), axis=1)
    return 0.5 * jnp.sum(draws**2, axis=1) - fits


def _log_t(points: Array) -> Array:
    size = points.shape[1]
    constant = (
        gammaln(0.5 * (DEGREES + size))
        - gammaln(0.5 * DEGREES)
        - 0.5 * size * jnp.log(DEGREES * jnp.pi)
    )
    squared = jnp.sum(points**2, axis=1)
    return constant - 0.5 * (DEGREES + size) * jnp.log1p(squared / DEGREES)
