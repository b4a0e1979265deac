"""Options shared by the commands: names of figures, the store, a folder of specs."""

from pathlib import Path
from typing import Annotated

import typer

from directgp.cli.errors import UserError
from directgp.cli.options import Json as Json
from directgp.cli.options import Quiet as Quiet

STORE = Path("reproduction.sqlite")

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAMES", show_default=False,
        help="Papers (dlm) or figures (dlm/fig1a). Default: everything.",
    ),
]  # fmt: skip
StoreFile = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="Where results are kept: one SQLite file.")
]
SpecsFolder = Annotated[
    Path | None,
    typer.Option(
        "--specs", metavar="DIR", show_default=False,
        help="A folder PAPER/NAME.toml of your own instead of the papers'.",
    ),
]  # fmt: skip
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", rich_help_panel="How to run", show_default=False,
        help="Processes of one thread each. Default: one for each core.",
    ),
]  # fmt: skip


def check_workers(workers: int | None) -> None:
    """Refuse fewer than one process."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers must be at least 1, got {workers}")


def check_page_folder(folder: Path | None) -> None:
    """Refuse a folder for the pages that does not exist, before anything is run."""
    if folder is not None and not folder.is_dir():
        raise UserError(f"there is no folder {folder} for the page; make it first")


def check_store_exists(store: Path) -> None:
    """Refuse to read a store that does not exist: opening it would make an empty one."""
    if not store.exists():
        raise UserError(
            f"there is no store {store}; fill one with python -m experiments run, or with "
            "python -m experiments results --import FILE"
        )
