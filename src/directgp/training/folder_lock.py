"""One process at a time in a folder of checkpoints.

The lock is held by the operating system and ends with the process, so that what a killed process
leaves behind does not lock the folder.
"""

import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from filelock import FileLock, Timeout

from directgp.errors import DirectGPError

R = TypeVar("R")
P = ParamSpec("P")

LOCK, OWNER = ".lock", ".owner.json"
"""Files in a locked folder: the lock itself, and who holds it."""
_ATTEMPTS = 5

_held: dict[str, tuple[int, int, int]] = {}
"""Folder → process, thread and how often that thread has entered."""
_changing = threading.Lock()


class FolderInUse(DirectGPError):
    """Another process or thread is training into the folder."""


@contextmanager
def holding(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Hold a folder for this thread while the block runs; None is no folder.

    The folder is made if it is not there, and removed at the end if nothing is in it. Entering it
    again within the block is allowed. If another process has it, `FolderInUse` says which.
    """
    if folder is None:
        yield
        return
    path = Path(folder).resolve()
    if _entered_again(str(path)):
        try:
            yield
        finally:
            _leave(str(path))
        return
    lock = _acquired(path)
    try:
        _sign(path)
        yield
    finally:
        with _changing:
            _held.pop(str(path), None)
        for name in (OWNER, LOCK):
            with contextlib.suppress(OSError):
                (path / name).unlink(missing_ok=True)
        lock.release()
        with contextlib.suppress(OSError):
            path.rmdir()


def holds_checkpoint(
    writes: Callable[[Any], bool] = lambda rows: True,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorator of a fit: the `checkpoint` folder of its `training` is held while it runs.

    `writes` says of the rows X whether this process writes checkpoints: in a team one does.
    """

    def decorated(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def inside(*args: P.args, **kwargs: P.kwargs) -> R:
            rows = args[0] if args else kwargs.get("X")
            folder: Any = getattr(kwargs.get("training"), "checkpoint", None)
            with holding(folder if writes(rows) else None):
                return function(*args, **kwargs)

        return inside

    return decorated


def is_part_of_lock(path: Path) -> bool:
    """Whether a file in a folder is there because of its lock alone."""
    return path.name in (LOCK, OWNER)


def _entered_again(path: str) -> bool:
    """Whether this thread holds the folder already; another thread of this process must not."""
    with _changing:
        process, thread, count = _held.get(path, (0, 0, 0))
        if process != os.getpid():  # nobody, or the parent that this process was forked from
            _held[path] = os.getpid(), threading.get_ident(), 1
            return False
        if thread != threading.get_ident():
            raise FolderInUse(
                f"{path} is in use by another thread of this process; wait until it ends, or give "
                "another folder"
            )
        _held[path] = process, thread, count + 1
        return True


def _leave(path: str) -> None:
    with _changing:
        process, thread, count = _held[path]
        _held[path] = process, thread, count - 1


def _acquired(path: Path) -> FileLock:
    """The lock of a folder that this process was the first to enter."""
    lock = FileLock(path / LOCK, timeout=0)
    try:
        for _ in range(_ATTEMPTS):
            try:
                path.mkdir(parents=True, exist_ok=True)
                lock.acquire()
            except (FileExistsError, NotADirectoryError):
                there = next(each for each in (path, *path.parents) if each.exists())
                raise DirectGPError(
                    f"checkpoint must name a folder, got {str(path)!r}, and {str(there)!r} is a "
                    "file; name a folder, which need not be there yet"
                ) from None
            except FileNotFoundError:  # whoever had the folder has just removed it
                continue
            except Timeout:
                raise FolderInUse(
                    f"{path} is in use by {_owner(path)}; wait until it ends, or give another "
                    "folder (--output on the command line)"
                ) from None
            if (path / LOCK).exists():
                return lock
            lock.release()  # of a file that was removed between opening and locking it
        raise FolderInUse(f"{path} is being removed by another process; try again")
    except BaseException:
        with _changing:
            _held.pop(str(path), None)
        raise


def _sign(path: Path) -> None:
    """Write which process holds the folder, for the error message of others."""
    owner = {
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": datetime.now().isoformat(sep=" ", timespec="seconds"),
    }
    (path / OWNER).write_text(json.dumps(owner), "utf-8")


def _owner(path: Path) -> str:
    try:
        owner = json.loads((path / OWNER).read_text("utf-8"))
        told = f"process {int(owner['pid'])} on {owner['host']!s} since {owner['since']!s}"
    except (OSError, ValueError, TypeError, KeyError):
        return "another process"
    return " ".join(told.split())[:200]
