"""Standardising by training statistics, robust to constant columns and extreme magnitudes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.tables.jax_memory import aligned
from directgp.tables.outliers import far_out, median_and_deviation

_FAR, _FAR_INPUT = 1e12, 1e3
_ROUNDING = 1e-14
"""A column whose relative standard deviation is below this is constant up to rounding."""
_LARGEST = 1e139
"""The scale of a constant target is at most this, and at least its inverse: squares are finite."""
_PIECE = 8192
_SAMPLE = 20_000
_SWAMPED = 10.0
"""A standard deviation more than this multiple of the robust one is due to outliers."""
_FEW = 0.01
"""The largest share of rows that can be outliers; more are a part of the data."""


class Standardiser(NamedTuple):
    """x ↦ (x − shift) / scale for every column; fitted on training rows only.

    Standardised values are clipped to ±1e12, so that their squares are finite in float32 too.

    >>> import numpy as np
    >>> s = Standardiser.fit(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> s.forward(np.array([[3.0, 5.0]]))
    array([[1., 0.]])
    """

    shift: Float[np.ndarray, "D"]
    scale: Float[np.ndarray, "D"]

    @classmethod
    def _of_varying(
        cls, values: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "N"] | None = None
    ) -> "Standardiser":
        """Mean and standard deviation of every column, 0 for one that is constant.

        A row of weight 2 counts as two rows.

        Columns are first divided by a power of two, so that squares neither under- nor overflow,
        and the first row is subtracted, so that a large constant part (a time stamp) does not
        cause cancellation.
        """
        largest = np.maximum(np.max(values, axis=0), -np.min(values, axis=0))
        size = np.exp2(np.floor(np.log2(np.where(largest > 0, largest, 1.0))))
        origin = values[0] / size
        shares = np.ones(len(values)) if weight is None else weight / np.max(weight)
        total = np.sum(shares)
        # In pieces, so that the table is not copied.
        pieces = [slice(first, first + _PIECE) for first in range(0, len(values), _PIECE)]
        mean, squares = np.zeros(values.shape[1]), np.zeros(values.shape[1])
        for piece in pieces:
            unit = values[piece] / size - origin
            # Not by BLAS, whose sums depend on the number of threads: a resumed fit must agree.
            mean += np.einsum("n,nd->d", shares[piece], unit) / total
        for piece in pieces:
            unit = values[piece] / size - origin - mean
            squares += np.einsum("n,nd,nd->d", shares[piece], unit, unit) / total
        shift, scale = origin + mean, np.sqrt(squares)
        varies = (scale > _ROUNDING * np.abs(shift)) & (scale * size > 0)
        return cls(shift * size, np.where(varies, scale * size, 0.0))

    @classmethod
    def fit(
        cls, values: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "N"] | None = None
    ) -> "Standardiser":
        """Mean and standard deviation of every column; a constant column gets scale 1."""
        return cls._of_varying(values, weight)._with_scale(np.ones_like)

    @classmethod
    def of_targets(
        cls, values: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "N"] | None = None
    ) -> "Standardiser":
        """As `fit`, but a constant column has its absolute value as scale (1 if it is zero).

        Predictions are then equivariant to the units of y for constant targets too.

        Args:
            values: the training targets.
            weight: the weight of each row; None: equal weights.

        >>> Standardiser.of_targets(np.array([[1e9, 0.0], [1e9, 0.0]])).scale
        array([1.e+09, 1.e+00])
        """
        return cls._of_varying(values, weight)._with_scale(_own_size)

    def _with_scale(self, of_constant: Callable[[np.ndarray], np.ndarray]) -> "Standardiser":
        """Replace the scale 0 of constant columns by a function of their value."""
        return self._replace(scale=np.where(self.scale > 0, self.scale, of_constant(self.shift)))

    @classmethod
    def of_inputs(
        cls, values: Float[np.ndarray, "N D"], weight: Float[np.ndarray, "N"] | None = None
    ) -> "Standardiser":
        """As `fit`, but robust to a few gross outliers.

        With the usual scale one value of 1e6 would make all other rows equal to a kernel. If
        outliers (one row or at most 1 % of the weight) inflate the standard deviation more than
        tenfold, median and interquartile range are used instead (docs/decisions/0012).

        Args:
            values: the training inputs.
            weight: the weight of each row; None: equal weights.

        Returns:
            The standardiser.
        """
        usual = cls.fit(values, weight)
        shift, scale = usual.shift.copy(), usual.scale.copy()
        shares = np.ones(len(values)) if weight is None else weight / np.max(weight)
        # A random sample, as rows at regular intervals may be alike (the same hour of the day).
        some = np.random.default_rng(0).choice(
            len(values), min(len(values), _SAMPLE), replace=False
        )
        for column in range(values.shape[1]):
            own = values[:, column]
            if not _is_swamped(scale[column], own[some], shares[some]):
                continue
            far = shares[far_out(own, shares)]
            few = len(far) == 1 or 0 < np.sum(far) <= _FEW * np.sum(shares)
            if few and _is_swamped(scale[column], own, shares):
                shift[column], scale[column] = median_and_deviation(own, shares)
        return cls(shift, scale)

    def forward_inputs(
        self, values: Float[np.ndarray, "N D"], out: Float[np.ndarray, "N D"] | None = None
    ) -> Float[np.ndarray, "N D"]:
        """As `forward`, but clipped to ±1000.

        The gradient of the length-scale has squares of these numbers, and those of 1e8 would cause
        cancellation.

        Args:
            values: inputs.
            out: the array for the result; see `forward`.
        """
        return self.forward(values, out, _FAR_INPUT)

    def forward(
        self,
        values: Float[np.ndarray, "N D"],
        out: Float[np.ndarray, "N D"] | None = None,
        limit: float = _FAR,
    ) -> Float[np.ndarray, "N D"]:
        """Standardise values.

        Args:
            values: values in the original units.
            out: the array for the result, which may be `values`; by default a new aligned array.
            limit: results are clipped to ± this.
        """
        out = aligned(values.shape) if out is None else out
        with np.errstate(over="ignore"):
            np.subtract(values, self.shift, out=out)
            out /= self.scale
        return np.clip(out, -limit, limit, out=out)


def _own_size(constant: Float[np.ndarray, "D"]) -> Float[np.ndarray, "D"]:
    size = np.where(constant == 0, 1.0, np.abs(constant))
    return np.clip(size, 1 / _LARGEST, _LARGEST)


def _is_swamped(
    scale: float, values: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"]
) -> bool:
    _, deviation = median_and_deviation(values, weight)
    return bool(scale / _SWAMPED > deviation > 0)


class RunningScale:
    """`Standardiser.fit` for rows in pieces (Chan's update of mean and variance).

    Sums are in the units of a sample of the rows, so that they neither under- nor overflow.
    """

    def __init__(self, sample: Float[np.ndarray, "N D"]):
        self.unit = Standardiser.fit(sample)
        self.count = 0
        self.mean = np.zeros(sample.shape[1])
        self.squares = np.zeros(sample.shape[1])

    def add(self, values: Float[np.ndarray, "N D"]) -> None:
        """Include more rows."""
        if not len(values):
            return
        scaled = self.unit.forward(values)
        mean = scaled.mean(axis=0)
        scaled -= mean
        self.merge(len(scaled), mean, np.einsum("nd,nd->d", scaled, scaled))

    def merge(
        self, count: int, mean: Float[np.ndarray, "D"], squares: Float[np.ndarray, "D"]
    ) -> None:
        """Include more rows by their statistics, in the units of the same sample.

        Args:
            count: the number of rows.
            mean: their mean.
            squares: their sum of squared deviations from that mean.
        """
        total, step = self.count + count, mean - self.mean
        self.squares += squares
        self.squares += step**2 * (self.count * count / max(total, 1))
        self.mean += step * (count / max(total, 1))
        self.count = total

    def standardiser(self, targets: bool = False) -> Standardiser:
        """Mean and standard deviation of all rows so far, as `fit` or as `of_targets`."""
        spread = np.sqrt(self.squares / max(self.count, 1))
        shift = self.unit.shift + self.unit.scale * self.mean
        varies = self.unit.scale * spread > _ROUNDING * np.abs(shift)
        found = Standardiser(shift, np.where(varies, self.unit.scale * spread, 0.0))
        return found._with_scale(_own_size if targets else np.ones_like)
