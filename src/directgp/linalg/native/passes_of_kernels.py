"""Stationary kernels and their derivative, k = profile(r²) with r² = Σ_d (x_d − z_d)².

Differences are taken before they are squared, so that near points keep their digits.
"""

from typing import Any

from llvmlite import ir

from directgp.linalg.native.emit import Emitter, Numbers
from directgp.linalg.native.gram import CHUNK
from directgp.linalg.native.panels import once, tail_in
from directgp.linalg.native.passes import Pass, Sizes
from directgp.linalg.native.profiles import PROFILES

_ROWS = 4
_COLUMNS = 512
"""Columns of one task of the forward pass."""


def kernel_columns(module: ir.Module, kind: Numbers, name: str, profile: str) -> ir.Function:
    """(centres, D, columns, stride, M, length, value, slope, target_stride).

    k at all centres and `length` columns of [D N], a multiple of the lanes.
    """
    e = Emitter(module, kind, name, "pnpnnnppn")
    centres, D, columns, stride, M, length, value, slope, target_stride = e.arguments
    start = e.long(0)
    for rows in (_ROWS, 1):
        stop = e.whole(M, rows)
        with e.loop(start, stop, rows) as row, e.loop(0, length, kind.lanes) as n:
            sums = [e.variable(e.zeros()) for _ in range(rows)]
            with e.loop(0, D) as d:
                here = e.get(columns, e.add(e.times(d, stride), n))
                for r, total in enumerate(sums):
                    centre = e.get_one(centres, e.add(e.times(e.add(row, r), D), d))
                    apart = e.difference(e.everywhere(centre), here)
                    total.value = e.plus_product(total.value, apart, apart)
            for r, total in enumerate(sums):
                at = e.add(e.times(e.add(row, r), target_stride), n)
                found = PROFILES[profile](e, total.value)
                for numbers, target in zip(found, (value, slope), strict=False):
                    e.put(numbers, target, at)
        start = stop
    return e.finish()


def _forward(profile: str):
    def task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
        kind, (M, N, D, *_) = e.kind, sizes
        lanes, slope = kind.lanes, data.get("slope", data["value"])
        columns = once(kernel_columns, e.builder.module, kind, profile)
        fill = once(tail_in, e.builder.module, kind)
        first = e.times(number, _COLUMNS)
        last = e.least(e.add(first, _COLUMNS), N)
        whole = e.whole(e.subtract(last, first), lanes)
        here = e.at(data["columns"], first)
        targets = e.at(data["value"], first), e.at(slope, first)
        e.call(columns, data["centres"], D, here, N, M, whole, *targets, N)
        begin = e.add(first, whole)
        left = e.subtract(last, begin)
        with e.builder.if_then(e.builder.icmp_signed(">", left, e.long(0))):
            rooms = e.times(D, lanes), e.times(M, lanes), e.times(M, lanes)
            with e.scratch(*rooms) as (tail, values, slopes):
                e.call(fill, e.at(data["columns"], begin), N, D, left, tail)
                e.call(columns, data["centres"], D, tail, lanes, M, lanes, values, slopes, lanes)
                kept = ((values, data["value"]), (slopes, slope))[: 1 + ("slope" in data)]
                with e.loop(0, M) as row, e.loop(0, left) as k:
                    for source, target in kept:
                        found = e.get_one(source, e.add(e.times(row, lanes), k))
                        e.put(found, target, e.add(e.add(e.times(row, N), begin), k))

    return task


