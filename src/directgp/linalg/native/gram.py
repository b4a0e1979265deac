"""Symmetric products over long columns: (A∘v̄)Aᵀ, and left · rightᵀ where that is symmetric.

Sums go along the columns, in all lanes of a register at once; tiles as far as the diagonal.
"""

from typing import Any, NamedTuple

from llvmlite import ir

from directgp.linalg.native.emit import Emitter, Numbers
from directgp.linalg.native.panels import Tile, once, tail_in
from directgp.linalg.native.passes import Sizes

CHUNK = 1024
"""Columns that are summed in registers before they are added to the rest."""


def _tile(kind: Numbers) -> Tile:
    """Rows and columns of a Gram matrix whose partial sums registers hold."""
    return Tile(4, 6) if kind.registers >= 32 else Tile(2, 4)


def scaled_rows(module: ir.Module, kind: Numbers, name: str, rows: int) -> ir.Function:
    """(features, stride, length, change_bar, mean_bar, scaled, sums): A∘v̄ of some rows.

    Rows of `scaled` are CHUNK apart; A μ̄ is added to `sums`.
    """
    e = Emitter(module, kind, name, "pnnpppp")
    features, stride, length, change_bar, mean_bar, scaled, sums = e.arguments
    totals = [e.variable(e.zeros()) for _ in range(rows)]
    with e.loop(0, length, kind.lanes) as n:
        change, mean = e.get(change_bar, n), e.get(mean_bar, n)
        for r, total in enumerate(totals):
            value = e.get(features, e.add(n, e.times(r, stride)))
            e.put(e.product(value, change), scaled, e.add(n, r * CHUNK))
            total.value = e.plus_product(total.value, value, mean)
    for r, total in enumerate(totals):
        e.increase(sums, r, e.sum_of(total.value))
    return e.finish()


def gram_rows(module: ir.Module, kind: Numbers, name: str, rows: int) -> ir.Function:
    """(left, left_stride, right, stride, row, length, gram, M).

    Adds to `rows` rows of left · rightᵀ, as far as the diagonal, what `length` columns give: a
    multiple of the lanes, CHUNK at most.
    """
    e = Emitter(module, kind, name, "pnpnnnpn")
    left, left_stride, right, stride, row, length, gram, M = e.arguments
    edge, columns = e.add(row, rows), _tile(kind).columns
    # A tile may reach beyond the diagonal, but not beyond the matrix.
    wide = e.least(e.times(e.pieces(edge, columns), columns), e.whole(M, columns))
    for start, stop, step in ((0, wide, columns), (wide, edge, 1)):
        tile = once(_gram_tile, module, kind, rows, step)
        with e.loop(start, stop, step) as column:
            other = e.at(right, e.times(column, stride))
            target = e.at(gram, e.add(e.times(row, M), column))
            e.call(tile, left, left_stride, other, stride, length, target, M)
    return e.finish()


def _gram_tile(module: ir.Module, kind: Numbers, name: str, rows: int, columns: int) -> ir.Function:
    """(left, left_stride, right, stride, length, gram, M): gram[r, c] += left[r] · right[c]."""
    e = Emitter(module, kind, name, "pnpnnpn")
    left, left_stride, right, stride, length, gram, M = e.arguments
    sums = [[e.variable(e.zeros()) for _ in range(columns)] for _ in range(rows)]
    with e.loop(0, length, kind.lanes) as n:
        own = [e.get(left, e.add(n, e.times(r, left_stride))) for r in range(rows)]
        for c in range(columns):
            other = e.get(right, e.add(n, e.times(c, stride)))
            for r in range(rows):
                sums[r][c].value = e.plus_product(sums[r][c].value, own[r], other)
    for r in range(rows):
        for c in range(columns):
            e.increase(gram, e.add(e.times(r, M), c), e.sum_of(sums[r][c].value))
    return e.finish()


def gram_groups(e: Emitter, sizes: Sizes):
    """Into how many tasks the rows of a Gram matrix go: each reads all features."""
    return e.least(e.times(2, sizes.threads), e.pieces(sizes.M, _tile(e.kind).rows))


