"""``python -m experiments run``: run the missing runs of tables and figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from directgp.cli.console import Terminal, table
from directgp.cli.errors import UserError
from directgp.linalg.compile_cache import for_workers, keep_compiled_programs
from experiments.commands import options as o
from experiments.commands.page import write_pages, written_line
from experiments.commands.progress import run_with_progress
from experiments.runner import Only, Planned, Summary, missing, plan
from experiments.scheduler import Scheduler, choose_scheduler
from experiments.spec import TIERS, Spec, load_specs, select
from experiments.store import Store


def run(
    names: o.Names = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes and repetitions (minutes). The default.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="The setting of the paper (hours).")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=VALUE,…", show_default=False,
            help="Run only these, e.g. data=pol or size=691,2500; may be given several times.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel="Output", show_default=False,
            help="Write reproduction.md, its figures and gallery.html to this folder afterwards.",
        ),
    ] = None,
    store: o.StoreFile = o.STORE,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", show_default=False,
            help="The folder of Parquet datasets. Default: $DIRECTGP_DATA, else data.",
        ),
    ] = None,
    workers: o.Workers = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://…", rich_help_panel="How to run", show_default=False,
            help="Run on the workers of this Dask scheduler.",
        ),
    ] = None,
    specs: o.SpecsFolder = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Run the missing runs of tables and figures, and check the claims of the papers.

    Each result is stored when it arrives, so the command may be interrupted and run again.

    **Example:** `python -m experiments run dlm/fig1g --quick --data datasets`
    """
    from experiments.datasets import data_folder

    terminal = Terminal(as_json=json, quiet=quiet)
    terminal.filter_warnings()
    if quick and full:
        raise UserError("--quick and --full exclude each other; give one")
    o.check_workers(workers)
    o.check_page_folder(page)
    chosen, tier = select(load_specs(specs), names or []), "full" if full else "quick"
    wanted = parse_only(only or [])
    planned = plan(chosen, tier, wanted)
    if not planned:
        raise UserError(_nothing_planned(chosen, tier, wanted))
    left = _missing(planned, store)
    folder = data_folder(data)
    if scheduler is None:  # other machines have their own data folder
        _check_data(left, folder)
    with Store(store) as kept:
        machines = _scheduler(workers, scheduler, len(left), terminal)
        summary = run_with_progress(chosen, tier, kept, machines, folder, terminal, left, wanted)
        _report(chosen, kept, summary, terminal, page)
    if summary.failed:
        words, message = next(iter(summary.failed.items()))
        terminal.warn(f"{len(summary.failed)} runs failed, the first {words}: {message}")
        raise typer.Exit(1)


def parse_only(texts: Sequence[str]) -> dict[str, set[str]]:
    """Parse `--only`: values by label; a label given twice allows both.

    >>> parse_only(["size=691,2500", "data=pol"]) == {"size": {"691", "2500"}, "data": {"pol"}}
    True
    """
    only: dict[str, set[str]] = {}
    for text in texts:
        label, equals, values = text.partition("=")
        if not (label and equals and values):
            raise UserError(f"--only must be LABEL=VALUE,…, got {text!r}; e.g. --only data=pol")
        only.setdefault(label, set()).update(values.split(","))
    return only


def _nothing_planned(specs: Sequence[Spec], tier: str, only: Only) -> str:
    """The error if no run is planned, with the available choices."""
    jobs = plan(specs, tier).values()
    if not jobs:
        names = ", ".join(spec.name for spec in specs)
        other = next(name for name in TIERS if name != tier)
        return f"there is no {tier} setting of {names}; use --{other}"
    asked = " ".join(f"{label}={','.join(sorted(values))}" for label, values in only.items())
    seen: dict[str, dict[str, None]] = {}
    for planned in jobs:
        for label, value in planned.cell.labels.items():
            seen.setdefault(label, {})[str(value)] = None
    there = "; ".join(f"{label}={','.join(values)}" for label, values in seen.items())
    return f"no run has {asked}; there are {there}"


def _missing(planned: dict[str, Planned], path: Path) -> dict[str, Planned]:
    """The runs that are missing in a store, which need not exist."""
    if not path.exists():
        return planned
    with Store(path) as store:
        return missing(planned, store)


def _check_data(left: dict[str, Planned], folder: Path) -> None:
    """Raise an error if a dataset is not in the folder."""
    from experiments.datasets import missing_files

    absent = missing_files((planned.job.record for planned in left.values()), folder)
    if absent:
        raise UserError(
            f"{folder} lacks {', '.join(absent[:4])}{' …' * (len(absent) > 4)}; give --data "
            "DIR or set DIRECTGP_DATA to a folder with one Parquet file a dataset"
        )


def _scheduler(
    workers: int | None, address: str | None, jobs: int, terminal: Terminal
) -> Scheduler:
    """Choose where the jobs run; worker processes share the cache of compiled programs."""
    cache = keep_compiled_programs() if jobs else None
    environment = {} if cache is None else for_workers(cache)
    if jobs <= 1:
        workers = 1
    elif workers:
        workers = min(jobs, workers)
    chosen, hint = choose_scheduler(workers, address, environment)
    if hint and jobs:
        terminal.warn(hint)
    return chosen


def _report(
    specs: Sequence[Spec], store: Store, summary: Summary, terminal: Terminal, page: Path | None
) -> None:
    """Print the verdict on each figure, and write the pages if requested."""
    from experiments.figure_rows import evidence
    from experiments.verdicts import judge

    facts, lines = {}, []
    for spec in specs:
        found = evidence(spec, store)
        verdict, claims = judge(found)
        facts[spec.name] = {
            "verdict": verdict.outcome,
            "runs": found.found,
            "planned": found.planned,
            "tier": found.tier,
            "claims": [
                {"says": says, "verdict": own.outcome, "reason": own.reason} for says, own in claims
            ],
        }
        lines.append([spec.name, verdict.outcome, f"{found.found}/{found.planned}", spec.title])
    drawn = table("", ["name", "verdict", "runs", "shows"], lines, wordy=(1, 3))
    words: list[Any] = [drawn, f"{summary.done} runs done, {summary.stored} were there already."]
    if page is not None:
        words.append(written_line(write_pages(specs, store, page)[0]))
    counts = {"done": summary.done, "stored": summary.stored, "failed": len(summary.failed)}
    terminal.result({"figures": facts, "runs": counts, "store": store.path}, *words)
