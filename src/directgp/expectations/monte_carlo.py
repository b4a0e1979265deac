"""Reparameterised Monte Carlo, biased (bMC) for logarithms of expectations (`dlm` section 4)."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation, expectations, spread_over


@expectations.register("monte-carlo")
class MonteCarlo(Expectation):
    """f = μ + √v ε with ε ~ N(0, 1), L samples per row.

    `mean` is unbiased. `log_mean_exp` is bMC (`dlm` eq. 7–8): the logarithm of an average,
    biased of order 1/L.

    `smoothing` ν > 0 gives smooth-bMC (`dlm-supp` section 2): log((1/L) Σ φ(f⁽ˡ⁾) + ν), whose
    gradient (1/L) Σ φ′ / ((1/L) Σ φ + ν) is bounded for every y and all samples. ν is added to the
    mean, as in the proof of the paper, not to the sum, as in its displayed estimate.
    """

    samples: int = eqx.field(static=True, default=10)
    smoothing: float = eqx.field(static=True, default=0.0)

    def __check_init__(self):
        if self.samples < 1:
            raise DirectGPError(f"MonteCarlo needs at least 1 sample, got {self.samples}; use 10")
        if not 0.0 <= self.smoothing < math.inf:
            raise DirectGPError(
                f"smoothing of MonteCarlo must be 0 or a small positive number, got "
                f"{self.smoothing}; the paper uses 1e-4"
            )

    def _evaluate(self, integrand, y, mean, variance, key):
        if key is None:
            raise DirectGPError("MonteCarlo needs a random key; pass key=jax.random.key(seed)")
        noise = jax.random.normal(key, (self.samples, *mean.shape), mean.dtype)
        f = mean + jnp.sqrt(variance) * noise
        return integrand(spread_over(y, f), f)

    def _mean(self, integrand, y, mean, variance, key):
        return jnp.mean(self._evaluate(integrand, y, mean, variance, key), axis=0)

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        values = self._evaluate(integrand, y, mean, variance, key)
        log_mean = logsumexp(values, axis=0) - math.log(self.samples)
        if self.smoothing == 0.0:
            return log_mean
        return jnp.logaddexp(log_mean, math.log(self.smoothing))
