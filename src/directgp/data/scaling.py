"""Standardising with training statistics, safe for constant columns and wild scales."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Standardiser(NamedTuple):
    """x ↦ (x − shift) / scale for every column; fitted on training rows only.

    >>> import numpy as np
    >>> s = Standardiser.fit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> s.forward(np.array([[3.0, 5.0]]))
    array([[1., 0.]])
    """

    shift: Float[np.ndarray, "D"]
    scale: Float[np.ndarray, "D"]

    @classmethod
    def fit(cls, values: Float[np.ndarray, "N D"]) -> "Standardiser":
        """Mean and standard deviation of every column; a constant column gets scale 1.

        Columns are brought to order one by their largest entry first, so neither 1e-200 nor
        1e200 under- or overflows when squared.
        """
        size = np.max(np.abs(values), axis=0, initial=0.0)
        size = np.where(size > 0, size, 1.0)
        unit = values / size
        shift, scale = unit.mean(axis=0), unit.std(axis=0)
        varies = scale > 1e-12 * np.maximum(np.abs(shift), 1e-12)
        return cls(shift * size, np.where(varies, scale * size, 1.0))

    def forward(self, values: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """To standardised units."""
        return (values - self.shift) / self.scale
