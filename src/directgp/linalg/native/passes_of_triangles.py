"""Native products with triangular or symmetric matrices (`triangular.py`)."""

from typing import Any, Literal, NamedTuple

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.gram import gram_groups, gram_task, mirror
from directgp.linalg.native.panels import once, panel_product, panel_solve, width
from directgp.linalg.native.passes import (
    Panels,
    Pass,
    Sizes,
    panel_tasks,
    square_panel_tasks,
)


class Product(NamedTuple):
    """What is known of a product: zeros of the factors, and which half of the result is wanted."""

    left: Literal["lower", "upper", "full"]
    """A lower triangle, its transpose, or any matrix."""
    right: Literal["full", "lower", "upper"] = "full"
    result: Literal["full", "lower", "symmetric"] = "full"
    """All of it, its lower triangle, or its lower triangle and a copy of that."""


PRODUCTS = {
    "lower_times": Product("lower"),
    "upper_times": Product("upper"),
    "full_times_lower": Product("full", right="lower"),
    "lower_times_lower": Product("lower", right="lower", result="lower"),
    "upper_times_lower": Product("upper", right="lower"),
    "lower_times_upper": Product("lower", right="upper", result="symmetric"),
    "lower_of_lower_times": Product("lower", result="lower"),
    "symmetric_lower_times": Product("lower", result="symmetric"),
    "symmetric_upper_times": Product("upper", result="symmetric"),
}
"""By name: the last word of a name is what the right factor is, the first what the left one is."""


def _times(known: Product):
    """Some panels of a product."""

    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        panels, room = Panels(e, sizes, number), e.times(sizes.M, width(e.kind))
        product = once(panel_product, e.builder.module, e.kind, known.left)
        target_name = "gram" if known.result == "symmetric" else "product"
        with e.scratch(room, room) as (source, target), panels.loop() as n:
            panels.get(data["right"], n, source)
            # Panel n.. of a lower triangle is 0 above row n, of an upper one below its last column.
            begin = n if known.right == "lower" else 0
            end = e.add(n, panels.count(n)) if known.right == "upper" else sizes.M
            row = 0 if known.result == "full" else n
            e.call(product, data["matrix"], sizes.M, source, target, row, begin, end)
            if known.result == "lower":
                _clear_above(e, target, n, panels.count(n))
            panels.put(target, data[target_name], n)

    return task


def _solve(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
    """Some panels of L⁻¹ A."""
    panels, room = Panels(e, sizes, number), e.times(sizes.M, width(e.kind))
    solve = once(panel_solve, e.builder.module, e.kind)
    with e.scratch(room, room) as (source, target), panels.loop() as n:
        panels.get(data["right"], n, source)
        e.call(solve, data["matrix"], sizes.M, source, target, 0)
        panels.put(target, data["product"], n)


def _invert(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
    """Some panels of L⁻¹, which is L⁻¹ I."""
    panels, room = Panels(e, sizes, number, square=True), e.times(sizes.M, width(e.kind))
    solve = once(panel_solve, e.builder.module, e.kind)
    with e.scratch(room, room) as (source, target), panels.loop() as n:
        with e.loop(0, room, e.kind.lanes) as at:
            e.put(e.zeros(), source, at)
        with e.loop(0, panels.count(n)) as k:
            e.put(e.one(), source, e.add(e.times(e.add(n, k), width(e.kind)), k))
        e.call(solve, data["matrix"], sizes.M, source, target, n)
        _clear_above(e, target, n, panels.count(n))
        panels.put(target, data["product"], n)


def _clear_above(e: Emitter, panel, first, count) -> None:
    """Zeros above the diagonal in the panel that begins with column `first`."""
    with e.loop(0, first) as row, e.loop(0, width(e.kind), e.kind.lanes) as k:
        e.put(e.zeros(), panel, e.add(e.times(row, width(e.kind)), k))
    with e.loop(0, count) as k, e.loop(e.add(k, 1), count) as column:
        e.put(e.zero(), panel, e.add(e.times(e.add(first, k), width(e.kind)), column))


def _symmetric(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
    gram_task(e, data, sizes, number, gram_groups(e, sizes))


def triangle_passes() -> list[Pass]:
    """All of `PRODUCTS`, L⁻¹ A and L⁻¹ by substitution, and A Bᵀ that is symmetric."""
    factors = {"matrix": "MM", "right": "MN"}
    found = []
    for name, known in PRODUCTS.items():
        symmetric = known.result == "symmetric"
        result = {"gram" if symmetric else "product": "MN"}
        square = known.right != "full" or known.result != "full"
        after = mirror if symmetric else None
        found.append(Pass(name, factors, result, panel_tasks, _times(known), after, square))
    found.append(Pass("lower_solve", factors, {"product": "MN"}, panel_tasks, _solve))
    one, inverse = {"matrix": "MM"}, {"product": "MM"}
    found.append(Pass("lower_inverse", one, inverse, square_panel_tasks, _invert))
    both = {"left": "MN", "right": "MN"}
    symmetric = Pass("symmetric_product", both, {"gram": "MM"}, gram_groups, _symmetric, mirror)
    return [*found, symmetric]
