"""Kullback–Leibler divergence from the prior."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.divergences.base import Divergence, WhitenedGaussian


class KL(Divergence):
    """KL(q ‖ p) = ½ Σ_p (|m_p|² + tr S_p S_pᵀ − M − log det S_p S_pᵀ)."""

    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        mean, scale = posterior.moments()
        if scale.ndim == 2:
            diagonal = scale
        else:
            diagonal = jnp.diagonal(scale, axis1=-2, axis2=-1)
        return 0.5 * (
            jnp.sum(mean**2)
            + jnp.sum(scale**2)
            - mean.size
            - 2.0 * jnp.sum(jnp.log(diagonal))
        )
