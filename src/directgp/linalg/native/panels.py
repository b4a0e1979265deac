"""Panels: a few columns of an [M N] array, copied so that its rows lie behind each other.

A panel stays in the nearest cache while an [M M] matrix goes over it, in tiles that stay in
registers. What is zero in a triangle is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

from directgp.linalg.native.emit import Emitter, Numbers, Value


class Tile(NamedTuple):
    """What is summed in registers at once: rows of the result, and vectors or columns of it."""

    rows: int
    columns: int


def panel_tile(kind: Numbers) -> Tile:
    """Rows and vectors of a panel that registers hold, with room for what is multiplied."""
    return Tile(8, 3) if kind.registers >= 32 else Tile(4, 3)


def width(kind: Numbers) -> int:
    """Columns of a panel."""
    return panel_tile(kind).columns * kind.lanes


def once(
    make: Callable[..., ir.Function], module: ir.Module, kind: Numbers, *options: object
) -> ir.Function:
    """The function that `make` writes, written the first time only."""
    name = "_".join([make.__name__, *map(str, options), kind.name])
    return module.globals.get(name) or make(module, kind, name, *options)


def panel_in(module: ir.Module, kind: Numbers, name: str) -> ir.Function:
    """(source, stride, M, count, panel): `count` columns to a panel, zeros behind them."""
    e = Emitter(module, kind, name, "pnnnp")
    source, stride, M, count, panel = e.arguments
    is_part = e.builder.icmp_signed("<", count, e.long(width(kind)))
    room = e.times(M, width(kind))
    with e.builder.if_then(is_part), e.loop(0, room, kind.lanes) as at:
        e.put(e.zeros(), panel, at)
    _copy(e, source, stride, panel, e.long(width(kind)), M, count)
    return e.finish()


def panel_out(module: ir.Module, kind: Numbers, name: str) -> ir.Function:
    """(panel, M, count, target, stride): the first `count` columns of a panel to their place."""
    e = Emitter(module, kind, name, "pnnpn")
    panel, M, count, target, stride = e.arguments
    _copy(e, panel, e.long(width(e.kind)), target, stride, M, count)
    return e.finish()


def _copy(e: Emitter, source, source_stride, target, target_stride, rows, count) -> None:
    """`count` columns of some rows: a whole panel by vectors, a part of one by numbers."""
    whole = e.builder.icmp_signed("==", count, e.long(width(e.kind)))

    def both(row, column):
        return (e.add(e.times(row, stride), column) for stride in (source_stride, target_stride))

    with e.builder.if_else(whole) as (by_vectors, by_numbers):
        with by_vectors, e.loop(0, rows) as row:
            for column in range(0, width(e.kind), e.kind.lanes):
                here, there = both(row, column)
                e.put(e.get(source, here), target, there)
        with by_numbers, e.loop(0, rows) as row, e.loop(0, count) as column:
            here, there = both(row, column)
            e.put(e.get_one(source, here), target, there)


def panel_product(module: ir.Module, kind: Numbers, name: str, shape: str) -> ir.Function:
    """(matrix, M, source, target, row, begin, end): target = matrix · source, both panels.

    `shape` is "full", "lower" (nothing above the diagonal) or "upper" (the transpose of a lower).
    Rows of the target from `row` on are made, from rows begin ≤ k < end of the source.
    """
    e = Emitter(module, kind, name, "pnppnnn")
    matrix, M, source, target, start, begin, end = e.arguments
    size = panel_tile(kind).rows
    while size:  # tiles of 8 rows, then one of 4, of 2, of 1 for what is left
        tile = once(_product_tile, module, kind, size, shape == "upper")
        stop = e.add(start, e.whole(e.subtract(M, start), size))
        with e.loop(start, stop, size) as row:
            first = e.most(row, begin) if shape == "upper" else begin
            last = e.least(e.add(row, size), end) if shape == "lower" else end
            own = e.at(matrix, row if shape == "upper" else e.times(row, M))
            e.call(tile, own, M, source, e.at(target, e.times(row, width(kind))), first, last)
        start, size = stop, size // 2
    return e.finish()


def _product_tile(
    module: ir.Module, kind: Numbers, name: str, rows: int, transposed: bool
) -> ir.Function:
    """(matrix, stride, source, target, first, last): some rows, summed over first ≤ k < last."""
    e = Emitter(module, kind, name, "pnppnn")
    matrix, stride, source, target, first, last = e.arguments
    places = range(0, width(kind), kind.lanes)
    sums = [[e.variable(e.zeros()) for _ in places] for _ in range(rows)]
    with e.loop(first, last) as k:
        values = [e.get(source, e.add(e.times(k, width(kind)), at)) for at in places]
        for row, own in enumerate(sums):
            at = e.add(e.times(k, stride), row) if transposed else e.add(k, e.times(row, stride))
            weight = e.everywhere(e.get_one(matrix, at))
            for total, value in zip(own, values, strict=True):
                total.value = e.plus_product(total.value, weight, value)
    for row, own in enumerate(sums):
        for at, total in zip(places, own, strict=True):
            e.put(total.value, target, row * width(kind) + at)
    return e.finish()


def panel_solve(module: ir.Module, kind: Numbers, name: str) -> ir.Function:
    """(lower, M, source, target, row): target = L⁻¹ source, both panels, by substitution.

    The source is 0 above `row`; rows of the target from there on are made.
    """
    e = Emitter(module, kind, name, "pnppn")
    lower, M, source, target, begin = e.arguments
    start, size = begin, panel_tile(kind).rows
    while size:
        tile = once(_solve_tile, module, kind, size)
        stop = e.add(start, e.whole(e.subtract(M, start), size))
        with e.loop(start, stop, size) as row:
            own, here = e.at(lower, e.times(row, M)), e.times(row, width(kind))
            e.call(tile, own, M, e.at(source, here), target, row, begin)
        start, size = stop, size // 2
    return e.finish()


def _solve_tile(module: ir.Module, kind: Numbers, name: str, rows: int) -> ir.Function:
    """(lower, stride, source, target, row, begin): some rows, from those before them."""
    e = Emitter(module, kind, name, "pnppnn")
    lower, stride, source, target, first, begin = e.arguments
    places = range(0, width(kind), kind.lanes)
    sums = [[e.variable(e.zeros()) for _ in places] for _ in range(rows)]
    with e.loop(begin, first) as k:
        values = [e.get(target, e.add(e.times(k, width(kind)), at)) for at in places]
        for row, own in enumerate(sums):
            weight = e.everywhere(e.get_one(lower, e.add(k, e.times(row, stride))))
            for total, value in zip(own, values, strict=True):
                total.value = e.plus_product(total.value, weight, value)
    solved: list[list[Value]] = []
    for row, own in enumerate(sums):
        at_row = e.add(first, e.times(row, stride))
        before = [e.everywhere(e.get_one(lower, e.add(at_row, j))) for j in range(row)]
        pivot = e.everywhere(e.get_one(lower, e.add(at_row, row)))
        inverse, found = e.builder.fdiv(e.number(1.0), pivot), []
        for k, at in enumerate(places):
            total = own[k].value
            for weight, values in zip(before, solved, strict=True):
                total = e.plus_product(total, weight, values[k])
            value = e.difference(e.get(source, row * width(kind) + at), total)
            value = e.product(value, inverse)
            e.put(value, target, e.add(e.times(e.add(first, row), width(kind)), at))
            found.append(value)
        solved.append(found)
    return e.finish()


def panel_sums(module: ir.Module, kind: Numbers, name: str) -> ir.Function:
    """(weights, features, left, right, M, sums): weightsᵀ features and Σ left∘right, [2 width]."""
    e = Emitter(module, kind, name, "ppppnp")
    weights, features, left, right, M, sums = e.arguments
    places = range(0, width(kind), kind.lanes)
    means, changes = ([e.variable(e.zeros()) for _ in places] for _ in range(2))
    with e.loop(0, M) as row:
        weight = e.everywhere(e.get_one(weights, row))
        for at, mean, change in zip(places, means, changes, strict=True):
            here = e.add(e.times(row, width(kind)), at)
            mean.value = e.plus_product(mean.value, weight, e.get(features, here))
            change.value = e.plus_product(change.value, e.get(left, here), e.get(right, here))
    for at, mean, change in zip(places, means, changes, strict=True):
        e.put(mean.value, sums, at)
        e.put(change.value, sums, width(kind) + at)
    return e.finish()


def tail_in(module: ir.Module, kind: Numbers, name: str) -> ir.Function:
    """(source, stride, rows, count, tail): fewer columns than lanes, with zeros behind them."""
    e = Emitter(module, kind, name, "pnnnp")
    source, stride, rows, count, tail = e.arguments
    with e.loop(0, rows) as row:
        e.put(e.zeros(), tail, e.times(row, kind.lanes))
        with e.loop(0, count) as k:
            value = e.get_one(source, e.add(e.times(row, stride), k))
            e.put(value, tail, e.add(e.times(row, kind.lanes), k))
    return e.finish()
