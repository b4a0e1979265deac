"""The work behind ``directgp reproduce``: listing, running with progress, the last words."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from directgp.cli.cache import for_workers, keep_compiled_programs
from directgp.cli.console import Voice, is_terminal, table
from directgp.cli.errors import Interrupted, UserError
from directgp.reproduce.estimate import Estimator, in_words
from directgp.reproduce.runner import Only, Planned, Summary, missing, plan, run
from directgp.reproduce.scheduler import choose_scheduler
from directgp.reproduce.spec import TIERS, Spec
from directgp.reproduce.store import Store


def listed(specs: Sequence[Spec], path: Path, workers: int | None) -> tuple[dict[str, Any], Any]:
    """What each figure shows, how many runs it has and lacks, and how long those take."""
    processes = workers or os.cpu_count() or 1
    store = Store(path) if path.exists() else None
    stored = set() if store is None else store.keys()
    estimator = Estimator([] if store is None else store.runs())
    facts, lines = {}, []
    for spec in specs:
        facts[spec.name] = {"title": spec.title, "shows": spec.figure, "claim": spec.claim}
        cells = []
        for tier in TIERS:
            jobs = plan([spec], tier)
            left = {key: planned for key, planned in jobs.items() if key not in stored}
            seconds = sum(estimator(planned) for planned in left.values()) / processes
            facts[spec.name][tier] = {"runs": len(jobs), "missing": len(left), "seconds": seconds}
            took = in_words(seconds) if left else "done"
            cells.append(f"{len(jobs) - len(left)}/{len(jobs)} runs, {took}")
        lines.append([spec.name, spec.title, *cells])
    title = f"Time is for what is missing, with {processes} processes"
    drawn = table(title, ["name", "shows", *TIERS], lines, wordy=(1,))
    if store is not None:
        store.close()
    return {"figures": facts, "processes": processes}, drawn


def reproduced(
    specs: Sequence[Spec],
    tier: str,
    voice: Voice,
    path: Path,
    data: Path | None,
    workers: int | None,
    address: str | None,
    page: Path | None,
    only: Only,
) -> None:
    """Run what is missing, then say how each figure stands."""
    from directgp.reproduce.datasets import data_folder, missing_files

    folder = data_folder(data)
    wanted = plan(specs, tier, only)
    if not wanted:
        raise UserError(_nothing_wanted(specs, tier, only))
    left = _left(wanted, path)
    absent = missing_files((p.job.record for p in left.values()), folder)
    if absent and address is None:
        raise UserError(
            f"{folder} lacks {', '.join(absent[:4])}{' …' * (len(absent) > 4)}; give --data "
            "DIR or set DIRECTGP_DATA to a folder with one Parquet file a dataset"
        )
    with Store(path) as store:
        many = min(len(left), workers) if workers else None
        chosen, hint = choose_scheduler(
            1 if len(left) <= 1 else many, address, _compile_cache(len(left))
        )
        if hint and left:
            voice.warn(hint)
        seconds = sum(Estimator(store.runs())(planned) for planned in left.values())
        if left:
            voice.say(f"{len(left)} runs to do, about {in_words(seconds)} of one core; {path}")
        summary = _watched(specs, tier, store, chosen, folder, voice, len(left), only)
        _said(specs, store, summary, voice, page)
    if summary.failed:
        words, message = next(iter(summary.failed.items()))
        voice.warn(f"{len(summary.failed)} runs failed, the first {words}: {message}")
        raise typer.Exit(1)


def parse_only(texts: Sequence[str]) -> dict[str, set[str]]:
    """What `--only` says: values by label; a label given twice allows both.

    >>> parse_only(["size=691,2500", "data=pol"]) == {"size": {"691", "2500"}, "data": {"pol"}}
    True
    """
    only: dict[str, set[str]] = {}
    for text in texts:
        label, equals, values = text.partition("=")
        if not (label and equals and values):
            raise UserError(f"--only must read LABEL=VALUE,…, got {text!r}; say --only data=pol")
        only.setdefault(label, set()).update(values.split(","))
    return only


def _left(wanted: dict[str, Planned], path: Path) -> dict[str, Planned]:
    """What a store lacks; one that is not there yet is not made for the answer."""
    if not path.exists():
        return wanted
    with Store(path) as store:
        return missing(wanted, store)


def _nothing_wanted(specs: Sequence[Spec], tier: str, only: Only) -> str:
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


def _compile_cache(jobs: int) -> dict[str, str]:
    """For worker processes: the folder of compiled programs."""
    folder = keep_compiled_programs() if jobs else None
    return {} if folder is None else for_workers(folder)


def _watched(
    specs, tier, store, scheduler, folder, voice: Voice, count: int, only: Only
) -> Summary:
    done = 0
    with _bar(count, voice) as advance:

        def report(planned: Planned, found: dict[str, Any]) -> None:
            nonlocal done
            done += 1
            took = found.get("failed") or f"{found['seconds']:.1f} s"
            advance(f"{done}/{count} {planned.words()}: {took}")

        try:
            return run(specs, tier, store, scheduler, folder, report, only)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{done} of {count} runs are kept in {store.path}; run the same command to go on."
            ) from None


@contextmanager
def _bar(count: int, voice: Voice) -> Iterator[Any]:
    """A bar in a terminal, a line for each run elsewhere, nothing when quiet."""
    if not is_terminal() or voice.quiet or not count:
        yield voice.say
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(bar_width=24), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn(),
        TextColumn("{task.description}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=count)
        yield lambda text: progress.update(task, advance=1, description=text.split(" ", 1)[1])


def _said(
    specs: Sequence[Spec], store: Store, summary: Summary, voice: Voice, page: Path | None
) -> None:
    from directgp.reproduce.results import evidence
    from directgp.reproduce.verdicts import judge

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
        runs = f"{found.found}/{found.planned}"
        lines.append([spec.name, verdict.outcome, runs, spec.title])
    drawn = table("", ["name", "verdict", "runs", "shows"], lines, wordy=(1, 3))
    words: list[Any] = [drawn, f"{summary.done} runs done, {summary.stored} were there already."]
    counts = {"done": summary.done, "stored": summary.stored, "failed": len(summary.failed)}
    if page is not None:
        from directgp.reproduce.gallery import write_gallery
        from directgp.reproduce.page import write_page
        from directgp.reproduce.story import tell

        stories = tell(specs, store)
        written = [write_page(stories, page), write_gallery(stories, page)]
        words.append("Written: " + ", ".join(str(one) for one in written))
    voice.result({"figures": facts, "runs": counts, "store": store.path}, *words)
