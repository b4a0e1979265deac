"""Set-up shared by all commands that compute."""

from pathlib import Path

from directgp.cli.console import Voice
from directgp.cli.errors import UserError
from directgp.linalg.compile_cache import keep_compiled_programs


def begin(
    as_json: bool, quiet: bool, *, model: Path | None = None, data: Path | None = None
) -> Voice:
    """Turn on the compile cache, hide warnings of other libraries, and make the console output.

    Inputs that are not there are said at once, before anything large is imported.
    """
    check_given(model=model, data=data)
    voice = Voice(as_json=as_json, quiet=quiet)
    keep_compiled_programs()
    voice.hush_warnings()
    return voice


def check_given(*, model: Path | None = None, data: Path | None = None) -> None:
    """Refuse input files that do not exist."""
    if model is not None and not model.exists():
        raise UserError(f"there is no file {model}; give a model written by directgp fit")
    if data is not None and not data.exists():
        raise UserError(f"there is no file {data}; check the path")
