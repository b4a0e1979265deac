"""Profiles of stationary kernels, k = profile(r²), and their slopes, for vectors of r²."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from directgp.linalg.native.emit import Emitter

_TINY = 1e-12


class Exponential(NamedTuple):
    """How far Taylor's series goes for |r| ≤ ln(2)/2, and where eˣ is taken for 0."""

    terms: int
    least: float
    magic: float
    """1.5 times the power of two whose neighbours are whole numbers."""
    log2_high: float
    """The first bits of ln 2, so that n·log2_high is exact."""
    log2_low: float
    """The rest of ln 2, to more digits than a single number has."""


_EXPONENTIALS = {
    "float32": Exponential(7, -87.0, 1.5 * 2.0**23, 0.693359375, -2.12194440054690583e-4),
    "float64": Exponential(13, -708.0, 1.5 * 2.0**52, 0.6931471803691238, 1.9082149292705877e-10),
}


def exponential(e: Emitter, x):
    """eˣ for x ≤ 0: 2ⁿ eʳ with x = n ln 2 + r; the rounding of eʳ is that of its last product."""
    own = _EXPONENTIALS[e.kind.name]
    small = e.where_less(x, e.number(own.least), e.number(own.least), x)
    shifted = e.plus_product(e.number(own.magic), small, e.number(1.0 / math.log(2.0)))
    n = e.difference(shifted, e.number(own.magic))
    r = e.plus_product(small, n, e.number(-own.log2_high))
    r = e.plus_product(r, n, e.number(-own.log2_low))
    series = e.number(1.0 / math.factorial(own.terms))
    for k in range(own.terms - 1, -1, -1):
        series = e.plus_product(e.number(1.0 / math.factorial(k)), series, r)
    value = e.product(series, e.power_of_two(shifted, own.magic))
    # 0 for what is too small, but no number for −∞: a point at infinity is a mistake to be seen.
    return e.where_less(x, e.number(own.least), e.product(e.number(-0.0), x), value)


def _rbf(e: Emitter, squared):
    return (exponential(e, e.product(e.number(-0.5), squared)),)


def _decay(e: Emitter, squared, factor: float):
    """√(factor r²) and e to its negative."""
    root = e.root(e.product(e.number(factor), squared))
    return root, exponential(e, e.difference(e.zeros(), root))


def _matern12(e: Emitter, squared):
    _, value = _decay(e, squared, 1.0)
    away = e.where_less(squared, e.number(_TINY), e.number(_TINY), squared)
    return value, e.builder.fdiv(e.product(e.number(-0.5), value), e.root(away))


def _matern32(e: Emitter, squared):
    root, decay = _decay(e, squared, 3.0)
    return e.plus_product(decay, root, decay), e.product(e.number(-1.5), decay)


def _matern52(e: Emitter, squared):
    root, decay = _decay(e, squared, 5.0)
    linear = e.plus_product(e.number(1.0), root, e.number(1.0))
    square = e.plus_product(linear, e.product(root, root), e.number(1.0 / 3.0))
    slope = e.product(e.number(-5.0 / 6.0), e.product(linear, decay))
    return e.product(square, decay), slope


PROFILES: dict[str, Callable[[Emitter, Any], tuple]] = {
    "rbf": _rbf,
    "matern12": _matern12,
    "matern32": _matern32,
    "matern52": _matern52,
}
"""The value at r² and its slope; RBF's slope is −½ of its value."""
