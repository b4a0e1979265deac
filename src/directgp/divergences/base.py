"""Base class of divergences, one divergence per layer, and the whitened Gaussian posterior."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError, WrongType
from directgp.parameters import float64, lower_triangular, on_device, part, positive, unwrap
from directgp.registry import Registry


class WhitenedGaussian(eqx.Module):
    """q(v_p) = N(mean_p, S_p S_pᵀ) with the prior N(0, I), for P latent functions.

    u = L v with L Lᵀ = K_uu, so divergences of q(u) from p(u) are those of q(v) from N(0, I).
    `scale` is lower triangular [P M M], or the standard deviations [P M] (mean-field).
    """

    mean: Float[Array, "P M"] = part(rate="fast")
    scale: Any = part()

    @classmethod
    @float64
    def prior(
        cls, size: int, latents: int = 1, mean_field: bool = False, std: float = 1.0
    ) -> "WhitenedGaussian":
        """q(v) = N(0, std² I), which is the prior for `std` = 1.

        Args:
            size: the number M of inducing inputs.
            latents: the number P of latent functions.
            mean_field: whether the covariance is diagonal.
            std: the standard deviation of every v.
        """
        mean = on_device(np.zeros((latents, size)))
        if mean_field:
            return cls(mean, positive(np.full((latents, size), std)))
        eye = np.broadcast_to(std * np.eye(size), (latents, size, size))
        return cls(mean, lower_triangular(eye))

    @classmethod
    def from_moments(
        cls, mean: Float[Array, "P M"], scale: Float[Array, "P M *M"]
    ) -> "WhitenedGaussian":
        """q(v) with these moments.

        Args:
            mean: of v.
            scale: a lower-triangular factor of the covariance [P M M], or deviations [P M].
        """
        if scale.ndim == 2:
            return cls(mean, positive(scale))
        return cls(mean, lower_triangular(scale))

    @property
    def is_mean_field(self) -> bool:
        """Whether the covariance is diagonal, found from shapes alone."""
        return max(np.ndim(leaf) for leaf in jax.tree.leaves(self.scale)) == 2

    def moments(self) -> tuple[Float[Array, "P M"], Array]:
        """(mean, scale) as plain arrays."""
        return unwrap(self.mean), unwrap(self.scale)


class Divergence(eqx.Module):
    """D(q(v) ‖ N(0, I)) ≥ 0, summed over latent functions; zero if and only if q is the prior."""

    @abstractmethod
    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        """The divergence of one layer."""

    @property
    def kl_weight(self) -> float | None:
        """The w > 0 with D = w · KL if this is a multiple of KL, else None."""
        return None

    def for_layer(self, layer: int, num_layers: int) -> "Divergence":
        """The divergence of one layer; `PerLayer` has a different one for each.

        Args:
            layer: counted from 0.
            num_layers: of the model.
        """
        return self


class PerLayer(Divergence):
    """Σ_l D_l(q(u_l) ‖ p(u_l)) with a divergence D_l for each layer (`gvi` eq. 24).

    Args:
        parts: the divergences, one for each layer.

    >>> from directgp.divergences import KL, Renyi
    >>> type(PerLayer((KL(), Renyi(0.5))).for_layer(1, 2)).__name__
    'Renyi'
    """

    parts: tuple[Divergence, ...]

    def __check_init__(self):
        parts: object = self.parts
        if not (
            isinstance(parts, tuple) and parts and all(isinstance(p, Divergence) for p in parts)
        ):
            raise WrongType(
                f"PerLayer takes a tuple of divergences, one for each layer, got {parts!r}; write "
                "PerLayer((KL(), Renyi(0.5)))"
            )

    def for_layer(self, layer: int, num_layers: int) -> Divergence:
        if len(self.parts) != num_layers:
            raise DirectGPError(
                f"PerLayer has {len(self.parts)} divergences for a model of {num_layers} layers; "
                "give one for each layer"
            )
        return self.parts[layer]

    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        return self.for_layer(0, 1)(posterior)


def _one_per_layer(part: Any) -> Any:
    """A list of divergences becomes a `PerLayer`."""
    if isinstance(part, list | tuple):
        return PerLayer(tuple(divergences.resolve(own) for own in part))
    return part


divergences = Registry("divergence", Divergence, _one_per_layer)
