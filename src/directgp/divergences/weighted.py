"""KL/w: the divergence of a power posterior (`gvi` section 4.2)."""

import math

import equinox as eqx
from jaxtyping import Array, Float

from directgp.divergences.base import Divergence, WhitenedGaussian
from directgp.divergences.kl import KL
from directgp.errors import DirectGPError


class WeightedKL(Divergence):
    """KL(q ‖ p) / w: w < 1 puts more weight on the prior.

    The same as β = 1/w for all layers; as part of `PerLayer` it weighs one layer.
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
