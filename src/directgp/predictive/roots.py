"""Root finding for quantiles: vectorised over rows, exact to the last float at any scale."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

_SIGN_BIT = np.int64(-(2**63))


def newton_in_bracket(
    evaluate: Callable[[Int[np.ndarray, "K"], Float[np.ndarray, "K"]], tuple[Any, Any]],
    log_level: float,
    guess: Float[np.ndarray, "N"],
    low: Float[np.ndarray, "N"],
    high: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "N"]:
    """Solve log F(y) = log_level in (low, high] by Newton steps within the bracket, then bisection.

    In log space Newton's method converges fast in the tails.

    Args:
        evaluate: `evaluate(rows, y)` returns log F and log F′ at y for some of the rows.
        log_level: the logarithm of the required value of F.
        guess: where the search starts.
        low: the lower end of the bracket.
        high: the upper end.
    """
    low, high = low.copy(), high.copy()
    y = np.clip(guess, low, high)
    tolerance = 4 * np.finfo(np.float64).eps * max(1.0, -log_level)
    active = np.flatnonzero(low < high)
    for _ in range(40):
        if active.size == 0:
            return y
        at = y[active]
        log_cdf, log_density = evaluate(active, at)
        error = log_cdf - log_level
        low[active] = np.where(error < 0, at, low[active])
        high[active] = np.where(error < 0, high[active], at)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            newton = at - error * np.exp(log_cdf - log_density)
        # A step smaller than the spacing of floats goes to the neighbour, to close the bracket: the
        # density may have a peak narrower than that spacing, far from the root.
        neighbour = np.nextafter(at, np.where(error < 0, np.inf, -np.inf))
        proposal = np.where(newton == at, neighbour, newton)
        below, above = _to_order(low[active]), _to_order(high[active])
        middle = _middle(below, above)
        inside = (proposal > low[active]) & (proposal < high[active])
        exact, closed = np.abs(error) <= tolerance, middle == below
        following = np.where(inside, proposal, _from_order(middle))
        y[active] = np.where(exact, at, np.where(closed, high[active], following))
        active = active[~(exact | closed)]
    if active.size:
        rows = active
        y[rows] = bisect(lambda at: evaluate(rows, at)[0] >= log_level, low[rows], high[rows])
    return y


def bisect(
    reached: Callable[[Float[np.ndarray, "N"]], Bool[np.ndarray, "N"]],
    low: Float[np.ndarray, "N"],
    high: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "N"]:
    """The smallest float64 in (low, high] at which each row's condition holds, in ≤ 64 bisections.

    The number of floats in the interval is halved, not its length, so all scales take the same
    time.

    Args:
        reached: whether the condition holds, for all rows.
        low: the lower end of the brackets.
        high: the upper end, where the condition holds.
    """
    below, above = _to_order(low), _to_order(high)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while np.any(_middle(below, above) != below):
            middle = _middle(below, above)
            holds = reached(_from_order(middle))
            above = np.where(holds, middle, above)
            below = np.where(holds, below, middle)
    return _from_order(above)


def smallest_count(
    reached: Callable[[Int[np.ndarray, "K"], Float[np.ndarray, "K"]], Bool[np.ndarray, "K"]],
    guess: Float[np.ndarray, "N"],
    step: Float[np.ndarray, "N"],
    tolerance: float = 0.0,
) -> Float[np.ndarray, "N"]:
    """The smallest whole number ≥ 0 at which each row's condition holds; ∞ if none below 2⁵³.

    Steps from the guess are doubled until the count is bracketed, then bisection: about log₂ of the
    error of the guess. With a `tolerance`, the result may be larger by this relative amount.

    Args:
        reached: whether the condition holds at these counts, for some of the rows.
        guess: where the search starts.
        step: the first step from it.
        tolerance: relative, of the result.
    """
    limit = 2.0**53
    k = np.clip(np.rint(guess), 0.0, limit)
    step = np.clip(np.rint(step), 1.0, limit)
    low, high = np.full(k.size, -1.0), np.full(k.size, 2 * limit)
    active = np.arange(k.size)
    while active.size:
        holds = reached(active, k[active])
        low[active] = np.where(holds, low[active], k[active])
        high[active] = np.where(holds, k[active], high[active])
        below, above, at, by = low[active], high[active], k[active], step[active]
        galloping = np.where(holds, below < 0, above > limit)
        onward = np.clip(np.where(holds, at - by, at + by), 0.0, limit)
        k[active] = np.where(galloping, onward, np.floor(0.5 * (below + above)))
        step[active] = 2.0 * by
        high[active] = np.where((below >= limit) & ~holds, np.inf, above)
        close = np.maximum(1.0, tolerance * low[active])
        active = active[(high[active] - low[active] > close) & np.isfinite(high[active])]
    return high


def _to_order(x: Float[np.ndarray, "N"]) -> Int[np.ndarray, "N"]:
    """Integers in the order of the floats, with consecutive integers for neighbouring floats."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
    return np.where(bits >= 0, bits, _SIGN_BIT - bits)


def _from_order(order: Int[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    return np.where(order >= 0, order, _SIGN_BIT - order).view(np.float64)


def _middle(low: Int[np.ndarray, "N"], high: Int[np.ndarray, "N"]) -> Int[np.ndarray, "N"]:
    """⌊(low + high)/2⌋ without overflow."""
    return (low >> 1) + (high >> 1) + (low & high & 1)
