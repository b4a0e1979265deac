"""Output files: checked before training, and written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from directgp.atomic_write import AtomicWrite, encoded
from directgp.cli.errors import UserError


def check_output(path: Path, *, not_these: tuple[Path, ...] = ()) -> Path:
    """Raise an error if an output cannot be written or would replace an input.

    Args:
        path: the output.
        not_these: inputs of the command, which must not be replaced.
    """
    if path.is_dir():
        raise UserError(f"{path} is a folder; give a file name")
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UserError(f"{path} may not be written; check its permissions")
    if any(_same_file(path, other) for other in not_these):
        raise UserError(f"{path} is an input; give another name for the output")
    return path


def check_report(
    path: Path | None, *, not_these: tuple[Path, ...] = (), output: Path | None = None
) -> Path | None:
    """Check the path of a report as `check_output` does; it must end in .html.

    Args:
        path: the report; None is returned unchanged.
        not_these: inputs of the command, which must not be replaced.
        output: the other output of the command, which must have another path.
    """
    if path is None:
        return None
    if path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"a report is a web page, got {path}; give a name that ends in .html")
    if output is not None and _same_file(path, output):
        raise UserError(f"{path} cannot be both the report and the output; give two names")
    return check_output(path, not_these=not_these)


def _same_file(one: Path, other: Path) -> bool:
    """Whether two paths denote the same file, which need not exist yet."""
    if one.resolve() == other.resolve():
        return True
    return one.exists() and other.exists() and one.samefile(other)


@contextmanager
def moved_in_after(path: Path | None, text: str) -> Iterator[None]:
    """Write `text` to a temporary file, and move it to `path` if the block succeeds.

    The block writes another output, so that both are written or neither.

    Args:
        path: the file; None for none.
        text: its content.
    """
    if path is None:
        yield
        return
    with AtomicWrite(path) as file:
        file.write(encoded(text))
        file.flush()  # a full disk raises an error here, before the block writes anything
        yield