def kernel_sums(module: ir.Module, kind: Numbers, name: str, rows: int) -> ir.Function:
    """(value_bar, slope, stride, centres, D, columns, column_stride, length, weights, …).

    Adds Σ_n W (x − z) to `first` and Σ_n W (x − z)² to `second`, W = value_bar∘slope, over `length`
    columns.
    """
    e = Emitter(module, kind, name, "ppnpnpnnppp")
    value_bar, slope, stride, centres, D, columns, column_stride, length = e.arguments[:8]
    weights, first, second = e.arguments[8:]
    with e.loop(0, length, kind.lanes) as n:
        for r in range(rows):
            at = e.add(e.times(r, stride), n)
            product = e.product(e.get(value_bar, at), e.get(slope, at))
            e.put(product, weights, e.add(n, r * CHUNK))
    with e.loop(0, D) as d:
        own = [e.everywhere(e.get_one(centres, e.add(e.times(r, D), d))) for r in range(rows)]
        linear, square = ([e.variable(e.zeros()) for _ in range(rows)] for _ in range(2))
        with e.loop(0, length, kind.lanes) as n:
            here = e.get(columns, e.add(e.times(d, column_stride), n))
            for r in range(rows):
                apart = e.difference(own[r], here)
                weighted = e.product(e.get(weights, e.add(n, r * CHUNK)), apart)
                linear[r].value = e.builder.fadd(linear[r].value, weighted)
                square[r].value = e.plus_product(square[r].value, weighted, apart)
        for r in range(rows):
            at = e.add(e.times(r, D), d)
            e.increase(first, at, e.sum_of(linear[r].value))
            e.increase(second, at, e.sum_of(square[r].value))
    return e.finish()


def _backward_task(e: Emitter, data: dict[str, Any], sizes: Sizes, number) -> None:
    """A few rows, over all columns."""
    M = sizes.M
    first = e.times(number, _ROWS)
    all_rows = e.builder.icmp_signed("<=", e.add(first, _ROWS), M)
    with e.builder.if_else(all_rows) as (together, one_by_one):
        with together:
            _sums_of_rows(e, data, sizes, first, _ROWS)
        with one_by_one, e.loop(first, M) as row:
            _sums_of_rows(e, data, sizes, row, 1)


def _sums_of_rows(e: Emitter, data: dict[str, Any], sizes: Sizes, row, rows: int) -> None:
    kind, (_, N, D, *_) = e.kind, sizes
    lanes = kind.lanes
    add = once(kernel_sums, e.builder.module, kind, rows)
    fill = once(tail_in, e.builder.module, kind)
    centres = e.at(data["centres"], e.times(row, D))
    targets = [e.at(data[name], e.times(row, D)) for name in ("first", "second")]
    with e.loop(0, e.times(D, rows)) as k:
        for target in targets:
            e.put(e.zero(), target, k)
    whole = e.whole(N, lanes)
    left = e.subtract(N, whole)
    bar, slope = (e.at(data[name], e.times(row, N)) for name in ("value_bar", "slope"))
    with e.scratch(rows * CHUNK) as (weights,):
        with e.loop(0, whole, CHUNK) as n:
            length = e.least(CHUNK, e.subtract(whole, n))
            here = e.at(data["columns"], n)
            e.call(
                add, e.at(bar, n), e.at(slope, n), N, centres, D, here, N, length, weights, *targets
            )
        rooms = e.times(D, lanes), rows * lanes, rows * lanes
        some = e.builder.icmp_signed(">", left, e.long(0))
        with e.builder.if_then(some), e.scratch(*rooms) as (tail, bars, slopes):
            e.call(fill, e.at(data["columns"], whole), N, D, left, tail)
            e.call(fill, e.at(bar, whole), N, rows, left, bars)
            e.call(fill, e.at(slope, whole), N, rows, left, slopes)
            e.call(add, bars, slopes, lanes, centres, D, tail, lanes, lanes, weights, *targets)


def kernel_passes() -> list[Pass]:
    """A forward pass for each profile, and one backward pass for all."""
    inputs = {"centres": "MD", "columns": "DN"}

    def columns(e: Emitter, sizes: Sizes):
        return e.pieces(sizes.N, _COLUMNS)

    def rows(e: Emitter, sizes: Sizes):
        return e.pieces(sizes.M, _ROWS)

    found = [
        Pass(
            f"kernel_{name}",
            inputs,
            {"value": "MN"} if name == "rbf" else {"value": "MN", "slope": "MN"},
            columns,
            _forward(name),
        )
        for name in PROFILES
    ]
    given = {"value_bar": "MN", "slope": "MN"} | inputs
    sums = {"first": "MD", "second": "MD"}
    return [*found, Pass("kernel_backward", given, sums, rows, _backward_task)]
