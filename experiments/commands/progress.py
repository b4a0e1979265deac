"""Progress display of runs: a bar in a terminal, otherwise one line per run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from directgp.cli.console import Terminal, is_terminal
from directgp.cli.errors import Interrupted
from experiments.estimate import Estimator, readable_duration
from experiments.runner import Only, Planned, Summary, run
from experiments.scheduler import Scheduler
from experiments.spec import Spec
from experiments.store import Store


def run_with_progress(
    specs: Sequence[Spec],
    tier: str,
    store: Store,
    scheduler: Scheduler,
    data: Path,
    terminal: Terminal,
    left: Mapping[str, Planned],
    only: Only,
) -> Summary:
    """Run what is missing and report each run as it ends.

    Args:
        specs: the figures.
        tier: "quick" or "full".
        store: stores each result when it arrives.
        scheduler: where the jobs run.
        data: the folder of datasets.
        terminal: for messages.
        left: the missing runs, for the estimate of time.
        only: the labels to run.

    Returns:
        How many runs were done, were stored before, or failed.

    Raises:
        Interrupted: after Ctrl-C.
    """
    count, done = len(left), 0
    if left:
        seconds = sum(map(Estimator(store.runs()), left.values()))
        terminal.info(
            f"{count} runs to do, about {readable_duration(seconds)} of one core; {store.path}"
        )
    with _bar(count, terminal) as advance:

        def report(planned: Planned, found: dict[str, Any]) -> None:
            nonlocal done
            done += 1
            took = found.get("failed") or f"{found['seconds']:.1f} s"
            advance(f"{done}/{count} {planned.describe()}: {took}")

        try:
            return run(specs, tier, store, scheduler, data, report, only)
        except KeyboardInterrupt:
            raise Interrupted(
                f"{done} of {count} runs are stored in {store.path}; run the same command to "
                "continue."
            ) from None


@contextmanager
def _bar(count: int, terminal: Terminal) -> Iterator[Callable[[str], None]]:
    """A function that reports a finished run: as a bar in a terminal, otherwise as a line."""
    if not is_terminal() or terminal.quiet or not count:
        yield terminal.info
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
