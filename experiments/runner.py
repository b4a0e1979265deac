"""Runs the jobs that have no stored result, and stores each result as soon as it is there."""

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
    """A job to run, with the first figure that needs it."""

    spec: Spec
    cell: Cell

    @property
    def job(self) -> Job:
        """The job itself."""
        return self.cell.job

    def describe(self) -> str:
        """The figure and the labels, for the progress display.

        >>> spec = Spec("dlm/x", "", "", "", {"kind": "fit"})
        >>> Planned(spec, Cell(Job({}), {"size": 9}, 1)).describe()
        'dlm/x size=9'
        """
        named = {"data", "method"}
        labels = self.cell.labels.items()
        texts = [str(value) if name in named else f"{name}={value}" for name, value in labels]
        return " ".join([self.spec.name, *texts])

    def run(self, found: dict[str, Any]) -> Run:
        """The run to store.

        Args:
            found: what `execute` returned for the job.
        """
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
    """Numbers of jobs of a call of `run`."""

    planned: int = 0
    stored: int = 0
    """Jobs that had a result before."""
    done: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """Error messages by description of the job."""


Only = Mapping[str, Collection[str]]
"""The wanted values of some labels (data, method, seed, what varies); all values of the others."""


def plan(specs: Iterable[Spec], tier: str, only: Only = MappingProxyType({})) -> dict[str, Planned]:
    """Every job of these specs once, by key, in the order of the figures.

    Args:
        specs: the figures.
        tier: "quick" or "full".
        only: wanted values by label; a job without such a label is left out.
    """
    jobs: dict[str, Planned] = {}
    for spec in specs:
        for cell in spec.cells(tier):
            if all(str(cell.labels.get(name)) in values for name, values in only.items()):
                jobs.setdefault(cell.job.key, Planned(spec, cell))
    return jobs


def missing(jobs: dict[str, Planned], store: Store) -> dict[str, Planned]:
    """The jobs without a stored result.

    Args:
        jobs: planned jobs by key.
        store: the store of results.
    """
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
    """Run the missing jobs. An interruption loses only unfinished jobs.

    Args:
        specs: the figures.
        tier: "quick" or "full".
        store: the store of results.
        scheduler: what executes the jobs.
        data: the folder of the datasets.
        report: called with each finished job and its result.
        only: wanted values by label, see `plan`.
    """
    jobs = plan(specs, tier, only)
    left = missing(jobs, store)
    summary = Summary(len(jobs), len(jobs) - len(left))
    for key, found in scheduler.run({k: p.job.record for k, p in left.items()}, str(data)):
        planned = left[key]
        if "failed" in found:
            store.fail(planned.job, planned.spec.name, found["failed"])
            summary.failed[planned.describe()] = found["failed"]
        else:
            store.add(planned.run(found))
            summary.done += 1
        report(planned, found)
    return summary
