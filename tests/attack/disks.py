"""Disks of their own for attacks: small ones that really fill up, and ones that are read-only.

They live in memory (tmpfs) and in a mount namespace of this process alone, so they end with it.
Making them takes the rights to mount; without those, `can_mount` says so.
"""

import ctypes
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_NEW_NAMESPACE = 0x00020000
_PAGE = 4096
_ROOMY = 64 << 20


@cache
def can_mount() -> bool:
    """Whether this process may have disks of its own; from now on it sees its own mounts."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(_NEW_NAMESPACE):
            return False
        return _mount("--make-rprivate", "/")
    except OSError:
        return False


def _mount(*words: str) -> bool:
    return subprocess.run(["mount", *words], capture_output=True, check=False).returncode == 0


class Disk:
    """A disk in `folder`."""

    def __init__(self, folder: Path):
        self.folder = folder

    def fill(self, pages: int) -> None:
        """No room but for so many more pages of 4 KiB."""
        used = sum(-(-path.stat().st_size // _PAGE) for path in self.folder.rglob("*"))
        self._again(f"size={(used + pages) * _PAGE}")

    def lock(self) -> None:
        """Read-only from now on."""
        self._again("ro")

    def free(self) -> None:
        """Room enough, and writable."""
        self._again(f"rw,size={_ROOMY}")

    def _again(self, options: str) -> None:
        if not _mount("-o", f"remount,{options}", str(self.folder)):
            raise OSError(f"the disk in {self.folder} does not become {options}")


@contextmanager
def disk_in(folder: Path) -> Iterator[Disk]:
    """A disk in `folder`, empty, roomy and writable, for the block."""
    if not _mount("-t", "tmpfs", "-o", f"size={_ROOMY}", "tmpfs", str(folder)):
        raise OSError(f"no disk in {folder}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
