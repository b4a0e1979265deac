"""`Pass`: a native program split into tasks for several threads.

Tasks write to disjoint memory, so results do not depend on the scheduling of threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.panels import once, panel_in, panel_out, width

_PANELS = 2
"""Panels per task, some tens of microseconds of work."""
_MANY = 32
"""Number of panels from which on a task has several; fewer panels are one task each."""


class Sizes(NamedTuple):
    """Sizes of the arrays of a call, and the number of threads."""

    M: Any
    N: Any
    D: Any
    P: Any
    threads: Any


class Pass(NamedTuple):
    """A program: its arguments and results, how many tasks it has, and what a task does."""

    name: str
    arguments: dict[str, str]
    """The arguments by name, with their axes as letters of "MNDP"."""
    results: dict[str, str]
    count: Callable[[Emitter, Sizes], Any]
    task: Callable[[Emitter, dict[str, Any], Sizes, Any], None]
    after: Callable[[Emitter, dict[str, Any], Sizes], None] | None = None
    """What one thread computes after all tasks are finished."""
    square: bool = False
    """Whether M and N must be equal."""

    @property
    def arrays(self) -> dict[str, str]:
        """Arguments and results, with their axes."""
        return self.arguments | self.results

    def place_of(self, axis: str) -> tuple[int, int] | None:
        """The first array with this axis, and the position of the axis; None if there is none."""
        for number, axes in enumerate(self.arrays.values()):
            if axis in axes:
                return number, axes.index(axis)
        return None

    def result_shapes(self, *shapes: tuple[int, ...]) -> list[tuple[int, ...]] | None:
        """Shapes of the results for arguments of these shapes; None if the shapes do not match."""
        sizes: dict[str, int] = {}
        for axes, shape in zip(self.arguments.values(), shapes, strict=True):
            if len(axes) != len(shape) or not all(
                size and sizes.setdefault(axis, size) == size
                for axis, size in zip(axes, shape, strict=True)
            ):
                return None
        if self.square and sizes["M"] != sizes["N"]:
            return None
        return [tuple(sizes[axis] for axis in axes) for axes in self.results.values()]


def panel_tasks(e: Emitter, sizes: Sizes):
    """The number of tasks for all panels of N columns."""
    return e.pieces(sizes.N, _columns_a_task(e, sizes))


def square_panel_tasks(e: Emitter, sizes: Sizes):
    """The number of tasks for all panels of M columns."""
    return panel_tasks(e, sizes._replace(N=sizes.M))


def _columns_a_task(e: Emitter, sizes: Sizes):
    many = e.builder.icmp_signed(">=", sizes.N, e.long(_MANY * width(e.kind)))
    return e.builder.select(many, e.long(_PANELS * width(e.kind)), e.long(width(e.kind)))


class Panels:
    """The panels of one task."""

    def __init__(self, e: Emitter, sizes: Sizes, task, *, square: bool = False):
        """The arrays have M columns if `square`, otherwise N."""
        sizes = sizes._replace(N=sizes.M) if square else sizes
        self._e, self._sizes = e, sizes
        columns = _columns_a_task(e, sizes)
        self._first = e.times(task, columns)
        self._last = e.least(e.add(self._first, columns), sizes.N)
        self._in = once(panel_in, e.builder.module, e.kind)
        self._out = once(panel_out, e.builder.module, e.kind)

    def loop(self):
        return self._e.loop(self._first, self._last, width(self._e.kind))

    def count(self, start):
        return self._e.least(width(self._e.kind), self._e.subtract(self._sizes.N, start))

    def get(self, array, start, panel, rows=None, first=None) -> None:
        """Copy columns from `start` on to a panel, of which `first` is the first column number."""
        rows = self._sizes.M if rows is None else rows
        count = self.count(start if first is None else first)
        self._e.call(self._in, self._e.at(array, start), self._sizes.N, rows, count, panel)

    def put(self, panel, array, start) -> None:
        target = self._e.at(array, start)
        M, N = self._sizes[:2]
        self._e.call(self._out, panel, M, self.count(start), target, N)
