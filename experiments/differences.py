"""Paired differences between two methods over seeds, and their significance.

Methods share their splits, so they are compared seed by seed. A difference is *clear* if zero lies
outside its 95 % interval (Student's t over the seeds), or, with the test "wilcoxon", if Wilcoxon's
signed-rank test over the seeds says so at the 1 % level (`lossem` Table 4; that takes 8 seeds).
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student_t
from scipy.stats import wilcoxon

from directgp.registry import Registry
from experiments.figure_rows import Row, by_seed, mean_and_error


class Clearness(NamedTuple):
    """A test for clear differences, and the minimum number of seeds for it to find one."""

    test: Callable[[Sequence[float], float, float], bool]
    least_seeds: int

    def __call__(self, gaps: Sequence[float], mean: float, half_width: float) -> bool:
        """Of these differences, with their mean and the half-width of its 95 % interval."""
        return self.test(gaps, mean, half_width)


tests = Registry("test")


def _outside_interval(_gaps: Sequence[float], mean: float, half_width: float) -> bool:
    """Zero is outside the 95 % interval."""
    return abs(mean) > half_width


def _signed_rank(gaps: Sequence[float], _mean: float, _half_width: float) -> bool:
    """Wilcoxon's signed-rank test, two-sided, p < 0.01."""
    known = np.all(np.isfinite(gaps)) and np.any(np.asarray(gaps) != 0)
    if not known:
        return False
    found: Any = wilcoxon(gaps)  # the annotation of its result lacks fields
    return bool(found.pvalue < 0.01)


tests.register("t")(Clearness(_outside_interval, 3))
tests.register("wilcoxon")(Clearness(_signed_rank, 8))


class Difference(NamedTuple):
    """Mean of the paired differences over seeds, the half-width of its 95 % interval."""

    mean: float
    half_width: float
    seeds: int
    clear: bool
    enough: bool = True
    """Whether the test could have found a difference with so many seeds."""

    @property
    def sign(self) -> int:
        """−1 clearly lower, 1 clearly higher, 0 within the error bars."""
        return int(np.sign(self.mean)) if self.clear else 0

    @property
    def comparable(self) -> bool:
        """Within the error bars, of seeds enough to leave them."""
        return self.enough and not self.clear and math.isfinite(self.mean)


def difference(
    rows: Sequence[Row],
    others: Sequence[Row],
    score: str,
    single: bool = False,
    test: str = "t",
) -> Difference | None:
    """The difference of a score between two groups of rows, over their common seeds.

    Args:
        rows: one group.
        others: the group that is subtracted.
        score: the score.
        single: whether a difference of one seed, which has no interval, counts as clear.
        test: a name of `tests`.

    Returns:
        The difference; None without common seeds.
    """
    ours, theirs = by_seed(rows, score), by_seed(others, score)
    gaps = [ours[seed] - theirs[seed] for seed in ours if seed in theirs]
    if not gaps:
        return None
    mean, error = mean_and_error(gaps)
    if len(gaps) == 1:
        clear = single and math.isfinite(mean) and mean != 0
        return Difference(mean, float("inf"), 1, clear, enough=False)
    half_width = float(student_t.ppf(0.975, len(gaps) - 1)) * error
    clear: Any = tests.lookup(test)
    enough = len(gaps) >= clear.least_seeds
    return Difference(mean, half_width, len(gaps), clear(gaps, mean, half_width), enough)
