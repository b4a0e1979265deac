"""Integrals over f ~ N(mean, std²) to about ten digits, also for narrow or remote integrands.

Training uses a few nodes. Predictions must also be accurate for a count of 10⁵, whose likelihood is
narrower than the distance of nodes of a fixed rule, and for a class that is improbable by 50
standard deviations. So the nodes are placed adaptively where the integrand is large.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp, ndtr

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_DROP = 45.0  # nats below the peak at which an integrand is cut off: e⁻⁴⁵ = 3e-20
_REACH = 9.5  # standard deviations that hold all but 2e-21 of a Gaussian
_LOOK = np.linspace(0.0, 1.0, 33)[:, None]
_INTERVALS, _MOST_INTERVALS = 256, 256 * 4**4
_BLOCK = 4096  # integrals per block, which bounds memory

# Gauss–Legendre, for integrands that do not vanish at the ends.
_STEP_NODES, _STEP_WEIGHTS = (column[:, None] for column in np.polynomial.legendre.leggauss(32))
_MOST_PANELS = 64

Integrand = Callable[[Int[np.ndarray, "E"], Float[np.ndarray, "K E"]], Float[np.ndarray, "K E"]]


def in_blocks(
    function: Callable[[Int[np.ndarray, "B"]], np.ndarray], count: int, block: int = _BLOCK
) -> np.ndarray:
    """function(numbers) for numbers 0 … count − 1, in blocks joined on the last axis.

    Args:
        function: of an array of numbers.
        count: of numbers.
        block: the size of a block.
    """
    starts = range(0, max(count, 1), max(block, 1))
    parts = [function(np.arange(start, min(start + block, count))) for start in starts]
    return np.concatenate(parts, axis=-1)


def log_mean_exp(
    integrand: Integrand, mean: Float[np.ndarray, "E"], std: Float[np.ndarray, "E"]
) -> Float[np.ndarray, "E"]:
    """Log E[exp g(f)], f ~ N(mean, std²), for E integrals with g unimodal in f.

    With f = mean + std·x, an interval of x is widened and narrowed until the integrand is smaller
    by e⁻⁴⁵ at its ends and fills it; the trapezoidal rule then converges exponentially. It has more
    nodes if the integrand has an edge that is much narrower than the Gaussian.

    Args:
        integrand: `integrand(numbers, f)` is g of the integrals with these numbers at K points
            each.
        mean: of f.
        std: of f.
    """

    def one_block(numbers: np.ndarray) -> np.ndarray:
        def height(rows: np.ndarray, x: np.ndarray) -> np.ndarray:
            at = numbers[rows]
            return integrand(at, mean[at] + std[at] * x) - 0.5 * x**2

        low, high = _window(height, numbers.size)
        total = np.zeros(numbers.size)
        pending, intervals = np.arange(numbers.size), _INTERVALS
        while pending.size and intervals <= _MOST_INTERVALS:
            fine, coarse = _trapezoid(height, pending, low[pending], high[pending], intervals)
            total[pending] = fine
            # The error squares with each halving, so agreement to 1e-6 means 1e-12.
            pending = pending[np.abs(fine - coarse) > 1e-6]
            intervals *= 4
        return total

    return in_blocks(one_block, mean.size)


def _window(height: Integrand, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The interval where each function is within _DROP of its peak, by 33 points per step."""
    low, high = np.full(count, -_REACH), np.full(count, _REACH)
    active = np.arange(count)
    for _ in range(100):
        a, b = low[active], high[active]
        x = a + (b - a) * _LOOK
        values = height(active, x)
        above = values > np.max(values, axis=0) - _DROP
        first, last = np.argmax(above, axis=0), len(_LOOK) - 1 - np.argmax(above[::-1], axis=0)
        columns, width = np.arange(active.size), b - a
        left, right = first == 0, last == len(_LOOK) - 1
        # Widen where the function has not ended, until it has on both sides; only then narrow.
        widen = left | right
        narrowed = x[np.maximum(first - 1, 0), columns], x[last + ~right, columns]
        low[active] = np.where(widen, a - width * left, narrowed[0])
        high[active] = np.where(widen, b + width * right, narrowed[1])
        # Done when the function fills a third of the window.
        active = active[widen | (last - first < 10)]
        if active.size == 0:
            break
    return low, high


