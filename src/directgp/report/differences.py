"""The figure of paired differences from the best model, with their uncertainty."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directgp.report.chart import Chart, limits
from directgp.report.numbers import with_error


class Paired(NamedTuple):
    """Mean and standard error of a difference from the best, over the same rows."""

    name: str
    mean: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether the difference is larger than two standard errors."""
        return abs(self.mean) > 2 * self.error


def differences(found: Sequence[Paired], x_label: str, word: str, caption: str) -> str:
    """A bar of ± two standard errors for each difference, and a dashed line at 0.

    Args:
        found: at least one difference.
        x_label: what is measured.
        word: follows each number in the text alternative: "above" or "more".
        caption: below the figure.
    """
    means = np.array([each.mean for each in found])
    errors = np.nan_to_num([each.error for each in found])
    places = np.arange(len(means), 0, -1.0)
    low, high = limits([0.0], means - 2.2 * errors, means + 2.2 * errors, margin=0.08)
    top = len(means) + 0.9
    chart = Chart(
        (low, high),
        (0.4, top),
        x_label=x_label,
        y_label="",
        height=90 + 62 * len(means),
        named_y=False,
    )
    chart.line((0, 0), (0.4, top), "guide")
    chart.sideways(places, means - 2 * errors, means + 2 * errors, "error")
    chart.dots(means, places, "one", radius=5)
    for each, place in zip(found, places, strict=True):
        chart.note(low + 0.02 * (high - low), place + 0.26, each.name)
    text = "; ".join(f"{each.name}: {with_error(each.mean, each.error)} {word}" for each in found)
    caption = f"Difference ± two standard errors, row by row. {caption}"
    return chart.figure("Paired differences", f"{text}.", caption)
