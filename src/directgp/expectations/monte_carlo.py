"""Reparameterised Monte Carlo: biased (bMC) for log-expectations, as `dlm` section 4 analyses."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.expectations.base import Expectation
from directgp.likelihoods.integrands import Integrand


class MonteCarlo(Expectation):
    """f = μ + √v ε with ε ~ N(0, 1), L samples a row.

    `mean` is unbiased. `log_mean_exp` is bMC (`dlm` eq. 7–8): the logarithm of an average,
    biased of order 1/L.
    """

    samples: int = eqx.field(static=True, default=10)

    def __check_init__(self):
        if self.samples < 1:
            raise ValueError(f"MonteCarlo needs at least 1 sample, got {self.samples}; use 10")

    def _evaluate(self, integrand, y, mean, variance, key):
        if key is None:
            raise ValueError("MonteCarlo needs a random key; pass key=jax.random.key(seed)")
        noise = jax.random.normal(key, (self.samples, *mean.shape), mean.dtype)
        f = mean + jnp.sqrt(variance) * noise
        return integrand(jnp.broadcast_to(y, f.shape[:-1]), f)

    def mean(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        return jnp.mean(self._evaluate(integrand, y, mean, variance, key), axis=0)

    def log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N"],
        mean: Float[Array, "S N P"],
        variance: Float[Array, "S N P"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "S N"]:
        values = self._evaluate(integrand, y, mean, variance, key)
        return logsumexp(values, axis=0) - jnp.log(self.samples)
