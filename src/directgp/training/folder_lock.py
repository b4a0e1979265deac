"""A lock for a folder of checkpoints, for one process and thread at a time.

The operating system holds the lock and releases it when the process ends, also if it is killed.
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
"""Files in a locked folder: the lock, and a description of its owner."""
_ATTEMPTS = 5

_held: dict[str, tuple[int, int, int]] = {}
"""By folder: the process, the thread and how many times that thread has entered."""
_changing = threading.Lock()


class FolderInUse(DirectGPError):
    """Another process or thread is training into the folder."""


@contextmanager
def holding(folder: str | os.PathLike[str] | None) -> Iterator[None]:
    """Context that locks a folder for this thread; None for no folder.

    The folder is created if necessary, and removed at the end if it is empty. The same thread may
    enter it again. If another process has locked it, `FolderInUse` names that process.
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
    """Decorator of a fit that locks the `checkpoint` folder of its `training` while it runs.

    Args:
        writes: from the rows X, whether this process writes checkpoints; only one of a team does.
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
    """Whether a file in a folder belongs to the lock."""
    return path.name in (LOCK, OWNER)


def _entered_again(path: str) -> bool:
    """Whether this thread has the lock already; raises an error if another thread has it."""
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
    """Acquire the lock of a folder for this process."""
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
            except FileNotFoundError:  # its previous owner has just removed the folder
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
    """Write which process has the lock, for the error messages of others."""
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
