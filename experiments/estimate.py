"""How long a job will take: from runs like it that are stored, else from its spec."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median

from experiments.job import canonical
from experiments.runner import Planned
from experiments.store import Run

_SIZES = ("size", "num_inducing", "batch", "epochs", "steps")
"""What of a record a run's time depends on most, besides the method and the data."""


class Estimator:
    """Seconds of a planned job: the median of stored runs that differ in the seed alone.

    Where there are none, of those of the same figure, method, dataset and size, then what its spec
    says: a quick run says little of how long a full one takes.
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


def in_words(seconds: float | int) -> str:
    """A length of time as people say it.

    >>> in_words(42), in_words(400), in_words(9000)
    ('42 s', '7 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
