"""Files that are written whole or not at all; everything in directgp that writes a file uses this.

The content goes to a temporary file in the same folder and is flushed to the disk; then the file is
renamed. Whoever reads the path, also after a crash, finds the old content or the new.

>>> import tempfile
>>> folder = Path(tempfile.mkdtemp())
>>> write_text(folder / "note.txt", "new")
>>> [path.name for path in folder.iterdir()]
['note.txt']
"""

import errno
import glob
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

_ENDING = ".partial"


class AtomicWrite:
    """A binary file that replaces `path` when the `with` block ends without an error.

    Without a `with` block, call `commit` or `discard` at the end. Several threads or processes may
    write one path at the same time: each has a temporary file of its own, and the last to end wins.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._partial = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}{_ENDING}")
        try:
            self.file: BinaryIO = open(self._partial, "xb")  # noqa: SIM115
        except OSError as error:
            if error.errno is None:
                raise
            # The caller knows `path`, not the temporary name.
            raise OSError(error.errno, error.strerror, str(self.path)) from None

    def commit(self) -> None:
        """Flush the content to the disk and move the file into place."""
        try:
            self.file.flush()
            os.fsync(self.file.fileno())
            self.file.close()
            os.replace(self._partial, self.path)
        finally:
            self.discard()
        _flush_folder(self.path.parent)

    def discard(self) -> None:
        """Remove the temporary file; `path` stays as it is."""
        with suppress(OSError):  # closing writes what is left in the buffer, on a full disk too
            self.file.close()
        self._partial.unlink(missing_ok=True)

    def __enter__(self) -> BinaryIO:
        return self.file

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.commit()
        else:
            self.discard()


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Replace the content of `path`; the old content survives any failure."""
    with AtomicWrite(path) as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the content of `path` by text in UTF-8; the old content survives any failure."""
    write_bytes(path, encoded(text))


def encoded(text: str) -> bytes:
    """Text as UTF-8; half a surrogate pair, which no encoding can write, becomes a question mark.

    >>> encoded("β " + chr(0xD800))
    b'\\xce\\xb2 ?'
    """
    return text.encode("utf-8", errors="replace")


def move(source: Path, path: Path) -> None:
    """Move a file that is whole to `path`, replacing what is there, also from another disk."""
    try:
        os.replace(source, path)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with AtomicWrite(path) as file, source.open("rb") as whole:
            shutil.copyfileobj(whole, file)
        source.unlink()
    else:
        _flush_folder(path.parent)


def remove_leftovers(path: Path) -> None:
    """Remove what processes that were killed while writing `path` left in its folder.

    Only for a path that nobody else is writing, such as one in a locked folder.
    """
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*{_ENDING}"):
        leftover.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """Make the renaming survive a power cut, where the system can do that for folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