class _Columns(NamedTuple):
    """Some columns of what a Gram matrix is made of: addresses and how many there are."""

    right: Any
    stride: Any
    length: Any
    left: Any = None
    change_bar: Any = None
    mean_bar: Any = None


def gram_task(e: Emitter, data: dict[str, Any], sizes: Sizes, number, groups) -> None:
    """Every `groups`-th few rows of G, over all columns; the last columns are filled with zeros.

    G is (A∘v̄)Aᵀ, or left · rightᵀ where those are given.
    """
    kind, (M, N, *_) = e.kind, sizes
    rows, lanes = _tile(kind).rows, kind.lanes
    vectors = [name for name in ("change_bar", "mean_bar") if name in data]
    matrices = [name for name in ("right", "left") if name in data]
    whole = e.whole(N, lanes)
    left = e.subtract(N, whole)
    tails = [e.times(M, lanes)] * len(matrices) + [lanes] * len(vectors)
    fill = once(tail_in, e.builder.module, kind)
    with e.scratch(rows * CHUNK, *tails) as (scaled, *tails):
        tail = dict(zip((*matrices, *vectors), tails, strict=True))

        def add(columns: _Columns) -> None:
            for first, last, step, count in _own_rows(e, M, number, groups, rows):
                with e.loop(first, last, step) as row:
                    _add_rows(e, data, M, columns, row, count, scaled)

        for first, last, step, count in _own_rows(e, M, number, groups, rows):
            with e.loop(first, last, step) as row:
                _clear_rows(e, data, M, row, count)
        with e.loop(0, whole, CHUNK) as n:
            length = e.least(CHUNK, e.subtract(whole, n))
            add(_Columns(stride=N, length=length, **{k: e.at(data[k], n) for k in tail}))
        with e.builder.if_then(e.builder.icmp_signed(">", left, e.long(0))):
            for name, place in tail.items():
                count = M if name in matrices else 1
                e.call(fill, e.at(data[name], whole), N, count, left, place)
            add(_Columns(stride=e.long(lanes), length=e.long(lanes), **tail))


def _own_rows(e: Emitter, M, number, groups, rows: int):
    """(first, last, step, how many at once); the few rows at the end belong to the first task."""
    full = e.whole(M, rows)
    is_first = e.builder.icmp_signed("==", number, e.long(0))
    yield e.times(number, rows), full, e.times(groups, rows), rows
    yield e.builder.select(is_first, full, M), M, e.long(1), 1


def _clear_rows(e: Emitter, data: dict[str, Any], M, first, count: int) -> None:
    with e.loop(first, e.add(first, count)) as row:
        if "sums" in data:
            e.put(e.zero(), data["sums"], row)
        with e.loop(0, M) as column:
            e.put(e.zero(), data["gram"], e.add(e.times(row, M), column))


def _add_rows(e: Emitter, data, M, columns: _Columns, row, count: int, scaled) -> None:
    module, kind = e.builder.module, e.kind
    own, stride = e.at(columns.left or columns.right, e.times(row, columns.stride)), columns.stride
    if columns.left is None:
        e.call(
            once(scaled_rows, module, kind, count), own, stride, columns.length,
            columns.change_bar, columns.mean_bar, scaled, e.at(data["sums"], row),
        )  # fmt: skip
        own, stride = scaled, CHUNK
    e.call(
        once(gram_rows, module, kind, count), own, stride, columns.right, columns.stride, row,
        columns.length, data["gram"], M,
    )  # fmt: skip


def mirror(e: Emitter, data: dict[str, Any], sizes: Sizes) -> None:
    """The upper half of G is a copy of the lower."""
    M, gram = sizes.M, data["gram"]
    with e.loop(0, M) as row, e.loop(0, row) as column:
        value = e.get_one(gram, e.add(e.times(row, M), column))
        e.put(value, gram, e.add(e.times(column, M), row))
