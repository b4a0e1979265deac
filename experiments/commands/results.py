"""``python -m experiments results``: list, filter, export and import stored runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from directgp.cli.console import Terminal, table
from directgp.cli.errors import UserError
from directgp.cli.files import check_output
from experiments.commands import options as o
from experiments.spec import TIERS, load_specs
from experiments.store import Run, Store
from experiments.transfer import export as export_runs
from experiments.transfer import load

_SHOWN = 40


def results(
    paper: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="Runs of this paper.")
    ] = None,
    figure: Annotated[
        str | None,
        typer.Option(metavar="NAME", show_default=False, help="Runs of this figure: dlm/fig1a."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="Only this method.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME", show_default=False, help="Only this dataset.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", show_default=False, help="Only this seed.")
    ] = None,
    store: o.StoreFile = o.STORE,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel="Output", show_default=False,
            help="Write the listed runs as .csv, or as .parquet or .jsonl to import again.",
        ),
    ] = None,
    import_: Annotated[
        list[Path] | None,
        typer.Option(
            "--import", metavar="FILE", show_default=False,
            help="First import a .parquet or .jsonl export; may be given several times.",
        ),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """List stored runs, and copy them between stores.

    **Example:** `python -m experiments results --paper dlm --dataset pol --export pol.csv`
    """
    terminal = Terminal(as_json=json, quiet=quiet)
    if not import_:
        o.check_store_exists(store)
    if export is not None:
        check_output(export, not_these=(store, *(import_ or [])))
    brought = [run for path in import_ or [] for run in load(path)]  # before a store is created
    with Store(store) as kept:
        new = kept.add_all(brought)
        if import_:
            terminal.info(f"{new} new runs from {', '.join(str(path) for path in import_)}")
        chosen = {"paper": paper, "method": method, "data": dataset, "seed": seed}
        serves = _serving(figure)
        found = [run for run in kept.runs(**chosen) if serves(run)]
        if export is not None:
            terminal.info(f"{export_runs(export, found)} runs written to {export}")
        if not found and len(kept):
            raise UserError(f"none of the {len(kept)} runs in {store} matches; filter less")
        lines = [
            [run.figure, run.data, run.method, str(run.seed), _scores(run.scores), run.git[:8]]
            for run in found[:_SHOWN]
        ]
        heads = ["figure", "data", "method", "seed", "scores", "commit"]
        drawn = table(f"{len(found)} of {len(kept)} runs", heads, lines, wordy=(1, 2, 4))
        more = f"… and {len(found) - _SHOWN} more; --export writes all"
        facts = [
            {"figure": run.figure, "data": run.data, "method": run.method, "seed": run.seed}
            | {"scores": run.scores, "seconds": run.seconds, "commit": run.git}
            for run in found
        ]
        terminal.result({"runs": facts, "new": new}, drawn, *[more][: len(found) > _SHOWN])


def _serving(figure: str | None) -> Callable[[Run], bool]:
    """Whether a run belongs to a figure; figures share runs, and the store names only the first."""
    if figure is None:
        return lambda _run: True
    specs = [s for s in load_specs().values() if figure in (s.name, *s.also)]
    keys = {cell.job.key for spec in specs for tier in TIERS for cell in spec.cells(tier)}
    return lambda run: run.figure == figure or run.key in keys


def _scores(scores: dict) -> str:
    flat = {name: value for name, value in scores.items() if isinstance(value, float)}
    return ", ".join(f"{name} {value:.4g}" for name, value in list(flat.items())[:3])
