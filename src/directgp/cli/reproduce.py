"""``directgp reproduce``: the papers' tables and figures, as far as they are not there yet."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli import options as o

STORE = Path("reproduction.sqlite")


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]", show_default=False,
            help="Papers (dlm) or figures (dlm/fig1a). Default: everything.",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer sizes and repetitions: minutes. The default.")
    ] = False,
    full: Annotated[bool, typer.Option("--full", help="As much as the paper did: hours.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABEL=VALUE,…", show_default=False,
            help="Run only these: data=pol, size=691,2500, seed=0. Repeat for more labels.",
        ),
    ] = None,
    list_: Annotated[
        bool, typer.Option("--list", help="Say what each shows and how long it takes; run nothing.")
    ] = False,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel="Output", show_default=False,
            help="Write reproduction.md, its pictures and gallery.html there, from the store.",
        ),
    ] = None,
    store: Annotated[
        Path, typer.Option(metavar="FILE", help="Where results are kept: one SQLite file.")
    ] = STORE,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", show_default=False,
            help="The folder of Parquet datasets. Default: $DIRECTGP_DATA, else data.",
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", rich_help_panel="How to run", show_default=False,
            help="Processes of one thread each. Default: one for each core.",
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="tcp://…", rich_help_panel="How to run", show_default=False,
            help="Run on the workers of this Dask scheduler.",
        ),
    ] = None,
    specs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", rich_help_panel="How to run", show_default=False,
            help="A folder PAPER/NAME.toml of your own instead of the papers'.",
        ),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:  # fmt: skip
    """Reproduce tables and figures of the papers: run what is missing, judge every claim.

    Results are kept the moment they arrive: interrupt whenever you like and run the same command
    again. With `--page` and nothing missing, nothing is computed.

    **Example:** `directgp reproduce dlm/fig1g --quick --data datasets`
    """
    from directgp.cli.console import Voice
    from directgp.cli.errors import UserError
    from directgp.cli.reproducing import listed, parse_only, reproduced
    from directgp.reproduce.spec import load_specs, select

    voice = Voice(as_json=json, quiet=quiet)
    voice.hush_warnings()
    if quick and full:
        raise UserError("--quick and --full exclude each other; give one")
    if workers is not None and workers < 1:
        raise UserError(f"--workers must be at least 1, got {workers}")
    if page is not None and not page.is_dir():
        raise UserError(f"there is no folder {page} for the page; make it first")
    chosen = select(load_specs(specs), names or [])
    tier = "full" if full else "quick"
    if list_:
        voice.result(*listed(chosen, store, workers))
        return
    wanted = parse_only(only or [])
    reproduced(chosen, tier, voice, store, data, workers, scheduler, page, wanted)
