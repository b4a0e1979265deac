"""What a pass is: a program in tasks that any thread may do.

Which thread does a task, and when, changes no number: tasks write to places of their own.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.panels import once, panel_in, panel_out, width

_PANELS = 2
"""Panels that one task takes: some tens of microseconds."""


class Sizes(NamedTuple):
    """What the tasks of a call have in common."""

    M: Any
    N: Any
    D: Any
    threads: Any


class Pass(NamedTuple):
    """A program: its arguments and results, how many tasks it has, and what a task does."""

    name: str
    arguments: dict[str, str]
    """What it takes, and the axes of each: letters of "MND", or "1" for an axis of length 1."""
    results: dict[str, str]
    count: Callable[[Emitter, Sizes], Any]
    task: Callable[[Emitter, dict[str, Any], Sizes, Any], None]
    after: Callable[[Emitter, dict[str, Any], Sizes], None] | None = None
    """What one thread does when all tasks are done."""

    @property
    def arrays(self) -> dict[str, str]:
        """Arguments and results, with their axes."""
        return self.arguments | self.results

    def place_of(self, axis: str) -> tuple[int, int] | None:
        """Which array has this axis, and where; None if it has none such."""
        for number, axes in enumerate(self.arrays.values()):
            if axis in axes:
                return number, axes.index(axis)
        return None

    def result_shapes(self, *shapes: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        """Shapes of the results for arguments of these shapes; None where they do not fit."""
        sizes: dict[str, int] = {"1": 1}
        for axes, shape in zip(self.arguments.values(), shapes, strict=True):
            if len(axes) != len(shape) or not all(
                size and sizes.setdefault(axis, size) == size
                for axis, size in zip(axes, shape, strict=True)
            ):
                return None
        return [tuple(sizes[axis] for axis in axes) for axes in self.results.values()]


def panel_tasks(e: Emitter, sizes: Sizes):
    """How many tasks take all panels."""
    return e.pieces(sizes.N, _PANELS * width(e.kind))


class Panels:
    """The panels of one task."""

    def __init__(self, e: Emitter, sizes: Sizes, task):
        self._e, self._sizes = e, sizes
        self._first = e.times(task, _PANELS * width(e.kind))
        self._last = e.least(e.add(self._first, _PANELS * width(e.kind)), sizes.N)
        self._in = once(panel_in, e.builder.module, e.kind)
        self._out = once(panel_out, e.builder.module, e.kind)

    def loop(self):
        return self._e.loop(self._first, self._last, width(self._e.kind))

    def count(self, start):
        return self._e.least(width(self._e.kind), self._e.subtract(self._sizes.N, start))

    def get(self, array, start, panel, rows=None) -> None:
        rows = self._sizes.M if rows is None else rows
        self._e.call(
            self._in, self._e.at(array, start), self._sizes.N, rows, self.count(start), panel
        )

    def put(self, panel, array, start) -> None:
        target = self._e.at(array, start)
        M, N = self._sizes[:2]
        self._e.call(self._out, panel, M, self.count(start), target, N)
