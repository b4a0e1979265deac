"""Gaussian likelihood: p(y | f) = N(y | f, noise), with its closed forms."""

import math
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood, likelihoods
from directgp.likelihoods.closed_forms import closed_form, location_forms, power_forms
from directgp.likelihoods.integrands import (
    LogPower,
    LogProb,
)
from directgp.likelihoods.normal import LOG_2PI, log_normal
from directgp.parameters import is_learned, positive, unwrap, with_value
from directgp.predictive import GaussianMixture

_OUTCOME_NODES = 11


@likelihoods.register("gaussian")
class Gaussian(Likelihood):
    """p(y | f) = N(y | f, noise); `noise` is a variance, learned, never below `minimum`."""

    standardise_targets: ClassVar[bool] = True
    noise: Any

    def __init__(self, noise: Any = 0.1, minimum: float = 1e-6):
        if np.ndim(noise):
            raise DirectGPError(
                f"noise of Gaussian must be one number, got shape {np.shape(noise)}; use "
                "GaussianOutputs for outputs that have their own, sample_weight for rows"
            )
        self.noise = positive(noise, minimum)

    @classmethod
    def with_own_noise(cls, noise: Float[Array, "*B"]) -> "Gaussian":
        """A Gaussian with one noise variance per value, for `GaussianOutputs`."""
        return eqx.tree_at(lambda likelihood: likelihood.noise, cls(), noise)

    @property
    def num_latents(self) -> int:
        return 1

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return log_normal(y, f[..., 0], unwrap(self.noise))

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return f[..., 0]

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return jnp.full(f.shape[:-1], unwrap(self.noise))

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        return y[..., None]

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.full(y.shape, -0.5 * (LOG_2PI + jnp.log(unwrap(self.noise))))

    @property
    def log_concave(self) -> bool:
        return True

    @property
    def has_learned_noise(self) -> bool:
        return is_learned(self.noise)

    def with_more_noise(self, amount: Any) -> "Gaussian | None":
        """`amount` is added to the noise variance."""
        if not self.has_learned_noise:
            return None
        noise = with_value(self.noise, unwrap(self.noise) + amount)
        return eqx.tree_at(lambda likelihood: likelihood.noise, self, noise)

    def in_units(self, scale: Any) -> dict[str, Any]:
        return {"noise_std": float(np.sqrt(unwrap(self.noise))) * scale}

    def noise_mixture(self) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        return jnp.zeros(1), unwrap(self.noise)[None]

    def log_power_integral(self, f: Float[Array, "*B P"], power: float) -> Float[Array, "*B"]:
        """Log I = −½(power − 1) log(2πσ²) − ½ log power (`gvi` eq. 18, corrected)."""
        log_integral = -0.5 * (power - 1.0) * (LOG_2PI + jnp.log(unwrap(self.noise)))
        return jnp.full(f.shape[:-1], log_integral - 0.5 * math.log(power))

    def outcome_rule(
        self, mean: Float[Array, "S N P"], variance: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K S N"], Float[Array, "K 1 1"]]:
        """Gauss–Hermite over y ~ N(μ_s, v_s + σ²)."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(_OUTCOME_NODES)
        deviation = jnp.sqrt(variance[..., 0] + unwrap(self.noise))
        y = mean[..., 0] + deviation * jnp.asarray(nodes)[:, None, None]
        return y, jnp.asarray(np.log(weights / weights.sum()))[:, None, None]

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        return np.array([np.mean(y)])

    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> GaussianMixture:
        noise = float(unwrap(self.noise))
        return GaussianMixture(mean[..., 0], variance[..., 0] + noise, log_weights)

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return np.asarray(y, np.float64)


@closed_form(LogProb, Gaussian, "mean")
def _expected_log_prob(integrand, y, mean, variance):
    """E_q[log N(y | f, σ²)] = log N(y | μ, σ²) − v / (2σ²)."""
    noise = unwrap(integrand.likelihood.noise)
    return log_normal(y, mean[..., 0], noise) - 0.5 * variance[..., 0] / noise


@closed_form(LogProb, Gaussian, "log_mean_exp")
def _log_evidence(integrand, y, mean, variance):
    """Log E_q[N(y | f, σ²)] = log N(y | μ, v + σ²) (`dlm` section 2; `dspp` PPGPR)."""
    noise = unwrap(integrand.likelihood.noise)
    return log_normal(y, mean[..., 0], variance[..., 0] + noise)


@closed_form(LogPower, Gaussian, "log_mean_exp")
def _log_mean_power(integrand, y, mean, variance):
    """Log E_q[p^c] = −½[c log 2πσ² + log(1 + cv/σ²) + c(y − μ)²/(σ² + cv)] (`gvi` eq. 19)."""
    noise, c = unwrap(integrand.likelihood.noise), integrand.power - 1.0
    widened = noise + c * variance[..., 0]
    log_scale = c * (LOG_2PI + jnp.log(noise)) + jnp.log(widened / noise)
    return -0.5 * (log_scale + c * (y - mean[..., 0]) ** 2 / widened)


location_forms(Gaussian)
power_forms(Gaussian)
