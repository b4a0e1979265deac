"""The attack by interruptions: commands are killed, stopped, doubled or cut off from the disk.

A command runs in a forked child (of a process that has not used JAX). An audit hook counts what it
does to files in its folder and strikes before a chosen one of these moments. The command is then
given again, with --resume if it says so: its predictions must be those of an undisturbed run, to
the bit, and nothing else may be left in the folder.
"""

import errno
import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.attack import sweeps
from tests.attack.children import Quiet, ended, started
from tests.attack.disks import Disk, can_mount, disk_in
from tests.attack.result import Result, Tell, silent

EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.listdir"}
RECOVERED, RIGHT = "recovered", "right"
"""After a command that failed, and after one that did its work all the same."""


class Command(NamedTuple):
    """A command line in a folder, with the file that it makes."""

    words: tuple[str, ...]
    makes: str


_GP = ("--beta", "1", "--max-steps", "150", "--num-inducing", "4")
COMMANDS = {
    "fit": Command(("fit", "t.csv", "-t", "y", "-o", "m.dgp", "--report", "r.html"), "m.dgp"),
    "fit, one GP": Command(("fit", "t.csv", "-t", "y", "-o", "m.dgp", *_GP), "m.dgp"),
    "fit, stream": Command(
        (
            "fit",
            "t.parquet",
            "-t",
            "y",
            "-o",
            "m.dgp",
            "--stream",
            "--epochs",
            "30",
            "--num-inducing",
            "4",
        ),
        "m.dgp",
    ),
    "predict": Command(("predict", "known.dgp", "t.csv", "-o", "p.csv"), "p.csv"),
}


class Disturbance:
    """What happens before the moment of this number; counting starts when it is installed."""

    def __init__(self, kind: str, at: int, folder: Path):
        self.kind, self.at, self.folder = kind, at, str(folder)
        self.seen = 0

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or not arguments or not self._is_ours(arguments[0]):
            return
        self.seen += 1
        if self.seen < self.at:
            return
        if self.kind in ("no space", "read-only"):
            if self._writes(event, arguments):
                code = errno.ENOSPC if self.kind == "no space" else errno.EROFS
                raise OSError(code, os.strerror(code), str(arguments[0]))
        elif self.seen == self.at:
            os.kill(os.getpid(), getattr(signal, self.kind))

    def _is_ours(self, path: Any) -> bool:
        return isinstance(path, str | bytes | os.PathLike) and os.fsdecode(path).startswith(
            self.folder
        )

    def _writes(self, event: str, arguments: tuple[Any, ...]) -> bool:
        if event == "os.remove":
            return self.kind == "read-only"
        if event != "open":
            return event not in ("os.listdir",)
        mode, flags = arguments[1], arguments[2]
        return bool(set(str(mode)) & set("wax+")) or bool(
            isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        )


KINDS = ("SIGKILL", "SIGTERM", "SIGINT", "no space", "read-only", "SIGSTOP", "short files")
DISKS = ("full disk", "read-only disk")
"""Disks that really are, where this process may mount them; the others are errors at a moment."""
_OTHERS = {"sweep": sweeps.sweep_outcome, "store": sweeps.store_outcome}


def attack(count: int, seed: int = 0, tell: Tell = silent, few: bool = False) -> Result:
    """Disturb commands at `count` moments, all kinds and commands (or a few) in turn."""
    _import_all()
    result = Result()
    commands = ("fit", "predict") if few else tuple(COMMANDS)
    names = [*commands, *_OTHERS]
    kinds = (*KINDS, *DISKS) if can_mount() else KINDS
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        os.environ["XDG_STATE_HOME"] = made  # of logs of internal errors
        os.environ["DIRECTGP_COMPILE_CACHE"] = str(place / "programs")
        sound = {name: _undisturbed(place, name) for name in commands}
        for number in range(count):
            rng = np.random.default_rng([seed, number])
            name, turn = names[number % len(names)], number // len(names)
            own = sweeps.kinds() if name in _OTHERS else kinds
            kind = own[turn % len(own)]
            with result.timed():
                if name in _OTHERS:
                    outcome = _OTHERS[name](place, kind, rng)
                else:
                    moments, right = sound[name]
                    at = int(rng.integers(1, moments + 1))
                    outcome = _disturbed(place, name, kind, at, right)
                    outcome = (
                        outcome if outcome in (RECOVERED, RIGHT) else f"moment {at}: {outcome}"
                    )
            result.add(f"{name}: {kind}", outcome, (RECOVERED, RIGHT), tell)
    return result


def _import_all() -> None:
    """Everything that the commands import, so that children need not; JAX must not compute."""
    import directgp.api
    from directgp.cli.app import run

    with Quiet():
        run(["fit", "--help"])
        run(["predict", "nothing.dgp", "nothing.csv"])
    import directgp.cli.checkpoints
    import directgp.cli.fit_result
    import directgp.cli.models
    import directgp.cli.streaming
    import directgp.report
    import directgp.training.resumable

    # Every chunk of steps is kept, not one in ten seconds: many moments in a short run.
    directgp.training.resumable.Stages.__init__.__kwdefaults__["every_seconds"] = 0.0


def _folder(place: Path) -> Path:
    """A new folder with a table of 24 rows, as CSV and as Parquet."""
    return _with_tables(Path(tempfile.mkdtemp(dir=place)))


def _with_tables(folder: Path) -> Path:
    from directgp.tables import write_table

    rng = np.random.default_rng(0)
    x = rng.normal(size=24)
    table = {"a": x, "b": rng.normal(size=24), "y": x + 0.1 * rng.normal(size=24)}
    for name in ("t.csv", "t.parquet"):
        write_table(folder / name, table)
    return folder


