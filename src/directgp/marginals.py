"""`Marginals`: q(f) at the rows of a batch, a mixture of Gaussians, as returned by every model.

Models with several outputs return `OutputMarginals` for whole rows.
"""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float


class Marginals(eqx.Module):
    """q(f_n) = Σ_s w_s N(mean_sn, variance_sn) for each of N rows and P latent functions.

    S is 1 for a sparse GP, the number of samples for a deep GP, and the number of sigma points for
    a deep sigma point process. Losses do not depend on which it is.
    """

    mean: Float[Array, "S N P"]
    variance: Float[Array, "S N P"]
    log_weights: Float[Array, "S"]

    def average(self, values: Float[Array, "S N"]) -> Float[Array, "N"]:
        """Σ_s w_s values_s, for quantities that are linear in q."""
        if self.log_weights.shape[0] == 1:
            return values[0]
        return jnp.exp(self.log_weights) @ values

    def log_average_exp(self, values: Float[Array, "S N"]) -> Float[Array, "N"]:
        """Log Σ_s w_s exp(values_s), for densities of the mixture."""
        if self.log_weights.shape[0] == 1:
            return values[0]
        return logsumexp(values + self.log_weights[:, None], axis=0)


class OutputMarginals(eqx.Module):
    """q(f) of T outputs at every row: f = A g with Q latent functions g.

    The g are independent in every component s, so f has mean A μ_s and covariance A diag(v_s) Aᵀ.
    """

    latents: Marginals
    """q(g) of the latent functions, [S N Q]."""
    mixing: Float[Array, "T Q"]
    """A."""
    with_number: bool = eqx.field(static=True, default=False)
    """Whether `by_value` passes the number of the output as a second latent value."""

    @property
    def mean(self) -> Float[Array, "S N T"]:
        """The mean of f."""
        return self.latents.mean @ self.mixing.T

    @property
    def variance(self) -> Float[Array, "S N T"]:
        """The variance of f."""
        return self.latents.variance @ (self.mixing**2).T

    @property
    def covariance(self) -> Float[Array, "S N T T"]:
        """The covariance of the outputs of f."""
        return jnp.einsum("tq,snq,uq->sntu", self.mixing, self.latents.variance, self.mixing)

    def by_value(self) -> Marginals:
        """The outputs of all rows as [S NT P], with the outputs of a row next to each other."""
        components, rows, outputs = self.mean.shape
        shape = components, rows * outputs, 1
        mean, variance = self.mean.reshape(shape), self.variance.reshape(shape)
        if self.with_number:
            numbers = jnp.tile(jnp.arange(outputs, dtype=mean.dtype), rows)[:, None]
            mean = jnp.concatenate([mean, jnp.broadcast_to(numbers, shape)], axis=-1)
            variance = jnp.concatenate([variance, jnp.zeros_like(variance)], axis=-1)
        return Marginals(mean, variance, self.latents.log_weights)


def single(mean: Float[Array, "N P"], variance: Float[Array, "N P"]) -> Marginals:
    """Marginals with a single component.

    Args:
        mean: of f.
        variance: of f.
    """
    return Marginals(mean[None], variance[None], jnp.zeros(1, mean.dtype))
