"""``python -m experiments combinations``: try all combinations of parts."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli.console import Terminal
from experiments.commands import options as o

STORE = Path("experiments/combinations/outcomes.jsonl")


def combinations(
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", rich_help_panel="Output", show_default=False,
            help="Write the page to this file, such as docs/combinations.md.",
        ),
    ] = None,
    store: Annotated[
        Path, typer.Option("--store", metavar="FILE", help="The file of outcomes.")
    ] = STORE,
    seconds: Annotated[
        float | None,
        typer.Option(
            metavar="S", show_default=False,
            help="Start no combination after this time; the same command continues later.",
        ),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Try all combinations of losses, likelihoods, models and divergences.

    Only combinations that are missing in the store are run, so the command may be interrupted. To
    run a combination again, remove its line from the store. From an empty store it takes about a
    quarter of an hour.

    **Example:** `python -m experiments combinations --page docs/combinations.md`
    """
    from directgp.atomic_write import write_text
    from directgp.cli.files import check_output
    from experiments.combinations.outcome import Outcome
    from experiments.combinations.page import page_of
    from experiments.combinations.store import fill, missing

    terminal = Terminal(as_json=json, quiet=quiet)
    terminal.filter_warnings()
    check_output(store)
    if page is not None:
        check_output(page, not_these=(store,))

    def say(found: Outcome, left: int) -> None:
        if left % 10 == 0:
            terminal.info(f"{left} left, last {', '.join(found.combination)}")

    found = fill(store, say, seconds)
    if page is not None:
        write_text(page, page_of(found))
    counts = {
        "trained": sum(bool(each.finite) and all(each.finite) for each in found),
        "refused": sum(bool(each.refusal) for each in found),
        "not finite": sum(bool(each.finite) and not all(each.finite) for each in found),
        "not run": len(missing(found)),
    }
    told = ", ".join(f"{number} {name}" for name, number in counts.items())
    terminal.result({"counts": counts, "store": str(store)}, f"{told}; kept in {store}")
