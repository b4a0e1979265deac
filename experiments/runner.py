"""Runs the jobs that the store lacks and stores each result at once."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from experiments.job import Job
from experiments.scheduler import Scheduler
from experiments.spec import Cell, Spec
from experiments.store import Run, Store


@dataclass(frozen=True)
class Planned:
    """A job that is to be done, for the figure that asked first."""

    spec: Spec
    cell: Cell

    @property
    def job(self) -> Job:
        """The job itself."""
        return self.cell.job

    def words(self) -> str:
        """For progress: the figure and the labels.

        >>> spec = Spec("dlm/x", "", "", "", {"kind": "fit"})
        >>> Planned(spec, Cell(Job({}), {"size": 9}, 1)).words()
        'dlm/x size=9'
        """
        named = {"data", "method"}
        labels = self.cell.labels.items()
        texts = [str(value) if name in named else f"{name}={value}" for name, value in labels]
        return " ".join([self.spec.name, *texts])

    def run(self, found: dict[str, Any]) -> Run:
        """What is stored of a finished job."""
        return Run(
            record=self.job.record,
            paper=self.spec.paper,
            figure=self.spec.name,
            method=str(self.cell.labels.get("method", "")),
            data=str(self.cell.labels.get("data", "")),
            finished=datetime.now(UTC).isoformat(timespec="seconds"),
            **found,
        )


@dataclass
class Summary:
    """What a run of the runner did."""

    planned: int = 0
    stored: int = 0
    """Were there already."""
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """Words of the job and the message."""


Only = Mapping[str, Collection[str]]
"""Which values of a label (data, method, seed, what varies) are wanted; others are all wanted."""


def plan(specs: Iterable[Spec], tier: str, only: Only = MappingProxyType({})) -> dict[str, Planned]:
    """Every job of these specs once, in the order of the figures.

    A job that lacks a label of `only` is not wanted.
    """
    jobs: dict[str, Planned] = {}
    for spec in specs:
        for cell in spec.cells(tier):
            if all(str(cell.labels.get(name)) in values for name, values in only.items()):
                jobs.setdefault(cell.job.key, Planned(spec, cell))
    return jobs


def missing(jobs: dict[str, Planned], store: Store) -> dict[str, Planned]:
    """Those that have no result yet."""
    stored = store.keys()
    return {key: planned for key, planned in jobs.items() if key not in stored}


def run(
    specs: Sequence[Spec],
    tier: str,
    store: Store,
    scheduler: Scheduler,
    data: Path,
    report: Callable[[Planned, dict[str, Any]], None] = lambda _planned, _found: None,
    only: Only = MappingProxyType({}),
) -> Summary:
    """Do what is missing. Interrupting loses only what was not finished."""
    jobs = plan(specs, tier, only)
    left = missing(jobs, store)
    summary = Summary(len(jobs), len(jobs) - len(left))
    for key, found in scheduler.run({k: p.job.record for k, p in left.items()}, str(data)):
        planned = left[key]
        if "failed" in found:
            store.fail(planned.job, planned.spec.name, found["failed"])
            summary.failed[planned.words()] = found["failed"]
        else:
            store.add(planned.run(found))
            summary.done += 1
        report(planned, found)
    return summary
