"""Gaussian likelihood of several outputs, each with its own noise variance."""

from functools import singledispatch
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import closed_form, find_closed_form
from directgp.likelihoods.gaussian import Gaussian
from directgp.likelihoods.integrands import (
    ConditionalMean,
    LogNormalisedPower,
    LogPower,
    LogPowerIntegral,
    LogProb,
    SquaredError,
)
from directgp.parameters import float64, positive, unwrap
from directgp.predictive import GaussianMixture


class GaussianOutputs(Likelihood):
    """p(y | f, t) = N(y | f, noise_t) for output t, whose number is the second latent value.

    `models.MultiOutput` supplies that number, with variance 0.
    """

    standardise_targets: ClassVar[bool] = True
    noise: Any

    def __init__(self, num_outputs: int, noise: float = 0.1, minimum: float = 1e-6):
        if num_outputs < 1:
            raise DirectGPError(f"GaussianOutputs needs at least 1 output, got {num_outputs}")
        self.noise = positive(np.full(num_outputs, noise), minimum)

    @property
    def num_latents(self) -> int:
        return 2

    def of(self, f: Float[Array, "*B P"]) -> Gaussian:
        """The `Gaussian` likelihood of every value, with the noise of its output."""
        return Gaussian.with_own_noise(unwrap(self.noise)[jnp.round(f[..., 1]).astype(jnp.int32)])

    def at_rows(self, f: Float[Array, "N P"]) -> Gaussian:
        return self.of(f)

    def noise_at(
        self, f: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K"], Float[Array, "K #S #N"]]:
        """The noise of the row's output."""
        return jnp.zeros(1), unwrap(self.of(f[:1]).noise)[None]

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.of(f).log_prob(y, f)

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return f[..., 0]

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.of(f).conditional_variance(f)

    def latent_noise(self, f: Float[Array, "*B P"]) -> Float[Array, "*B P"]:
        """The noise of the output, and 0 for its number."""
        noise = self.conditional_variance(f)
        return jnp.stack([noise, jnp.zeros_like(noise)], axis=-1)

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        return jnp.stack([y, jnp.zeros_like(y)], axis=-1)

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.full(y.shape, -0.5 * jnp.log(2.0 * jnp.pi * jnp.min(unwrap(self.noise))))

    def log_power_integral(self, f: Float[Array, "*B P"], power: float) -> Float[Array, "*B"]:
        return self.of(f).log_power_integral(f, power)

    def outcome_rule(
        self, mean: Float[Array, "S N P"], variance: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K S N"], Float[Array, "K 1 1"]]:
        return self.of(mean).outcome_rule(mean, variance)

    def in_units(self, scale: Any) -> dict[str, Any]:
        return {"noise_std": (np.sqrt(np.asarray(unwrap(self.noise))) * scale).tolist()}

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        return np.array([np.mean(y), 0.0])

    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> GaussianMixture:
        noise = np.asarray(unwrap(self.noise))[np.rint(mean[..., 1]).astype(int)]
        return GaussianMixture(mean[..., 0], variance[..., 0] + noise, log_weights)

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return np.asarray(y, np.float64)


def _as_gaussian(kind):
    """The closed form of `Gaussian`, with the noise of each row's output."""

    def form(integrand, y, mean, variance):
        own = eqx.tree_at(lambda g: g.likelihood, integrand, integrand.likelihood.of(mean))
        return find_closed_form(own, kind)(own, y, mean, variance)

    return form


for _integrand in (LogProb, ConditionalMean, SquaredError):
    closed_form(_integrand, GaussianOutputs, "mean")(_as_gaussian("mean"))
for _integrand in (LogProb, LogPower, LogPowerIntegral, LogNormalisedPower):
    closed_form(_integrand, GaussianOutputs, "log_mean_exp")(_as_gaussian("log_mean_exp"))


@singledispatch
def for_outputs(likelihood: Likelihood, num_outputs: int) -> Likelihood:
    """The likelihood for several outputs that mix latent functions; by default shared by all.

    Args:
        likelihood: of one output.
        num_outputs: the number of outputs.
    """
    if likelihood.num_latents != 1:
        raise DirectGPError(
            f"several outputs need a likelihood of one latent function, "
            f"{type(likelihood).__name__} has {likelihood.num_latents}; use gaussian, student-t, "
            "poisson, negative-binomial or bernoulli, or one model for each output"
        )
    return likelihood


@for_outputs.register(Gaussian)
@float64
def _(likelihood: Gaussian, num_outputs: int) -> Likelihood:
    """One noise variance per output, with the same initial value and lower limit."""
    noise = jax.tree.map(
        lambda leaf: jnp.full(num_outputs, leaf) if eqx.is_array(leaf) else leaf, likelihood.noise
    )
    return eqx.tree_at(lambda outputs: outputs.noise, GaussianOutputs(num_outputs), noise)


@for_outputs.register
def _(likelihood: GaussianOutputs, num_outputs: int) -> Likelihood:
    own = len(unwrap(likelihood.noise))
    if own != num_outputs:
        raise DirectGPError(
            f"GaussianOutputs({own}) is not for {num_outputs} outputs; give GaussianOutputs("
            f"{num_outputs})"
        )
    return likelihood
