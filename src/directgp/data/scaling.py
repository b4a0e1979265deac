"""Standardising with training statistics, safe for constant columns and wild scales."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_FAR = 1e12
_ROUNDING = 1e-14
"""A column whose relative spread is below this holds rounding errors, not information."""


class Standardiser(NamedTuple):
    """x ↦ (x − shift) / scale for every column; fitted on training rows only.

    Standardised values are kept within ±1e12, so that their squares are finite in float32 too:
    a row that far away is as good as infinitely far.

    >>> import numpy as np
    >>> s = Standardiser.fit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> s.forward(np.array([[3.0, 5.0]]))
    array([[1., 0.]])
    """

    shift: Float[np.ndarray, "D"]
    scale: Float[np.ndarray, "D"]

    @classmethod
    def fit(
        cls, values: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "N"] | None = None
    ) -> "Standardiser":
        """Mean and standard deviation of every column; a constant column gets scale 1.

        A row of weight 2 counts as two rows.

        Columns are brought to order one by a power of two first, so neither 1e-200 nor 1e200
        under- or overflows when squared; sums are taken from the first row on, so a large
        constant part (a time stamp, a year) does not drown the rest in a million rows.
        """
        largest = np.max(np.abs(values), axis=0)
        size = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))
        unit = values / size  # the only copy of the table: all else happens in place
        origin = unit[0].copy()
        unit -= origin
        if weight is None or np.all(weight == weight[0]):
            mean = unit.mean(axis=0)
            unit -= mean
            squares = np.einsum("nd,nd->d", unit, unit) / len(unit)
        else:
            shares = weight / weight.sum()
            mean = shares @ unit
            unit -= mean
            squares = np.einsum("n,nd,nd->d", shares, unit, unit)
        shift, scale = origin + mean, np.sqrt(squares)
        varies = scale > _ROUNDING * np.abs(shift)
        return cls(shift * size, np.where(varies, scale * size, 1.0))

    def forward(self, values: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N D"]:
        """To standardised units."""
        with np.errstate(over="ignore"):
            scaled = values - self.shift
            scaled /= self.scale
        return np.clip(scaled, -_FAR, _FAR, out=scaled)


class RunningScale:
    """`Standardiser.fit` of rows that come in pieces (Chan's update of mean and variance).

    Sums are taken in the units of a sample of the rows, so no scale under- or overflows.
    """

    def __init__(self, sample: Float[np.ndarray, "N D"]):
        self.unit = Standardiser.fit(sample)
        self.count = 0
        self.mean = np.zeros(sample.shape[1])
        self.squares = np.zeros(sample.shape[1])

    def add(self, values: Float[np.ndarray, "N D"]) -> None:
        """Some more rows."""
        if not len(values):
            return
        scaled = self.unit.forward(values)
        mean = scaled.mean(axis=0)
        scaled -= mean
        self.merge(len(scaled), mean, np.einsum("nd,nd->d", scaled, scaled))

    def merge(
        self, count: int, mean: Float[np.ndarray, "D"], squares: Float[np.ndarray, "D"]
    ) -> None:
        """Some more rows, of which these are known (in the units of the same sample)."""
        total, step = self.count + count, mean - self.mean
        self.squares += squares
        self.squares += step**2 * (self.count * count / max(total, 1))
        self.mean += step * (count / max(total, 1))
        self.count = total

    def standardiser(self) -> Standardiser:
        """Mean and standard deviation of all rows so far."""
        spread = np.sqrt(self.squares / max(self.count, 1))
        shift = self.unit.shift + self.unit.scale * self.mean
        varies = self.unit.scale * spread > _ROUNDING * np.abs(shift)
        return Standardiser(shift, np.where(varies, self.unit.scale * spread, 1.0))
