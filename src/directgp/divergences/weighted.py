"""KL/w: the divergence of a power posterior (`gvi` section 4.2)."""

import math

import equinox as eqx
from jaxtyping import Array, Float

from directgp.divergences.base import Divergence, WhitenedGaussian, divergences
from directgp.divergences.kl import KL
from directgp.errors import DirectGPError


@divergences.register("weighted-kl")
class WeightedKL(Divergence):
    """KL(q ‖ p) / w: w < 1 puts more weight on the prior.

    Equivalent to β = 1/w; in a `PerLayer` it sets the weight of one layer.
    """

    w: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        if not 0.0 < self.w < math.inf:
            raise DirectGPError(f"w of WeightedKL must be a number > 0, got {self.w}; 1 gives KL")

    @property
    def kl_weight(self) -> float:
        return 1.0 / self.w

    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        return KL()(posterior) / self.w
