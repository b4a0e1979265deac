"""Panels: a few columns of an [M N] array, copied so that its rows lie behind each other.

A panel stays in the nearest cache while an [M M] matrix goes over it, in tiles that stay in
registers. What is zero in a triangle is left out.
"""

from collections.abc import Callable
from typing import NamedTuple

from llvmlite import ir

from directgp.linalg.native.emit import Emitter, Numbers


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
    """(matrix, M, source, target): target = matrix · source, both panels.

    `shape` is "full", "lower" (nothing above the diagonal) or "upper" (the transpose of a lower).
    """
    e = Emitter(module, kind, name, "pnpp")
    matrix, M, source, target = e.arguments
    start, size = e.long(0), panel_tile(kind).rows
    while size:  # tiles of 8 rows, then one of 4, of 2, of 1 for what is left
        tile = once(_product_tile, module, kind, size, shape == "upper")
        stop = e.whole(M, size)
        with e.loop(start, stop, size) as row:
            first = row if shape == "upper" else 0
            last = e.add(row, size) if shape == "lower" else M
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
