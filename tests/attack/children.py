"""Forked children: what they do and say, and how they end."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

_LONGEST, _HANGS = 600.0, 10.0


def started(work: Callable[[], int], said: Path, prepare: Callable[[], None] = lambda: None) -> int:
    """The number of a forked child that does `work`, its words in the file `said`."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        descriptor = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115
        # What is started in the background of a shell ignores Ctrl-C, and its children too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        prepare()
        code = work()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}")
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def ended(child: int, longest: float = _LONGEST) -> int | str:
    """The exit code, minus the number of a signal, "stopped", or "never ends" (it is killed)."""
    until = time.monotonic() + longest
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG | os.WUNTRACED)
        if found and os.WIFSTOPPED(status):
            return "stopped"
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "never ends"


class Quiet:
    """Nothing is printed in the block."""

    def __enter__(self) -> None:
        self.kept = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = open(os.devnull, "w")

    def __exit__(self, *_: object) -> None:
        sys.stdout.close()
        sys.stdout, sys.stderr = self.kept


def in_child(work: Callable[[], str]) -> str:
    """What `work` says in a forked child of this process; "no answer" if it never ends."""
    here, there = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(there, work().encode())
        except BaseException as error:
            os.write(there, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(there)
    until = time.monotonic() + _HANGS
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG)[0]:
            break
        time.sleep(0.005)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    with os.fdopen(here, "rb") as answer:
        return answer.read().decode() or "no answer"
