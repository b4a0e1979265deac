"""Ranks and thresholds of split conformal prediction, with finite-sample coverage."""

from fractions import Fraction
from math import ceil, floor

import numpy as np
from jaxtyping import Float


def missed_rank(num_rows: int, coverage: float) -> int:
    """The rank j = ⌊(n + 1)(1 − coverage)⌋ of the threshold among n scores.

    The rank of a new score among n + 1 exchangeable ones is uniform, so it is below the j-th
    smallest of the n with probability at most j/(n + 1) ≤ 1 − coverage. j = 0 means that n is too
    small for this coverage.

    Args:
        num_rows: n.
        coverage: taken as the decimal fraction that it is written as: in floating point
            (9 + 1)(1 − 0.9) is less than 1, and its floor would be 0.

    >>> missed_rank(9, 0.9), missed_rank(8, 0.9), missed_rank(99, 0.9), missed_rank(100, 0.9)
    (1, 0, 10, 10)
    """
    return floor((num_rows + 1) * (1 - Fraction(repr(float(coverage)))))


def least_rows(coverage: float) -> int:
    """The smallest number of rows for which intervals of this coverage are finite.

    >>> least_rows(0.9), least_rows(0.95), least_rows(0.5)
    (9, 19, 1)
    """
    return ceil(1 / (1 - Fraction(repr(float(coverage))))) - 1


def threshold(scores: Float[np.ndarray, "n"], coverage: float) -> float:
    """The j-th smallest score, or −∞ if j = 0; sets include all y with at least this score.

    Args:
        scores: of the calibration rows.
        coverage: the nominal coverage.

    >>> threshold(np.arange(1.0, 20.0), 0.9), threshold(np.arange(1.0, 9.0), 0.9)
    (2.0, -inf)
    """
    rank = missed_rank(len(scores), coverage)
    return float(np.sort(scores)[rank - 1]) if rank else float("-inf")
