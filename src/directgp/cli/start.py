"""Set-up shared by all commands that compute."""

from pathlib import Path

from directgp.cli.console import Terminal
from directgp.cli.errors import UserError
from directgp.linalg.compile_cache import keep_compiled_programs


def begin(
    as_json: bool, quiet: bool, *, model: Path | None = None, data: Path | None = None
) -> Terminal:
    """Check input files, turn on the compile cache, and make the console output.

    Args:
        as_json: print the result as JSON.
        quiet: print errors only.
        model: the model file, which must exist.
        data: the table, which must exist.
    """
    check_given(model=model, data=data)
    terminal = Terminal(as_json=as_json, quiet=quiet)
    keep_compiled_programs()
    terminal.filter_warnings()
    return terminal


def check_given(*, model: Path | None = None, data: Path | None = None) -> None:
    """Raise an error for input files that do not exist."""
    if model is not None and not model.exists():
        raise UserError(f"there is no file {model}; give a model written by directgp fit")
    if data is not None and not data.exists():
        raise UserError(f"there is no file {data}; check the path")
