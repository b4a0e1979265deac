"""A Cholesky factor L, L Lᵀ = K, or L⁻¹, of a matrix that is small enough for one thread.

Gaussian elimination: rows of K become those of Lᵀ while those of I, if it stands beside K, become
those of L⁻¹. Four rows are eliminated at once, so that what they change is read and written once.
"""

from typing import Any

from directgp.linalg.native.emit import Emitter
from directgp.linalg.native.passes import Pass, Sizes

_AT_ONCE = 4


def _task(result: str):
    """Eliminate, and give the rows of L⁻¹, or the columns of Lᵀ as rows of L."""

    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        kind, M = e.kind, sizes.M
        step = max(_AT_ONCE, kind.lanes)
        size = e.times(e.pieces(M, step), step)  # filled up with a unit matrix: no rows are left
        room = e.times(size, size)
        with e.scratch(*[room] * (2 if result == "inverse" else 1)) as sides:
            _fill(e, data["matrix"], M, sides, size)
            with e.loop(0, size, _AT_ONCE) as k:
                _eliminate_among(e, sides, size, k)
                _eliminate_below(e, sides, size, k)
            with e.loop(0, M) as row, e.loop(0, M) as column:
                at = e.times(column, size) if result == "factor" else e.times(row, size)
                at = e.add(at, row if result == "factor" else column)
                above = e.builder.icmp_signed(">", column, row)
                value = e.builder.select(above, e.zero(), e.get_one(sides[-1], at))
                e.put(value, data[result], e.add(e.times(row, M), column))

    return task


def _fill(e: Emitter, matrix, M, sides: list, size) -> None:
    """K, and I beside it if there is room, both filled up with a unit matrix."""
    with e.loop(0, size) as row:
        with e.loop(0, size, e.kind.lanes) as column:
            for target in sides:
                e.put(e.zeros(), target, e.add(e.times(row, size), column))
        for target in sides:
            e.put(e.one(), target, e.add(e.times(row, size), row))
    with e.loop(0, M) as row, e.loop(row, M) as column:
        value = e.get_one(matrix, e.add(e.times(row, M), column))
        e.put(value, sides[0], e.add(e.times(row, size), column))


def _columns(e: Emitter, size, first, last):
    """Where rows from `first` to `last` may differ from 0: (of Lᵀ, of L⁻¹), by whole vectors."""
    lanes = e.kind.lanes
    return (e.whole(first, lanes), size), (e.long(0), e.times(e.pieces(last, lanes), lanes))


def _eliminate_among(e: Emitter, sides: list, size, k) -> None:
    """Rows k … k + 3: each is divided by the root of its pivot and taken from those below it."""
    for a in range(_AT_ONCE):
        row = e.add(k, a)
        own = e.times(row, size)
        pivot = e.everywhere(e.get_one(sides[0], e.add(own, row)))
        weight = e.builder.fdiv(e.number(1.0), e.root(pivot))
        spans = _columns(e, size, k, e.add(row, 1))
        below = [e.add(k, b) for b in range(a + 1, _AT_ONCE)]
        # Read before row k + a is divided, and divided like it.
        factors = [
            e.product(e.everywhere(e.get_one(sides[0], e.add(own, other))), weight)
            for other in below
        ]
        for target, (first, last) in zip(sides, spans, strict=False):
            with e.loop(first, last, e.kind.lanes) as column:
                value = e.product(e.get(target, e.add(own, column)), weight)
                e.put(value, target, e.add(own, column))
                for other, times in zip(below, factors, strict=True):
                    at = e.add(e.times(other, size), column)
                    change = e.product(times, value)
                    e.put(e.difference(e.get(target, at), change), target, at)


def _eliminate_below(e: Emitter, sides: list, size, k) -> None:
    """Take rows k … k + 3 from all below, a few at a time."""
    rows = 4 if e.kind.registers >= 32 else 2
    pivots = [e.times(e.add(k, a), size) for a in range(_AT_ONCE)]
    with e.loop(e.add(k, _AT_ONCE), size, rows) as row:
        own = [e.times(e.add(row, r), size) for r in range(rows)]
        weights = [
            [
                e.difference(
                    e.zeros(), e.everywhere(e.get_one(sides[0], e.add(pivot, e.add(row, r))))
                )
                for pivot in pivots
            ]
            for r in range(rows)
        ]
        spans = _columns(e, size, row, e.add(k, _AT_ONCE))
        for target, (first, last) in zip(sides, spans, strict=False):
            with e.loop(first, last, e.kind.lanes) as column:
                values = [e.get(target, e.add(pivot, column)) for pivot in pivots]
                for place, row_weights in zip(own, weights, strict=True):
                    total = e.get(target, e.add(place, column))
                    for weight, value in zip(row_weights, values, strict=True):
                        total = e.plus_product(total, weight, value)
                    e.put(total, target, e.add(place, column))


def factor_passes() -> list[Pass]:
    """L and L⁻¹."""

    def one(e: Emitter, sizes: Sizes):
        return e.long(1)

    passes = {"cholesky": "factor", "inverse_cholesky": "inverse"}
    return [
        Pass(name, {"matrix": "MM"}, {result: "MM"}, one, _task(result))
        for name, result in passes.items()
    ]
