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
        help="Papers (dlm) or figures (dlm/fig1a). Default: all.",
    ),
]  # fmt: skip
StoreFile = Annotated[
    Path, typer.Option("--store", metavar="FILE", help="The SQLite file of results.")
]
SpecsFolder = Annotated[
    Path | None,
    typer.Option(
        "--specs", metavar="DIR", show_default=False,
        help="A folder with specs PAPER/NAME.toml instead of the papers'.",
    ),
]  # fmt: skip
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", metavar="N", rich_help_panel="How to run", show_default=False,
        help="Number of single-threaded processes. Default: the number of cores.",
    ),
]  # fmt: skip


def check_workers(workers: int | None) -> None:
    """Raise an error for fewer than one process."""
    if workers is not None and workers < 1:
        raise UserError(f"--workers must be at least 1, got {workers}")


def check_page_folder(folder: Path | None) -> None:
    """Raise an error if the folder for the pages does not exist."""
    if folder is not None and not folder.is_dir():
        raise UserError(f"there is no folder {folder} for the page; make it first")


def check_store_exists(store: Path) -> None:
    """Raise an error for a store that does not exist, as opening it would create an empty one."""
    if not store.exists():
        raise UserError(
            f"there is no store {store}; fill one with python -m experiments run, or with "
            "python -m experiments results --import FILE"
        )
