"""`Posterior`: the Gaussian approximation over v and its log marginal likelihood."""

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.special import ndtr
from jaxtyping import Array, Bool, Float

from directgp.exact.finite import Features


class Posterior(eqx.Module):
    """q(v) = N(mean, covariance), with log q(y) (of the tilted density, where there is a utility).

    `sweeps` is the number of Newton steps or EP sweeps, `converged` whether they were enough.
    """

    mean: Float[Array, "M"]
    covariance: Float[Array, "M M"]
    log_evidence: Float[Array, ""]
    sweeps: Float[Array, ""]
    converged: Bool[Array, ""]

    def latent(self, features: Features) -> tuple[Float[Array, "N"], Float[Array, "N"]]:
        """Mean and variance of f at rows."""
        values, residual = features
        spread = jnp.sum((values @ self.covariance) * values, axis=1)
        return values @ self.mean, residual + spread

    def probit(self, rows: Float[Array, "S M"]) -> Float[Array, "S"]:
        """p_q(y = 1 | x) = Φ(d·μ/√(1 + dᵀΣd)) at scaled rows d (`lossem` eq. 25)."""
        spread = jnp.sum((rows @ self.covariance) * rows, axis=1)
        return ndtr((rows @ self.mean) / jnp.sqrt(1.0 + spread))
