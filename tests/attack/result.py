"""What every attack gives back: how often each outcome came, and those that must not be."""

import os
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

Tell = Callable[[str], None]


def silent(text: str) -> None:
    """Tells nobody."""


@dataclass
class Result:
    """What became of each kind, and every outcome that must not be."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    bad: list[str] = field(default_factory=list)
    slowest: float = 0.0
    """Processor seconds of the slowest, those of its threads and ended children included."""
    longest: float = 0.0
    """Seconds by the clock, which a busy machine or a wait makes longer."""
    memory: int = 0
    """Bytes by which the process has grown, where that is measured."""

    @property
    def total(self) -> int:
        """How many were tried."""
        return sum(sum(each.values()) for each in self.counts.values())

    def add(self, kind: str, outcome: str, allowed: Sequence[str], tell: Tell = silent) -> None:
        """Count an outcome; one that is not allowed is told and kept in words."""
        sound = outcome in allowed
        self.counts.setdefault(kind, Counter())[outcome if sound else "BAD"] += 1
        if not sound:
            self.bad.append(f"{kind}: {outcome}")
            tell(self.bad[-1])

    @contextmanager
    def timed(self) -> Iterator["Took"]:
        """The block's seconds, known after it, count for `slowest` and `longest`."""
        took, began, clock = Took(), processor_seconds(), time.monotonic()
        try:
            yield took
        finally:
            took.processor = processor_seconds() - began
            took.clock = time.monotonic() - clock
            self.slowest = max(self.slowest, took.processor)
            self.longest = max(self.longest, took.clock)


@dataclass
class Took:
    """Seconds that a block took."""

    processor: float = 0.0
    clock: float = 0.0


def processor_seconds() -> float:
    """Of this process, its threads, and its children that have ended."""
    return sum(os.times()[:4])


def peak_memory() -> int:
    """The most bytes that this process has had."""
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def refusal(error: Exception) -> str:
    """ "refused" for an error in one line of a kind for users, else in words what it was."""
    said = str(error)
    if not isinstance(error, ValueError | OSError):
        return f"{type(error).__name__}: {said[:300]!r}"
    if "\n" in said or not said or len(said) > 1000:
        return f"not one line: {type(error).__name__} {said[:300]!r}"
    step = error.__traceback__
    while step is not None and step.tb_next is not None:
        step = step.tb_next
    where = "" if step is None else step.tb_frame.f_globals.get("__name__", "")
    ours = where.startswith(("directgp.", "sklearn."))
    return "refused" if ours or isinstance(error, OSError) else f"error of {where}: {said[:300]}"
