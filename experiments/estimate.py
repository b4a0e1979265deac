"""Estimates of the running time of jobs, from similar stored runs or from their specs."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from experiments.job import canonical
from experiments.runner import Planned
from experiments.store import Run

_SIZES = ("size", "num_inducing", "batch", "epochs", "steps")
"""Fields that the running time depends on, besides the method and the data."""


class Estimator:
    """Estimates the seconds of a planned job: the median of stored runs with other seeds.

    Without such runs it is the median of those of the same figure, method, dataset and size, else
    the estimate in the spec.
    """

    def __init__(self, runs: Iterable[Run]):
        self._known: dict[tuple, list[float]] = defaultdict(list)
        for run in runs:
            for like in _likes(run.record, run.figure, run.method, run.data):
                self._known[like].append(run.seconds)

    def __call__(self, planned: Planned) -> float:
        labels = planned.cell.labels
        likes = _likes(
            planned.job.record,
            planned.spec.name,
            str(labels.get("method", "")),
            str(labels.get("data", "")),
        )
        for like in likes:
            if like in self._known:
                return median(self._known[like])
        return float(planned.cell.estimate)


def _likes(record, figure: str, method: str, data: str) -> list[tuple]:
    seedless = canonical({name: value for name, value in record.items() if name != "seed"})
    size = tuple(str(record.get(name)) for name in _SIZES)
    return [(seedless,), (figure, method, data, size)]


def readable_duration(seconds: float | int) -> str:
    """A duration in readable units.

    >>> readable_duration(42), readable_duration(400), readable_duration(9000)
    ('42 s', '7 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
