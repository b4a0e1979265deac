"""Execute one job in a worker process."""

import importlib
import itertools
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from experiments.job import Record
from experiments.provenance import commit, versions


class Outcome(NamedTuple):
    """The result of a job.

    `scores` are numbers by name. `curve` has lists of equal length (the training history). `rows`
    has labels and scores of several settings, for jobs that cover several at once.
    """

    scores: dict[str, Any]
    curve: dict[str, list] = {}  # noqa: RUF012
    rows: list[dict[str, Any]] = []  # noqa: RUF012


def kind_of(name: str) -> Callable[[Record, Path], Outcome]:
    """A registered kind of job, or a function given as "module:function"."""
    if ":" in name:
        module, function = name.split(":", 1)
        return getattr(importlib.import_module(module), function)
    from experiments.kinds import kinds

    return kinds.lookup(name)


_jobs = itertools.count(1)
_MANY = 40


def _forget_programs() -> None:
    """Clear JAX's compiled programs every `_MANY` jobs, to bound the memory of a worker."""
    if next(_jobs) % _MANY == 0:
        import jax

        jax.clear_caches()


def execute(record: Record, data: str) -> dict[str, Any]:
    """Run a job.

    Args:
        record: the job.
        data: the folder of datasets.

    Returns:
        Fields of a `Run`, or {"failed": message} if the job raises an error.
    """
    began = time.monotonic()
    try:
        kind = kind_of(record["kind"])
        began = time.monotonic()  # the first job of a process imports JAX
        outcome = kind(record, Path(data))
        _forget_programs()
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(where.filename).name}:{where.lineno}"
        message = " ".join(f"{type(error).__name__}: {error}".split())
        return {"failed": f"{message[:400]} ({place})"}
    return outcome._asdict() | {
        "seconds": time.monotonic() - began,
        "versions": versions(),
        "git": commit(),
    }
