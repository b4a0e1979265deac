"""Quasi-Monte Carlo with the same points at every row, for class probabilities."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation, expectations, spread_over
from directgp.predictive.softmax import MOST_POINTS, RARE, normal_points

_TOGETHER = 64
_MOVED_POINTS = 256
_MOVES = 3


@expectations.register("quasi-monte-carlo")
class QuasiMonteCarlo(Expectation):
    """E[g(f)] ≈ (1/K) Σ_k g(μ + √v z_k) at the K points z_k that `Categorical.predictive` uses.

    If E[exp g] is small, few points of q are where the integrand is large. The points are then
    shifted by z̄, the mean of z under q(f) exp g(f) as estimated from the points before, with
    importance weights exp(−z̄ᵀz − ½|z̄|²). The result is deterministic and needs no random key.
    """

    points: int = eqx.field(static=True, default=MOST_POINTS)

    def __check_init__(self):
        if not 1 <= self.points <= MOST_POINTS:
            raise DirectGPError(
                f"QuasiMonteCarlo has 1 to {MOST_POINTS} points, got {self.points}; use 256"
            )

    def _mean(self, integrand, y, mean, variance, key):
        deviation, each_y = jnp.sqrt(variance), spread_over(y, mean)

        def at(point: Float[Array, "P"]) -> Float[Array, "S N"]:
            return integrand(each_y, mean + deviation * point)

        return jnp.mean(lax.map(at, self._points(mean), batch_size=_TOGETHER), axis=0)

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        deviation, each_y = jnp.sqrt(variance), spread_over(y, mean)
        z = self._points(mean)

        def log_terms(points: Float[Array, "K P"], shift: Float[Array, "S N P"]):
            def at(point: Float[Array, "P"]):
                value = integrand(each_y, mean + deviation * (shift + point))
                return value - jnp.sum(shift * (point + 0.5 * shift), axis=-1)

            return lax.map(at, points, batch_size=_TOGETHER)

        terms = log_terms(z, jnp.zeros_like(mean))
        plain = logsumexp(terms, axis=0) - math.log(len(z))
        moved, shift, few = plain, jnp.zeros_like(mean), z[:_MOVED_POINTS]
        points = z
        for _ in range(_MOVES):
            share = jax.nn.softmax(lax.stop_gradient(terms), axis=0)
            shift = shift + jnp.einsum("ksn,kp->snp", share, points)
            terms, points = log_terms(few, shift), few
            moved = logsumexp(terms, axis=0) - math.log(len(few))
        return jnp.where(plain < math.log(RARE), moved, plain)

    def _points(self, mean: Float[Array, "S N P"]) -> Float[Array, "K P"]:
        return jnp.asarray(normal_points(mean.shape[-1])[: self.points], mean.dtype)
