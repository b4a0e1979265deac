"""A test of calibration at the 5 % level, and the simultaneous bands that the figures show.

The figures of a report show many counts of the same rows: below quantiles, inside intervals, in
bars of a histogram, in bins of probabilities. For a calibrated model each of them is binomial. A
count is outside its band if its two-sided tail probability is below γ. γ is chosen by simulation
so that for a calibrated model at least one count of a report is outside its band in 5 % of
reports. The test rejects if any count is outside, so it never contradicts the figures.
"""

from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import bdtr, ndtr
from scipy.stats import binom

from directgp import metrics
from directgp.predictive import ClassProbabilities

LEVELS = np.linspace(0.0, 1.0, 41)
"""Probabilities at which the curves of PIT values are drawn and tested."""
INTERVALS = np.linspace(0.05, 0.95, 19)
"""Nominal coverages at which intervals are tested."""
ERROR_RATE = 0.05
"""Level of the test."""
BINS = 10
"""Bins of predicted probabilities."""
_DRAWS = 2000
_FEW = 0.05
"""Rows are few if the band of a share is wider than ± this."""


def num_bars(num_rows: int) -> int:
    """Number of bars of the histogram of PIT values."""
    return 20 if num_rows >= 200 else 10


def pit_band(
    num_rows: int, probability: Float[np.ndarray, "K"]
) -> tuple[Float[np.ndarray, "K"], Float[np.ndarray, "K"]]:
    """Smallest and largest share of rows inside the band, for events of given probability.

    Args:
        num_rows: the number of rows.
        probability: the probability of each event if the model is calibrated.

    >>> low, high = pit_band(100, np.array([0.5]))
    >>> bool(0.3 < low[0] < 0.4 and high[0] == 1 - low[0])
    True
    """
    return _band(num_rows, probability, _tail_of_pit(num_rows))


def pit_leaves_band(values: Float[np.ndarray, "N"]) -> bool:
    """Whether any count of PIT values shown in a report is outside its band."""
    count = len(values)
    below = np.searchsorted(np.sort(values), LEVELS[1:-1], side="right")
    inside = np.searchsorted(np.sort(np.abs(values - 0.5)), INTERVALS / 2, side="right")
    bars = np.histogram(values, np.linspace(0, 1, num_bars(count) + 1))[0]
    seen = np.concatenate([below, inside, bars])[None]
    return bool(_smallest_tail(seen, count, _events(count))[0] < _tail_of_pit(count))


def few_rows(num_rows: int) -> bool:
    """Whether a deviation of five percentage points from the nominal share is within the band."""
    low, high = pit_band(num_rows, np.array([0.5]))
    return bool(high[0] - low[0] > 2 * _FEW)


def _events(num_rows: int) -> Float[np.ndarray, "K"]:
    bars = num_bars(num_rows)
    return np.concatenate([LEVELS[1:-1], INTERVALS, np.full(bars, 1 / bars)])


@lru_cache(maxsize=64)
def _tail_of_pit(num_rows: int) -> float:
    """γ for the figures of PIT values, by simulation of N uniforms in 40 equal bins."""
    rng, cells = np.random.default_rng(0), len(LEVELS) - 1
    counts = rng.multinomial(num_rows, np.full(cells, 1 / cells), size=_DRAWS)
    below = np.cumsum(counts, axis=1)[:, :-1]
    ends = np.arange(1, cells // 2)
    inside = below[:, cells // 2 + ends - 1] - below[:, cells // 2 - ends - 1]
    bars = counts.reshape(_DRAWS, num_bars(num_rows), -1).sum(axis=2)
    seen = np.concatenate([below, inside, bars], axis=1)
    tails = _smallest_tail(seen, num_rows, _events(num_rows))
    return float(np.quantile(tails, ERROR_RATE, method="lower"))


class Reliability:
    """The reliability curve of class probabilities: of class 1 of two, or of the predicted class.

    Attributes:
        curve: mean predicted probability, observed frequency and number of rows of each bin.
        mean_gap: mean absolute difference of predicted probability and frequency, over rows.
        low: lower ends of the bands of the frequencies.
        high: upper ends.
        leaves_band: whether a bin, the share of right answers or (for two classes) the share of
            class 1 is outside its band.
    """

    def __init__(self, predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> None:
        """Compute the curve.

        Args:
            predictive: predicted class probabilities.
            y: the observed class numbers.
        """
        binary = predictive.num_classes == 2
        self.curve = metrics.reliability_curve(predictive, y, BINS, 1 if binary else None)
        p, n = self.curve.confidence, self.curve.rows
        self.mean_gap = float(np.sum(n * np.abs(self.curve.frequency - p)) / np.sum(n))
        clipped = np.clip(p, 0.0, 1.0)
        counts = np.rint(self.curve.frequency * n).astype(np.int64)
        drawn = np.random.default_rng(0).binomial(n, clipped, size=(_DRAWS, len(n)))
        # Two classes: the predicted class is class 1 in the bins above one half.
        sums = np.stack([np.where(p >= 0.5, 1.0, -1.0), np.ones(len(n))]) if binary else None
        tails = _tail_of_bins(drawn, n, clipped, sums)
        tail = float(np.quantile(tails, ERROR_RATE, method="lower"))
        self.low, self.high = _band(n, clipped, tail)
        self.leaves_band = bool(_tail_of_bins(counts[None], n, clipped, sums)[0] < tail)


def _tail_of_bins(
    counts: Int[np.ndarray, "S B"],
    rows: Int[np.ndarray, "B"],
    p: Float[np.ndarray, "B"],
    sums: Float[np.ndarray, "2 B"] | None,
) -> Float[np.ndarray, "S"]:
    """The smallest tail probability over all bins and their signed sums."""
    smallest = _smallest_tail(counts, rows, p)
    variance = float(np.sum(rows * p * (1 - p)))
    if variance == 0:
        return smallest
    for signs in np.ones((1, len(p))) if sums is None else sums:
        z = (counts - rows * p) @ signs / np.sqrt(variance)
        smallest = np.minimum(smallest, 2 * ndtr(-np.abs(z)))
    return smallest


def _smallest_tail(
    counts: Int[np.ndarray, "S K"], rows: int | Int[np.ndarray, "K"], p: Float[np.ndarray, "K"]
) -> Float[np.ndarray, "S"]:
    """The smallest 2 min(P(count ≤ seen), P(count ≥ seen)) of binomial counts."""
    rows = np.broadcast_to(rows, p.shape)
    low = bdtr(counts.astype(np.float64), rows, p)
    high = bdtr((rows - counts).astype(np.float64), rows, 1 - p)
    return np.minimum(1.0, 2 * np.minimum(low, high)).min(axis=1)


def _band(
    rows: int | Int[np.ndarray, "K"], p: Float[np.ndarray, "K"], tail: float
) -> tuple[Float[np.ndarray, "K"], Float[np.ndarray, "K"]]:
    low = np.maximum(binom.ppf(tail / 2, rows, p), 0.0)
    high = rows - np.maximum(binom.ppf(tail / 2, rows, 1 - p), 0.0)
    return low / rows, high / rows


def outside(
    share: Float[np.ndarray, "K"], low: Float[np.ndarray, "K"], high: Float[np.ndarray, "K"]
) -> Bool[np.ndarray, "K"]:
    """Mask of the shares outside their band.

    Args:
        share: observed shares.
        low: lower ends of the bands.
        high: upper ends.
    """
    return (share < low - 1e-12) | (share > high + 1e-12)
