"""Output files: checked before any work, written whole or not at all."""

import os
from pathlib import Path

from directgp.cli.errors import UserError


def check_output(path: Path, *, not_these: tuple[Path, ...] = ()) -> Path:
    """Refuse an output that cannot be written or would replace an input, before training starts."""
    if path.is_dir():
        raise UserError(f"{path} is a folder; give a file name")
    folder = path.parent
    if not folder.is_dir():
        raise UserError(f"there is no folder {folder}; make it first")
    if not os.access(folder, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise UserError(f"{path} may not be written; check its permissions")
    for other in not_these:
        if path.exists() and other.exists() and path.samefile(other):
            raise UserError(f"{path} is an input; give another name for the output")
    return path


def check_report(path: Path | None, *, not_these: tuple[Path, ...] = ()) -> Path | None:
    """An output that is to be opened in a browser."""
    if path is not None and path.suffix.lower() not in (".html", ".htm"):
        raise UserError(f"a report is a web page, got {path}; give a name that ends in .html")
    return None if path is None else check_output(path, not_these=not_these)


def write_text(path: Path, text: str) -> None:
    """Write beside `path`, then move into place."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        # Text from a table may hold half a surrogate pair, which no encoding can write.
        with partial.open("w", encoding="utf-8", errors="replace") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
