"""A separate divergence for each layer (`gvi` eq. 24)."""

from jaxtyping import Array, Float

from directgp.divergences.base import Divergence, WhitenedGaussian
from directgp.errors import DirectGPError, WrongType


class PerLayer(Divergence):
    """Σ_l D_l(q(u_l) ‖ p(u_l)) with a divergence D_l for each layer, the first one first.

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