def _trapezoid(
    height: Integrand, rows: Int[np.ndarray, "E"], low: Any, high: Any, intervals: int
) -> tuple[Float[np.ndarray, "E"], Float[np.ndarray, "E"]]:
    """Log-integrals with this many intervals, and with half of them."""
    fraction = np.linspace(0.0, 1.0, intervals + 1)[:, None]
    log_spacing = np.log((high - low) / intervals) - _LOG_SQRT_2PI
    fine, coarse = np.empty(rows.size), np.empty(rows.size)
    block = max(1, _BLOCK * _INTERVALS // intervals)
    for first in range(0, rows.size, block):
        part = slice(first, first + block)
        values = height(rows[part], low[part] + (high - low)[part] * fraction)
        fine[part] = logsumexp(values, axis=0)
        coarse[part] = logsumexp(values[::2], axis=0) + np.log(2.0)
    return fine + log_spacing, coarse + log_spacing


def mean_of_step(
    step: Integrand,
    start: Float[np.ndarray, "E"],
    stop: Float[np.ndarray, "E"],
    mean: Float[np.ndarray, "E"],
    std: Float[np.ndarray, "E"],
    falling: bool,
) -> Float[np.ndarray, "E"]:
    """E[h(f)], f ~ N(mean, std²), for h between 0 and 1 that changes only between start and stop.

    If `falling`, h is 1 below `start` and 0 above `stop`, else the reverse. That part is a Gaussian
    tail probability; the rest is integrated by Gauss–Legendre, with the number of panels doubled
    until the result does not change.

    Args:
        step: h.
        start: where h begins to change.
        stop: where it ends.
        mean: of f.
        std: of f.
        falling: whether h goes from 1 to 0.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        scale = np.maximum(std, np.finfo(np.float64).tiny)
        low = np.clip((start - mean) / scale, -_REACH, _REACH)
        high = np.clip((stop - mean) / scale, -_REACH, _REACH)
    certain = ndtr(low) if falling else ndtr(-high)

    def integrate(numbers: np.ndarray, panels: int) -> np.ndarray:
        total = np.empty(numbers.size)
        for first in range(0, numbers.size, _BLOCK):
            some = numbers[first : first + _BLOCK]
            half = 0.5 * (high - low)[some] / panels
            part = np.zeros(some.size)
            for panel in range(panels):
                x = low[some] + half * (2.0 * panel + 1.0 + _STEP_NODES)
                values = np.exp(-0.5 * x**2 - _LOG_SQRT_2PI) * step(
                    some, mean[some] + std[some] * x
                )
                part += half * np.sum(_STEP_WEIGHTS * values, axis=0)
            total[first : first + some.size] = part
        return total

    pending, panels = np.arange(mean.size), 1
    inside = integrate(pending, panels)
    while pending.size and panels < _MOST_PANELS:
        panels *= 2
        finer = integrate(pending, panels)
        change = np.abs(finer - inside[pending])
        inside[pending] = finer
        pending = pending[change > 1e-10 * (certain[pending] + finer)]
    return np.clip(certain + inside, 0.0, 1.0)


def mean_and_variance(
    function: Callable[[np.ndarray], np.ndarray],
    mean: Float[np.ndarray, "*shape"],
    variance: Float[np.ndarray, "*shape"],
) -> tuple[Float[np.ndarray, "*shape"], Float[np.ndarray, "*shape"]]:
    """E[h(f)] and Var[h(f)], f ~ N(mean, variance), for a smooth h that grows slowly.

    Args:
        function: h.
        mean: of f.
        variance: of f.
    """

    def one_block(numbers: np.ndarray) -> np.ndarray:
        x = np.linspace(-_REACH, _REACH, 8 * _INTERVALS + 1)[:, None]
        weights = np.exp(-0.5 * x**2)
        weights = weights / np.sum(weights)
        values = function(mean.ravel()[numbers] + np.sqrt(variance.ravel()[numbers]) * x)
        average = np.sum(weights * values, axis=0)
        return np.stack([average, np.sum(weights * (values - average) ** 2, axis=0)])

    first, second = in_blocks(one_block, mean.size, _BLOCK // 8)
    return first.reshape(mean.shape), second.reshape(mean.shape)
