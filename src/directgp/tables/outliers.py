"""Gross outliers: values more than ten robust standard deviations from the median."""

import numpy as np
from jaxtyping import Bool, Float

LIMIT = 10.0
"""A value further from the median than this many robust deviations is a gross outlier."""
_LIMIT_OF_LOGARITHMS = 6.0
_MOST = 0.1
_IQR_OF_NORMAL = 1.349


def gross_outliers(y: Float[np.ndarray, "N"]) -> int:
    """The number of values more than `LIMIT` robust deviations, IQR / 1.349, from the median.

    Values of one sign must be outliers on the log scale too, as incomes and rainfall are skewed.
    The result is 0 if more than a tenth of the values are that far out, or half of all are equal.

    >>> gross_outliers(np.array([1.0, 2.0, 3.0, 4.0, 5.0] * 5 + [-60.0]))
    1
    """
    count = int(np.sum(far_out(y)))
    return count if count <= _MOST * len(y) else 0


def far_out(
    values: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"] | None = None
) -> Bool[np.ndarray, "N"]:
    """Which values are gross outliers, as in `gross_outliers`.

    Args:
        values: the values.
        weight: the weight of each in the quartiles; None: equal weights.

    Returns:
        True where a value is an outlier.
    """
    far = _far(values, LIMIT, weight)
    if np.all(values >= 0) or np.all(values <= 0):
        with np.errstate(divide="ignore"):
            far &= _far(np.log(np.abs(values)), _LIMIT_OF_LOGARITHMS, weight)
    return far


def median_and_deviation(
    values: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"] | None = None
) -> tuple[float, float]:
    """The median and the robust deviation IQR / 1.349.

    Args:
        values: the values.
        weight: the weight of each; None: equal weights.
    """
    how = {} if weight is None else {"weights": weight, "method": "inverted_cdf"}
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], **how)
    return float(middle), float((high - low) / _IQR_OF_NORMAL)


def _far(
    values: Float[np.ndarray, "N"], limit: float, weight: Float[np.ndarray, "N"] | None
) -> Bool[np.ndarray, "N"]:
    """Where values are beyond the limit; the scale is that of the finite ones."""
    finite = np.isfinite(values)
    if not np.any(finite):
        return np.zeros(len(values), dtype=bool)
    own = None if weight is None else weight[finite]
    middle, deviation = median_and_deviation(values[finite], own)
    with np.errstate(over="ignore"):
        return (np.abs(values - middle) > limit * deviation) & (deviation > 0)
