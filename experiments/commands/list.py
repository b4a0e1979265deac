"""``python -m experiments list``: all figures with their runs and running times."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from directgp.cli.console import Terminal, table
from experiments.commands import options as o
from experiments.estimate import Estimator, readable_duration
from experiments.runner import plan
from experiments.spec import TIERS, Spec, load_specs, select
from experiments.store import Store


def list_figures(
    names: o.Names = None,
    store: o.StoreFile = o.STORE,
    workers: o.Workers = None,
    specs: o.SpecsFolder = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """List the tables and figures, their stored runs, and the running time of the others.

    Nothing is run, and no store is created.

    **Example:** `python -m experiments list dlm`
    """
    o.check_workers(workers)
    chosen = select(load_specs(specs), names or [])
    Terminal(as_json=json, quiet=quiet).result(*_listed(chosen, store, workers))


def _listed(specs: Sequence[Spec], path: Path, workers: int | None) -> tuple[dict[str, Any], Any]:
    """The facts of each figure for --json, and a table of them to print."""
    processes = workers or os.cpu_count() or 1
    stored, estimator = set(), Estimator([])
    if path.exists():
        with Store(path) as store:
            stored, estimator = store.keys(), Estimator(store.runs())
    facts, lines = {}, []
    for spec in specs:
        facts[spec.name] = {"title": spec.title, "shows": spec.figure, "claim": spec.claim}
        cells = []
        for tier in TIERS:
            jobs = plan([spec], tier)
            left = {key: planned for key, planned in jobs.items() if key not in stored}
            seconds = sum(estimator(planned) for planned in left.values()) / processes
            facts[spec.name][tier] = {"runs": len(jobs), "missing": len(left), "seconds": seconds}
            took = readable_duration(seconds) if left else "done"
            cells.append(f"{len(jobs) - len(left)}/{len(jobs)} runs, {took}")
        lines.append([spec.name, spec.title, *cells])
    title = f"Times are for missing runs, with {processes} processes"
    drawn = table(title, ["name", "shows", *TIERS], lines, wordy=(1,))
    return {"figures": facts, "processes": processes}, drawn
