"""Kullback–Leibler divergence from the prior."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.divergences.base import Divergence, WhitenedGaussian, divergences
from directgp.parameters import diagonal


@divergences.register("kl")
class KL(Divergence):
    """KL(q ‖ p) = ½ Σ_p (|m_p|² + tr S_p S_pᵀ − M − log det S_p S_pᵀ)."""

    @property
    def kl_weight(self) -> float:
        return 1.0

    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        mean, scale = posterior.moments()
        deviations = scale if scale.ndim == 2 else diagonal(scale)
        return 0.5 * (
            jnp.sum(mean**2) + jnp.sum(scale**2) - mean.size - 2.0 * jnp.sum(jnp.log(deviations))
        )
