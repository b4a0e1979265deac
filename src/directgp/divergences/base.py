"""Base class of divergences, and the whitened Gaussian posterior."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from directgp.parameters import float64, lower_triangular, on_device, part, positive, unwrap


class WhitenedGaussian(eqx.Module):
    """q(v_p) = N(mean_p, S_p S_pᵀ) against the prior N(0, I), for P latent functions.

    u = L v with L Lᵀ = K_uu, so divergences of q(u) from p(u) are those of q(v) from N(0, I).
    `scale` is lower triangular [P M M], or the standard deviations [P M] (mean-field).
    """

    mean: Float[Array, "P M"] = part(rate="fast")
    scale: Any = part()

    @classmethod
    @float64
    def prior(
        cls, size: int, latents: int = 1, mean_field: bool = False, spread: float = 1.0
    ) -> "WhitenedGaussian":
        """q(v) = N(0, spread² I): the prior itself for spread 1."""
        mean = on_device(np.zeros((latents, size)))
        if mean_field:
            return cls(mean, positive(np.full((latents, size), spread)))
        eye = np.broadcast_to(spread * np.eye(size), (latents, size, size))
        return cls(mean, lower_triangular(eye))

    @classmethod
    def from_moments(
        cls, mean: Float[Array, "P M"], scale: Float[Array, "P M *M"]
    ) -> "WhitenedGaussian":
        """q(v) with the given mean and lower-triangular scale (or standard deviations)."""
        if scale.ndim == 2:
            return cls(mean, positive(scale))
        return cls(mean, lower_triangular(scale))

    @property
    def is_mean_field(self) -> bool:
        """Whether `scale` is standard deviations alone; nothing is unwrapped to find out."""
        return max(np.ndim(leaf) for leaf in jax.tree.leaves(self.scale)) == 2

    def moments(self) -> tuple[Float[Array, "P M"], Array]:
        """(mean, scale) as plain arrays."""
        return unwrap(self.mean), unwrap(self.scale)


class Divergence(eqx.Module):
    """D(q(v) ‖ N(0, I)) ≥ 0, summed over latent functions; zero exactly at the prior."""

    @abstractmethod
    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        """The divergence of one layer."""

    @property
    def kl_weight(self) -> float | None:
        """The w > 0 with D = w · KL, where this is a multiple of KL; else None."""
        return None

    def for_layer(self, layer: int, num_layers: int) -> "Divergence":
        """The divergence of layer `layer` (from 0); the same for all unless `PerLayer`."""
        return self
