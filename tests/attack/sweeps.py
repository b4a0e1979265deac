"""The attack on sweeps and on the store of their runs: killed, stopped, doubled, out of disk.

A sweep (``python -m experiments run``) of twelve small jobs is disturbed and given again. In the
end the store has each run once, with the scores of an undisturbed sweep; what it had when it was
disturbed is still there and is not done again.
"""

import os
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from experiments.store import Run, Store
from tests.attack.children import ended, started
from tests.attack.disks import can_mount, disk_in

RECOVERED, RIGHT = "recovered", "right"
_SIGNALS = ("SIGKILL", "SIGTERM", "SIGINT")
_STORED = 12
_JOBS = """
from experiments.execute import Outcome

def draw(record, folder):
    with open(folder / "drawn.log", "a") as log:
        log.write(f"{record['seed']} {record['shift']}\\n")
    return Outcome({"value": record["seed"] * 7919 % 101 / 101 + record["shift"]})
"""
_SPEC = """
title = "Numbers that were drawn"
figure = "none"
claim = "None."
differs = "Everything."
datasets = [{ name = "dice", mark = "STAND-IN for dice" }]
methods = [{ name = "low", shift = 0 }, { name = "high", shift = 2 }]
[job]
kind = "swept_jobs:draw"
[quick]
seeds = 6
[[plots]]
draw = "bars"
y = "value"
ylabel = "value"
[[claims]]
says = "Low is lower than high."
judge = "lower"
score = "value"
methods = ["low"]
than = ["high"]
"""
Runs = list[tuple[str, dict]]


def kinds() -> tuple[str, ...]:
    """What can happen to a sweep on this machine."""
    disks = ("full disk", "read-only disk") if can_mount() else ()
    return (*_SIGNALS, "short files", "two at once", *disks)


def store_outcome(place: Path, kind: str, rng: np.random.Generator) -> str:
    """A writer of runs is disturbed; then two finish the work together."""
    runs = [Run({"number": k}, {"score": k}, figure="f") for k in range(_STORED)]

    def work(path: Path) -> int:
        with Store(path) as store:
            for k, run in enumerate(runs):
                store.add(run)
                print(k, flush=True)
        return 0

    with ExitStack() as stack:
        folder = _folder(place, kind, stack)
        path, said = folder / "runs.sqlite", place / "said"
        code = _disturbed(lambda: work(path), said, kind, folder, rng, 0.03)
        told = [int(word) for word in said.read_text().split() if word.isdigit()]
        with Store(path) as store:
            kept = store.keys()
        if not {runs[k].key for k in told} <= kept:
            return "a run that was stored is lost"
        both = [started(lambda: work(path), place / f"said{k}") for k in range(2)]
        codes = [ended(child) for child in both]
        with Store(path) as store:
            scores = sorted(run.scores["score"] for run in store.runs())
        if scores != list(range(_STORED)) or codes != [0, 0]:
            return f"{codes}, {scores}"
        return RIGHT if code == 0 else RECOVERED


def sweep_outcome(place: Path, kind: str, rng: np.random.Generator) -> str:
    """A sweep is disturbed and given again."""
    with ExitStack() as stack:
        folder = _folder(place, kind, stack)
        (folder / "specs" / "toy").mkdir(parents=True)
        (folder / "specs" / "toy" / "dice.toml").write_text(_SPEC)
        (folder / "swept_jobs.py").write_text(_JOBS)
        (folder / "dice.parquet").touch()
        log, said = folder / "drawn.log", place / "said"
        log.touch()
        code = _disturbed(lambda: _sweep(folder), said, kind, folder, rng, 0.5)
        fault = _fault(kind, code, said.read_text())
        if fault:
            return fault
        kept, done = _stored(folder), Counter(log.read_text().split("\n"))
        again = place / "again"
        code_again = ended(started(lambda: _sweep(folder), again))
        if code_again != 0:
            return f"given again it ended with {code_again}: {again.read_text()[:300]!r}"
        found = _stored(folder)
        if found != RUNS:
            return f"other runs than undisturbed: {len(found)}"
        drawn = Counter(log.read_text().split("\n")) - done
        if len(drawn) > len(RUNS) - len(kept) or any(run not in found for run in kept):
            return f"{len(kept)} runs were stored, but {len(drawn)} were done again"
        return RIGHT if code == 0 else RECOVERED


RUNS: Runs = sorted(
    (f"{seed} {shift}", {"value": seed * 7919 % 101 / 101 + shift})
    for seed in range(6)
    for shift in (0, 2)
)
"""What an undisturbed sweep stores."""


def _sweep(folder: Path) -> int:
    from experiments.commands.app import run

    os.chdir(folder)
    sys.path.insert(0, str(folder))
    where = ("--specs", "specs", "--data", ".", "--store", "runs.sqlite")
    return run(["run", *where, "--workers", "1", "--quiet"])


def _stored(folder: Path) -> Runs:
    """What a store holds, whatever happened to it; opening it tidies up after a kill."""
    if not (folder / "runs.sqlite").exists():
        return []
    with Store(folder / "runs.sqlite") as store:
        found = [
            (f"{run.record['seed']} {run.record['shift']}", run.scores) for run in store.runs()
        ]
    return sorted(found, key=lambda each: each[0])


def _folder(place: Path, kind: str, stack: ExitStack) -> Path:
    folder = Path(tempfile.mkdtemp(dir=place))
    if kind.endswith("disk"):
        stack.enter_context(disk_in(folder))
    return folder


def _disturbed(
    work: Callable[[], int],
    said: Path,
    kind: str,
    folder: Path,
    rng: np.random.Generator,
    longest: float,
) -> int | str:
    """How the work ended that was disturbed; the disk is as it should be again."""
    from tests.attack.disks import Disk

    def prepare() -> None:
        if kind == "short files":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            most = int(rng.integers(0, 60_000))
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    disk = Disk(folder) if kind.endswith("disk") else None
    if kind == "full disk" and disk:
        disk.fill(int(rng.integers(0, 40)))
    elif kind == "read-only disk" and disk:
        disk.lock()
    child = started(work, said, prepare)
    if kind in _SIGNALS:
        time.sleep(float(rng.uniform(0, longest)))
        os.kill(child, getattr(signal, kind))
    elif kind == "two at once":
        second = ended(started(work, said.with_suffix(".second")))
        if second != 0:
            ended(child)
            return f"the second ended with {second}"
    code = ended(child)
    if disk:
        disk.free()
    return code


def _fault(kind: str, code: int | str, said: str) -> str:
    """What is wrong with how a disturbed command ended; nothing if all is well."""
    number = int(getattr(signal, kind)) if kind in _SIGNALS else 0
    allowed = {"SIGINT": (0, 130, -number), "two at once": (0,)}.get(kind, (0, 2, -number))
    if code not in allowed:
        return f"ended with {code}: {said[:300]!r}"
    if code == 2 and kind != "short files" and len(said.splitlines()) != 1:
        return f"not one line: {said[:300]!r}"
    return ""