def command(folder: Path, words: Sequence[str]) -> Callable[[], int]:
    """The command as a function, in its folder."""

    def work() -> int:
        from directgp.cli.app import run

        os.chdir(folder)
        return run([*(str(folder / w) if _is_path(w) else w for w in words), "--quiet"])

    return work


def _is_path(word: str) -> bool:
    return word.endswith((".csv", ".parquet", ".dgp", ".html"))


def _again(folder: Path, name: str) -> Callable[[], int]:
    """Give the command again, resumed if need be, and then predict."""

    def work() -> int:
        words = COMMANDS[name].words
        if name != "predict":
            if (folder / "m.dgp.checkpoint").exists():
                code = command(folder, (*words, "--resume"))()
                if code == 2 and not any(_runs(folder)):  # only a lock was left
                    code = command(folder, words)()
            else:
                code = command(folder, words)()
            if code:
                return code
            return command(folder, ("predict", "m.dgp", "t.csv", "-o", "p.csv"))()
        return command(folder, words)()

    return work


def _runs(folder: Path) -> list[Path]:
    inside = (folder / "m.dgp.checkpoint").rglob("*")
    return [path for path in inside if path.is_file() and path.suffix in (".safetensors", ".dgp")]


def _undisturbed(place: Path, name: str) -> tuple[int, bytes]:
    """How many moments the command has, and what is predicted in the end."""
    folder, said = _folder(place), place / "said"
    _known(folder, name, said)
    counted = place / "moments"

    def work() -> int:
        hook = Disturbance("nothing", 10**9, folder)
        sys.addaudithook(hook)
        code = command(folder, COMMANDS[name].words)()
        counted.write_text(str(hook.seen))
        return code

    code = ended(started(work, said))
    if code == 0 and name != "predict":
        code = ended(started(command(folder, ("predict", "m.dgp", "t.csv", "-o", "p.csv")), said))
    assert code == 0, f"{name}: {code}: {said.read_text()}"
    return int(counted.read_text()), (folder / "p.csv").read_bytes()


def _known(folder: Path, name: str, said: Path) -> None:
    """A model to predict with."""
    if name == "predict":
        words = ("fit", "t.csv", "-t", "y", "-o", "known.dgp")
        assert ended(started(command(folder, words), said)) == 0, said.read_text()


def _disturbed(place: Path, name: str, kind: str, at: int, right: bytes) -> str:
    """One of the allowed outcomes, or in words what was lost, doubled or left."""
    if kind not in DISKS:
        return _outcome(_folder(place), place, name, kind, at, right)
    folder = Path(tempfile.mkdtemp(dir=place))
    with disk_in(folder) as disk:
        return _outcome(_with_tables(folder), place, name, kind, at, right, disk)


def _outcome(
    folder: Path,
    place: Path,
    name: str,
    kind: str,
    at: int,
    right: bytes,
    disk: Disk | None = None,
) -> str:
    said = place / "said"
    _known(folder, name, said)
    there = set(os.listdir(folder))
    words = COMMANDS[name].words

    def prepare() -> None:
        if kind == "short files":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            most = 40 * at  # bytes: the disk is full within a file
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        elif kind not in DISKS:
            sys.addaudithook(Disturbance(kind, at, folder))

    if disk and kind == "full disk":
        disk.fill(at % 30)
    elif disk:
        disk.lock()
    child = started(command(folder, words), said, prepare)
    code = ended(child)
    if disk:
        disk.free()
    if code == "stopped":
        fault = _second(child, folder, words, place / "other")
        if fault:
            return fault
        code = ended(child)
        if code != 0:
            return f"the first ended with {code} beside a second: {said.read_text()[:300]!r}"
    elif code not in _codes(kind):
        return f"ended with {code}: {said.read_text()[:300]!r}"
    if isinstance(code, int) and code > 0:
        lines = said.read_text().splitlines()
        if kind != "short files" and (len(lines) != 1 or "internal" in lines[0]):
            return f"not one line: {lines[:3]!r}"
    left = (folder / "m.dgp.checkpoint").exists()  # from a disk that was read-only at the end
    ending = RIGHT if code == 0 else RECOVERED
    if code == 0 and name != "predict" and not left:  # it was too late, or a second had to wait
        code = ended(started(command(folder, ("predict", "m.dgp", "t.csv", "-o", "p.csv")), said))
    elif code != 0 or left:
        code = ended(started(_again(folder, name), said))
    if code != 0:
        return f"given again it ended with {code}: {said.read_text()[:300]!r}"
    if (folder / "p.csv").read_bytes() != right:
        return "other predictions than undisturbed"
    made = {"p.csv", COMMANDS[name].makes} | ({"r.html"} if "r.html" in words else set())
    more = set(os.listdir(folder)) - there - made
    if kind in ("SIGKILL", "SIGTERM"):  # nobody can tidy up after itself then
        more = {left for left in more if not left.endswith(".partial")}
    return f"{sorted(more)} was left" if more else ending


def _codes(kind: str) -> tuple[int, ...]:
    if kind.startswith("SIG"):
        number = int(getattr(signal, kind))
        return (0, 130) if kind == "SIGINT" else (0, -number)
    return (0, 2)


def _second(child: int, folder: Path, words: Sequence[str], said: Path) -> str:
    """A second process gives the same command while the first is stopped; what it must not do."""
    try:
        code = ended(started(command(folder, words), said))
        told = said.read_text()
    finally:
        os.kill(child, signal.SIGCONT)
    if code == 0:
        return ""  # the first had nothing in hand yet, or all done
    one_line = code == 2 and len(told.splitlines()) == 1
    clear = "in use by" in told or "interrupted run" in told or "being removed" in told
    return "" if one_line and clear else f"a second ended with {code}: {told[:300]!r}"
