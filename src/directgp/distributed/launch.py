"""Start several processes of one training on this machine, and wait for them."""

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from typing import IO

_PAUSE = 0.1
_GRACE = 10.0
"""Seconds that the other processes have to end after one has failed."""


def launch(commands: Sequence[Sequence[str]]) -> int:
    """Run commands at the same time, each on its share of the cores if the system allows it.

    The output of the first command is shown, and the last line of others that fail.

    Returns:
        0 if all succeed, else the exit code of the first that failed.
    """
    with tempfile.TemporaryFile() as heard:
        running = []
        try:
            for index, command in enumerate(commands):
                quiet = {} if index == 0 else {"stdout": subprocess.DEVNULL, "stderr": heard}
                running.append(subprocess.Popen(command, **quiet))
                _give_cores(running[-1].pid, index, len(commands))
            code = _watched(running)
        except KeyboardInterrupt:
            # Ctrl-C reaches the other processes too; process 0 prints how to resume.
            for process in running:
                process.wait()
            raise
        finally:
            for process in running:
                process.kill()
                process.wait()
        if code and running[0].returncode == 0:
            _repeat(heard)
    return code


def _watched(running: list[subprocess.Popen]) -> int:
    code, last = 0, float("inf")
    while any(process.poll() is None for process in running) and time.monotonic() < last:
        time.sleep(_PAUSE)
        failed = [process.returncode for process in running if process.returncode]
        if failed and not code:
            code, last = failed[0], time.monotonic() + _GRACE
    failed = [process.returncode for process in running if process.returncode]
    code = code or (failed[0] if failed else 0)
    return 1 if code < 0 else code


def _give_cores(pid: int, index: int, count: int) -> None:
    """Pin each process to its own cores, because sharing them would slow down every step."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        own = cores[index::count] or [cores[index % len(cores)]]
        os.sched_setaffinity(pid, own)


def _repeat(heard: IO[bytes]) -> None:
    heard.seek(0)
    text = heard.read().decode("utf-8", "replace").strip().splitlines()
    if text:
        os.write(2, f"{text[-1]}\n".encode())
