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
_BLOCK = 16
"""Rows and columns of a block that is transposed at once."""


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


def weighted_rows(module: ir.Module, kind: Numbers, name: str, rows: int) -> ir.Function:
    """(features, stride, length, change_bar, mean_bar, latent_stride, P, weights, M, …).

    Rows of `scaled` become 2 Σ_p c_p A∘v̄_p; A² v̄_p is added to `squares`, A μ̄_p to `sums`.
    """
    e = Emitter(module, kind, name, "pnnppnnpnppp")
    features, stride, length, change_bar, mean_bar, latent_stride, P, weights, M = e.arguments[:9]
    scaled, squares, sums = e.arguments[9:]
    with e.loop(0, length, kind.lanes) as n:
        for r in range(rows):
            e.put(e.zeros(), scaled, e.add(n, r * CHUNK))
    with e.loop(0, P) as p:
        own = [e.everywhere(e.get_one(weights, e.add(e.times(p, M), r))) for r in range(rows)]
        own = [e.product(e.number(2.0), weight) for weight in own]
        of_mean, of_change = ([e.variable(e.zeros()) for _ in range(rows)] for _ in range(2))
        with e.loop(0, length, kind.lanes) as n:
            at = e.add(e.times(p, latent_stride), n)
            change, mean = e.get(change_bar, at), e.get(mean_bar, at)
            for r in range(rows):
                value, here = e.get(features, e.add(n, e.times(r, stride))), e.add(n, r * CHUNK)
                product = e.product(value, change)
                e.put(e.plus_product(e.get(scaled, here), own[r], product), scaled, here)
                of_change[r].value = e.plus_product(of_change[r].value, value, product)
                of_mean[r].value = e.plus_product(of_mean[r].value, value, mean)
        for r in range(rows):
            place = e.add(e.times(p, M), r)
            e.increase(squares, place, e.sum_of(of_change[r].value))
            e.increase(sums, place, e.sum_of(of_mean[r].value))
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
    """From row to row, and from latent function to latent function."""
    length: Any
    left: Any = None
    change_bar: Any = None
    mean_bar: Any = None


def gram_task(e: Emitter, data: dict[str, Any], sizes: Sizes, number, groups) -> None:
    """Every `groups`-th few rows of G, over all columns; the last columns are filled with zeros.

    G is (A∘v̄)Aᵀ, or left · rightᵀ where those are given; 2 Σ_p (c_p∘A∘v̄_p)Aᵀ, of which only the
    lower half is wanted, where `excess` is.
    """
    kind, (M, N, _, P, _) = e.kind, sizes
    rows, lanes = _tile(kind).rows, kind.lanes
    latents = P if "excess" in data else e.long(1)
    vectors = [name for name in ("change_bar", "mean_bar") if name in data]
    matrices = [name for name in ("right", "left") if name in data]
    whole = e.whole(N, lanes)
    left = e.subtract(N, whole)
    counts = dict.fromkeys(matrices, M) | dict.fromkeys(vectors, latents)
    fill = once(tail_in, e.builder.module, kind)
    with e.scratch(rows * CHUNK, *(e.times(n, lanes) for n in counts.values())) as (scaled, *tails):
        tail = dict(zip(counts, tails, strict=True))

        def add(columns: _Columns) -> None:
            for first, last, step, count in _own_rows(e, M, number, groups, rows):
                with e.loop(first, last, step) as row:
                    _add_rows(e, data, sizes, columns, row, count, scaled)

        for first, last, step, count in _own_rows(e, M, number, groups, rows):
            with e.loop(first, last, step) as row:
                _clear_rows(e, data, M, latents, row, count)
        with e.loop(0, whole, CHUNK) as n:
            length = e.least(CHUNK, e.subtract(whole, n))
            add(_Columns(stride=N, length=length, **{k: e.at(data[k], n) for k in tail}))
        with e.builder.if_then(e.builder.icmp_signed(">", left, e.long(0))):
            for name, place in tail.items():
                e.call(fill, e.at(data[name], whole), N, counts[name], left, place)
            add(_Columns(stride=e.long(lanes), length=e.long(lanes), **tail))


def _own_rows(e: Emitter, M, number, groups, rows: int):
    """(first, last, step, how many at once); the few rows at the end belong to the first task."""
    full = e.whole(M, rows)
    is_first = e.builder.icmp_signed("==", number, e.long(0))
    yield e.times(number, rows), full, e.times(groups, rows), rows
    yield e.builder.select(is_first, full, M), M, e.long(1), 1


def _clear_rows(e: Emitter, data: dict[str, Any], M, latents, first, count: int) -> None:
    sums = [data[name] for name in ("sums", "squares") if name in data]
    with e.loop(first, e.add(first, count)) as row:
        with e.loop(0, latents) as p:
            for target in sums:
                e.put(e.zero(), target, e.add(e.times(p, M), row))
        with e.loop(0, M) as column:
            e.put(e.zero(), data["gram"], e.add(e.times(row, M), column))


def _add_rows(e: Emitter, data, sizes: Sizes, columns: _Columns, row, count: int, scaled) -> None:
    module, kind, M = e.builder.module, e.kind, sizes.M
    own, stride = e.at(columns.left or columns.right, e.times(row, columns.stride)), columns.stride
    if "excess" in data:
        e.call(
            once(weighted_rows, module, kind, count), own, stride, columns.length,
            columns.change_bar, columns.mean_bar, stride, sizes.P, e.at(data["excess"], row), M,
            scaled, e.at(data["squares"], row), e.at(data["sums"], row),
        )  # fmt: skip
    elif columns.left is None:
        e.call(
            once(scaled_rows, module, kind, count), own, stride, columns.length,
            columns.change_bar, columns.mean_bar, scaled, e.at(data["sums"], row),
        )  # fmt: skip
    if columns.left is None:
        own, stride = scaled, CHUNK
    e.call(
        once(gram_rows, module, kind, count), own, stride, columns.right, columns.stride, row,
        columns.length, data["gram"], M,
    )  # fmt: skip


def mirror(e: Emitter, data: dict[str, Any], sizes: Sizes) -> None:
    """The upper half of G is a copy of the lower."""
    _mirror_one(e, data["gram"], sizes.M)


def mirror_each(e: Emitter, data: dict[str, Any], sizes: Sizes) -> None:
    """The same for every latent function's."""
    with e.loop(0, sizes.P) as p:
        _mirror_one(e, e.at(data["gram"], e.times(p, e.times(sizes.M, sizes.M))), sizes.M)


def _mirror_one(e: Emitter, gram, M) -> None:
    """Block by block, to stay in the nearest cache."""
    with (
        e.loop(0, M, _BLOCK) as first_row,
        e.loop(0, e.add(first_row, 1), _BLOCK) as first_column,
        e.loop(first_row, e.least(e.add(first_row, _BLOCK), M)) as row,
        e.loop(first_column, e.least(e.add(first_column, _BLOCK), row)) as column,
    ):
        value = e.get_one(gram, e.add(e.times(row, M), column))
        e.put(value, gram, e.add(e.times(column, M), row))
