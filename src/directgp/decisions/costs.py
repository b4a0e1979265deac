"""Base class of costs cost(y, action), and costs for numbers.

    BinaryCost(false_positive, false_negative)   two classes
    CostMatrix(matrix)                           a price for each class and action
    RejectCost(cost, price)                      the same with a reject option
    NewsvendorCost(under, over)                  a number; too little and too much cost differently
    SquareCost()                                 a number; squared error
    IntervalCost(width, miss)                    an interval; costs of its width and of missing y
    FunctionCost(function, actions | lower, upper)   any other

Every price is one number, or one per row. `actions.decide` computes Bayes actions.
"""

import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.decisions.checks import check_one_price, check_prices, check_same_rows
from directgp.errors import DirectGPError
from directgp.losses import Pinball, Score, SquareLoss
from directgp.predictive import Predictive
from directgp.predictive.base import Nodes
from directgp.registry import Registry

costs = Registry("cost")


class Best(NamedTuple):
    """The best and the second best action of each row, with expected costs.

    The second best is None if actions are continuous.
    """

    action: np.ndarray
    expected: Float[np.ndarray, "N"]
    second: np.ndarray | None = None
    second_expected: Float[np.ndarray, "N"] | None = None


class Cost(ABC):
    """cost(y, action) ≥ 0, in the user's units."""

    @abstractmethod
    def values(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        """The cost of every pair.

        Args:
            y: targets [N J].
            action: actions [N 1], or intervals [N 1 2].

        Returns:
            Costs [N J].
        """

    @abstractmethod
    def best(self, predictive: Predictive) -> Best:
        """The Bayes action of each row, in closed form if there is one."""

    @abstractmethod
    def grid(self, predictive: Predictive) -> np.ndarray:
        """Actions [A] for a plot of cost against action."""

    def for_labels(self, labels: Sequence[Any]) -> "Cost":
        """The same cost for a model whose classes 0, 1, … have these labels."""
        return self

    def called(self, action: Any) -> list:
        """The names of actions, or the actions if they have none."""
        return np.asarray(action).tolist()

    def check_stored(self) -> None:
        """Raise a `ValueError` for fields from a file that the constructor would not accept."""
        given = inspect.signature(type(self)).parameters
        type(self)(**{name: vars(self)[name] for name in given})

    def score(self) -> Score:
        """The score to train with for this cost."""
        raise DirectGPError(
            f"there is no training for {type(self).__name__}; train with the log loss and use "
            "decide()"
        )

    def realised(self, y: Any, action: Any) -> Float[np.ndarray, "N"]:
        """Realised costs.

        Args:
            y: observed targets [N].
            action: actions [N] or [N 2].
        """
        y = np.asarray(y, dtype=np.float64)
        action = np.asarray(action)
        if y.ndim != 1 or action.shape[:1] != y.shape:
            raise DirectGPError(
                f"y must be [N] with one action per row, got y {y.shape} and actions {action.shape}"
            )
        if not np.isfinite(y).all():
            raise DirectGPError("y has missing or infinite values; drop these rows first")
        return self.values(y[:, None], action[:, None])[:, 0]

    def expected(self, predictive: Predictive, actions: np.ndarray) -> Float[np.ndarray, "N A"]:
        """E[cost(y, a)] of actions that are the same for all rows.

        Args:
            predictive: the predictive distribution of every row.
            actions: actions [A].
        """
        return curve_of(self, predictive.nodes(), actions)


def curve_of(cost: Cost, nodes: Nodes, actions: np.ndarray) -> Float[np.ndarray, "N A"]:
    """E[cost(y, a)] of actions that are the same for all rows.

    Args:
        cost: the cost.
        nodes: quadrature nodes and weights of the predictive distributions.
        actions: actions [A].
    """
    rows = len(nodes[0])
    each = (np.broadcast_to(a, (rows, *a.shape)) for a in actions)
    return np.stack([expected_of(cost, nodes, action) for action in each], axis=1)


def expected_of(cost: Cost, nodes: Nodes, action: np.ndarray) -> Float[np.ndarray, "N"]:
    """E[cost(y, a_n)] of one action per row.

    Args:
        cost: the cost.
        nodes: quadrature nodes and weights of the predictive distributions.
        action: actions [N].
    """
    y, weights = nodes
    return np.sum(weights * cost.values(y, action[:, None]), axis=1)


def ranked(averages: Float[np.ndarray, "N A"], actions: np.ndarray) -> Best:
    """The best and the second best of a finite set of actions.

    Args:
        averages: expected cost of each action.
        actions: the actions [A].
    """
    first, second = np.argsort(averages, axis=1, kind="stable")[:, :2].T
    rows = np.arange(len(averages))
    return Best(actions[first], averages[rows, first], actions[second], averages[rows, second])


def for_rows(price: np.ndarray, num_rows: int) -> np.ndarray:
    """The price, after a check that it is one number or one for each row.

    Args:
        price: the price.
        num_rows: the number of rows.
    """
    if price.ndim and price.shape != (num_rows,):
        raise DirectGPError(
            f"a cost was given for {price.shape[0]} rows, but there are {num_rows} rows to decide"
        )
    return price


def per_row(price: np.ndarray, num_rows: int) -> np.ndarray:
    """The price broadcast against [N J].

    Args:
        price: one number, or [N].
        num_rows: N.
    """
    checked = for_rows(price, num_rows)
    return checked[:, None] if checked.ndim else checked


@costs.register("newsvendor")
@dataclass(init=False, eq=False)
class NewsvendorCost(Cost):
    """under·(y − a) if a is too small, over·(a − y) if it is too large (pinball).

    The Bayes action is the quantile under/(under + over).

    Args:
        under: the price per unit of too small an action.
        over: the price per unit of too large an action.

    >>> NewsvendorCost(under=4, over=1).realised([10, 10], [8, 12]).tolist()
    [8.0, 2.0]
    """

    under: np.ndarray
    over: np.ndarray

    def __init__(self, under: Any, over: Any):
        self.under = check_prices("under", under, above_zero=True)
        self.over = check_prices("over", over, above_zero=True)
        check_same_rows(under=self.under, over=self.over)

    def values(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        under, over = per_row(self.under, len(y)), per_row(self.over, len(y))
        return np.where(y > action, under * (y - action), over * (action - y))

    def best(self, predictive: Predictive) -> Best:
        action = _row_quantiles(predictive, np.asarray(self.under / (self.under + self.over)))
        return Best(action, expected_of(self, predictive.nodes(), action))

    def grid(self, predictive: Predictive) -> np.ndarray:
        return _central_grid(predictive)

    def score(self) -> Score:
        """The pinball loss at the level of the Bayes action."""
        under, over = check_one_price(self.under), check_one_price(self.over)
        return Pinball((under / (under + over),))


@costs.register("square")
@dataclass(init=False, eq=False)
class SquareCost(Cost):
    """weight·(y − a)²; the Bayes action is the mean, with expected cost weight·variance."""

    weight: np.ndarray

    def __init__(self, weight: Any = 1.0):
        self.weight = check_prices("weight", weight, above_zero=True)

    def values(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        return per_row(self.weight, len(y)) * (y - action) ** 2

    def best(self, predictive: Predictive) -> Best:
        return Best(predictive.mean, for_rows(self.weight, len(predictive)) * predictive.variance)

    def grid(self, predictive: Predictive) -> np.ndarray:
        return _central_grid(predictive)

    def score(self) -> Score:
        """The square loss."""
        check_one_price(self.weight)
        return SquareLoss()


@costs.register("interval")
@dataclass(init=False, eq=False)
class IntervalCost(Cost):
    """width·(upper − lower) + miss·(distance of y to the interval); an action is [lower, upper].

    The Bayes action has the quantiles width/miss and 1 − width/miss. With miss = 2·width/α this is
    the interval score of a 1 − α interval.

    Args:
        width: the price per unit of width.
        miss: the price per unit of distance, more than 2·width.
    """

    width: np.ndarray
    miss: np.ndarray

    def __init__(self, width: Any, miss: Any):
        self.width = check_prices("width", width, above_zero=True)
        self.miss = check_prices("miss", miss, above_zero=True)
        check_same_rows(width=self.width, miss=self.miss)
        if np.any(self.miss <= 2.0 * self.width):
            raise DirectGPError(
                "miss must be more than 2·width, else the best interval has width 0; "
                "use miss = 2·width/0.1 for a 90 % interval"
            )

    def values(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        lower, upper = action[..., 0], action[..., 1]
        if np.any(lower > upper):
            raise DirectGPError("an interval must have lower ≤ upper; swap its ends")
        outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
        rows = len(y)
        return per_row(self.width, rows) * (upper - lower) + per_row(self.miss, rows) * outside

    def best(self, predictive: Predictive) -> Best:
        tail = np.asarray(self.width / self.miss)
        lower = _row_quantiles(predictive, tail)
        upper = _row_quantiles(predictive, np.asarray(1.0 - tail))
        action = np.stack([lower, upper], axis=1)
        return Best(action, expected_of(self, predictive.nodes(), action))

    def grid(self, predictive: Predictive) -> np.ndarray:
        coverages = np.linspace(0.1, 0.98, 23)
        ends = [predictive.interval(float(coverage)) for coverage in coverages]
        return np.array([[np.median(lower), np.median(upper)] for lower, upper in ends])

    def score(self) -> Score:
        """The pinball loss at both ends, whose sum is cost / miss."""
        tail = check_one_price(self.width) / check_one_price(self.miss)
        return Pinball((tail, 1.0 - tail))


def _row_quantiles(predictive: Predictive, levels: np.ndarray) -> Float[np.ndarray, "N"]:
    """The quantile of each row at its own level, computed once per distinct level."""
    if levels.ndim == 0:
        return np.asarray(predictive.quantile(float(levels)))
    for_rows(levels, len(predictive))
    action = np.empty(len(predictive))
    for level in np.unique(levels):
        rows = np.flatnonzero(levels == level)
        action[rows] = predictive[rows].quantile(float(level))
    return action


def _central_grid(predictive: Predictive) -> Float[np.ndarray, "A"]:
    low, high = predictive.interval(0.98)
    return np.linspace(np.min(low), np.max(high), 101)
