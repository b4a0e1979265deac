"""Atomic writing of files, used for all files that directgp writes.

The content is written to a temporary file in the same folder and flushed to the disk; then the file
is renamed. At any time, also after a crash, the path has either the old or the new content.

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

    Without a `with` block, call `commit` or `discard` at the end. Threads or processes that write
    the same path have separate temporary files, and the last one determines the content.
    """

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        self._partial = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}{_ENDING}")
        try:
            self.file: BinaryIO = open(self._partial, "xb")  # noqa: SIM115
        except OSError as error:
            if error.errno is None:
                raise
            # Name `path`, not the temporary file.
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
        """Remove the temporary file; `path` is not changed."""
        with suppress(OSError):  # closing flushes the buffer, which fails on a full disk
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
    """Replace the content of a file; on a failure the old content remains.

    Args:
        path: of the file.
        content: to write.
    """
    with AtomicWrite(path) as file:
        file.write(content)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace the content of a file by text in UTF-8; on a failure the old content remains.

    Args:
        path: of the file.
        text: to write.
    """
    write_bytes(path, encoded(text))


def encoded(text: str) -> bytes:
    """Text as UTF-8; a lone surrogate, which cannot be encoded, becomes a question mark.

    >>> encoded("β " + chr(0xD800))
    b'\\xce\\xb2 ?'
    """
    return text.encode("utf-8", errors="replace")


def move(source: Path, path: Path) -> None:
    """Move a complete file to `path`, replacing an existing one; they may be on different disks.

    Args:
        source: the file.
        path: the new place.
    """
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
    """Remove temporary files of processes that were killed while writing `path`.

    Only for a path that no other process is writing, such as one in a locked folder.
    """
    for leftover in path.parent.glob(f".{glob.escape(path.name)}.*{_ENDING}"):
        leftover.unlink(missing_ok=True)


def _flush_folder(folder: Path) -> None:
    """Flush a folder to the disk, if the system supports it, so that a renaming is durable."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
