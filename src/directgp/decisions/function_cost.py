"""`FunctionCost`: any function cost(y, action), over a list of actions or a range."""

import math
from typing import Any

import numpy as np

from directgp.decisions.checks import check_numbers, shown
from directgp.decisions.costs import (
    Best,
    Cost,
    costs,
    curve_of,
    expected_of,
    ranked,
)
from directgp.decisions.named_function import UntrustedFunction
from directgp.errors import DirectGPError
from directgp.predictive import Predictive
from directgp.predictive.base import Nodes

_GRID = 65
_GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
_SHRINKS = 40  # 0.618^40 = 4e-9 of a grid cell
_FAR = np.geomspace(1e-6, 1e12, 200)
_PROBES = np.concatenate([-_FAR, np.arange(-100.0, 1001.0), _FAR])
"""Values of y at which a function that was 0 so far is tested: at all scales, and counts."""


@costs.register("function")
class FunctionCost(Cost):
    """function(y, action) on arrays, with a list of actions or a range of actions.

    In a range the best action is found on a grid and refined by golden section, so for a cost with
    several local minima it is near the lowest point of the grid.

    Args:
        function: the cost; it must return one cost for each pair of y and action.
        actions: the list of actions.
        lower: the lower end of the range of actions.
        upper: its upper end.

    >>> cost = FunctionCost(lambda y, a: np.minimum(np.abs(y - a), 1.0), lower=-3, upper=3)
    >>> cost.realised([0.0, 2.0], [0.5, -2.0]).tolist()
    [0.5, 1.0]
    """

    def __init__(self, function: Any, *, actions: Any = None, lower: Any = None, upper: Any = None):
        if not callable(function):
            raise DirectGPError(
                f"function must be callable as function(y, action), got {shown(function)}"
            )
        ranged = lower is not None and upper is not None
        if (actions is None) != ranged or (lower is None) != (upper is None):
            raise DirectGPError("give either actions=[…] or both lower= and upper=")
        self.function = function
        self.actions = None if actions is None else _numbers("actions", actions)
        if self.actions is not None and (self.actions.ndim != 1 or len(self.actions) < 2):
            raise DirectGPError(f"actions must be a list of at least 2, got {shown(actions)}")
        if self.actions is not None and len(np.unique(self.actions)) < len(self.actions):
            raise DirectGPError(f"actions must be different from each other, got {shown(actions)}")
        self.lower, self.upper = (
            (float(_number("lower", lower)), float(_number("upper", upper)))
            if ranged
            else (None, None)
        )
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise DirectGPError(f"lower must be below upper, got {lower} and {upper}")

    def values(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        self._check_possible(action)
        given = self._called(y, action)
        shape = np.broadcast_shapes(y.shape, action.shape)
        if given.shape != shape:
            raise DirectGPError(
                f"the cost function must return one cost for each y, shape {shape}, got "
                f"{given.shape}; write it with numpy, e.g. np.abs(y - action)"
            )
        return check_numbers("the cost function's value", given)

    def _called(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        try:
            return np.asarray(self.function(y, action))
        except UntrustedFunction:
            raise
        except Exception as error:
            raise DirectGPError(
                f"the cost function failed with {type(error).__name__}: {error}; it is called with "
                "arrays y and action"
            ) from error

    def best(self, predictive: Predictive) -> Best:
        grid, nodes = self.grid(predictive), predictive.nodes()
        averages = curve_of(self, nodes, grid)
        if not np.any(averages) and self._is_free():
            raise DirectGPError(
                "the cost function is 0 for every y and action, so no action is better than another"
            )
        if self.actions is not None:
            return ranked(averages, grid)
        index = np.argmin(averages, axis=1)
        low, high = grid[np.maximum(index - 1, 0)], grid[np.minimum(index + 1, len(grid) - 1)]
        action = self._golden(nodes, low, high)
        expected = expected_of(self, nodes, action)
        # On a plateau golden section may end at a worse point than the grid.
        better = expected <= averages.min(axis=1)
        action = np.where(better, action, grid[index])
        least = np.minimum(expected, averages.min(axis=1))
        # Kinks are often at round numbers, which golden section only approximates.
        rounded = np.clip(np.round(action, self._digits), self.lower, self.upper)
        as_good = expected_of(self, nodes, rounded) <= least + 1e-9 * np.abs(least)
        return Best(np.where(as_good, rounded, action), least)

    @property
    def _digits(self) -> int:
        """Number of decimals for a resolution of 1e-8 of the range."""
        assert self.lower is not None and self.upper is not None
        return min(300, 8 - math.floor(math.log10(self.upper - self.lower)))

    def grid(self, predictive: Predictive) -> np.ndarray:
        return self._tried

    @property
    def _tried(self) -> np.ndarray:
        """The actions, or a grid of them."""
        if self.actions is not None:
            return self.actions
        assert self.lower is not None and self.upper is not None
        return np.linspace(self.lower, self.upper, _GRID)

    def _is_free(self) -> bool:
        """Whether the function is 0 at all probes, which also cover y far from those of the rows.

        A function that cannot be evaluated at the probes (it has prices per row, or y are classes)
        counts as not 0.
        """
        for rows in (1, 2):  # prices of one row fit one row only
            y = np.broadcast_to(_PROBES, (rows, len(_PROBES)))
            with np.errstate(all="ignore"):
                try:
                    found = [self._called(y, np.full((rows, 1), a)) for a in self._tried]
                except ValueError:
                    return False
            if any(np.any(values) for values in found):
                return False
        return True

    def _golden(self, nodes: Nodes, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        for _ in range(_SHRINKS):
            left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
            lower_half = expected_of(self, nodes, left) <= expected_of(self, nodes, right)
            low, high = np.where(lower_half, low, left), np.where(lower_half, right, high)
        return 0.5 * (low + high)

    def _check_possible(self, action: np.ndarray) -> None:
        if self.actions is not None:
            bad, allowed = ~np.isin(action, self.actions), "one of the listed actions"
        else:
            assert self.lower is not None and self.upper is not None
            outside = (action < self.lower) | (action > self.upper)
            bad, allowed = outside | np.isnan(action), f"between {self.lower:g} and {self.upper:g}"
        if np.any(bad):
            raise DirectGPError(f"an action must be {allowed}, got {action[bad].flat[0]:g}")


def _numbers(name: str, given: Any) -> np.ndarray:
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array(np.nan)
    if not np.isfinite(array).all():
        raise DirectGPError(f"{name} must be finite numbers, got {shown(given)}")
    return array


def _number(name: str, given: Any) -> np.ndarray:
    array = _numbers(name, given)
    if array.ndim:
        raise DirectGPError(f"{name} must be a number, got {shown(given)}")
    return array
