"""Gauss–Hermite quadrature, in log space for logarithms of expectations."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation, expectations, spread_over
from directgp.likelihoods.integrands import Integrand


@expectations.register("gauss-hermite")
class GaussHermite(Expectation):
    """E[g(f)] ≈ Σ_k w_k g(μ + √v ξ_k): exact for polynomials of degree 2·points − 1.

    For likelihoods with one latent value; several latents need `MonteCarlo`.
    """

    points: int = eqx.field(static=True, default=32)

    def __check_init__(self):
        if self.points < 1:
            raise DirectGPError(f"GaussHermite needs at least 1 point, got {self.points}; use 32")

    def _evaluate(self, integrand: Integrand, y: Array, mean: Array, variance: Array):
        if mean.shape[-1] != 1:
            raise DirectGPError(
                f"GaussHermite integrates over one latent value, got {mean.shape[-1]}; "
                "use MonteCarlo(samples) for likelihoods with several"
            )
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.points)
        std, each_y = jnp.sqrt(variance), spread_over(y, mean)
        # vmap over nodes instead of broadcasting: terms of y alone (log y!) are computed once.
        values = jax.vmap(lambda node: integrand(each_y, mean + std * node))(
            jnp.asarray(nodes, mean.dtype)
        )
        log_weights = jnp.asarray(np.log(weights / weights.sum()), mean.dtype)[:, None, None]
        return values, log_weights

    def _mean(self, integrand, y, mean, variance, key):
        values, log_weights = self._evaluate(integrand, y, mean, variance)
        return jnp.sum(jnp.exp(log_weights) * values, axis=0)

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        values, log_weights = self._evaluate(integrand, y, mean, variance)
        return logsumexp(values + log_weights, axis=0)
