"""`Marginals`: what every model returns for a batch, a weighted mixture of Gaussians over f."""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float


class Marginals(eqx.Module):
    """q(f_n) = Σ_s w_s N(mean_sn, variance_sn) for each of N rows and P latent functions.

    S = 1 for a sparse GP, the number of samples for a deep GP, the number of sigma points for
    a deep sigma point process: losses never know which.
    """

    mean: Float[Array, "S N P"]
    variance: Float[Array, "S N P"]
    log_weights: Float[Array, "S"]

    def average(self, values: Float[Array, "S N"]) -> Float[Array, "N"]:
        """Σ_s w_s values_s: for quantities that are linear in q."""
        if self.log_weights.shape[0] == 1:
            return values[0]
        return jnp.exp(self.log_weights) @ values

    def log_average_exp(self, values: Float[Array, "S N"]) -> Float[Array, "N"]:
        """Log Σ_s w_s exp(values_s): for densities of the mixture."""
        if self.log_weights.shape[0] == 1:
            return values[0]
        return logsumexp(values + self.log_weights[:, None], axis=0)


def single(mean: Float[Array, "N P"], variance: Float[Array, "N P"]) -> Marginals:
    """One Gaussian a row: the mixture with a single component."""
    return Marginals(mean[None], variance[None], jnp.zeros(1, mean.dtype))
