"""Bayes actions from a predictive distribution and a cost, with expected and realised costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.decisions.class_costs import BinaryCost
from directgp.decisions.costs import Cost
from directgp.errors import DirectGPError
from directgp.predictive import ClassProbabilities, Predictive
from directgp.predictive.base import check_rows


class CostCurve(NamedTuple):
    """Cost against action: `actions` [A] and `expected` [N A]."""

    actions: np.ndarray
    expected: Float[np.ndarray, "N A"]


class ThresholdCurve(NamedTuple):
    """Mean cost per row of acting wherever P(positive) exceeds a threshold, ± standard error."""

    thresholds: Float[np.ndarray, "T"]
    mean: Float[np.ndarray, "T"]
    error: Float[np.ndarray, "T"]


@dataclass(frozen=True)
class Decision:
    """The Bayes action of each row: `action` [N] (intervals [N 2]), its `expected_cost` [N].

    `second_best` [N] is the next best action with its `second_best_cost` [N]; None if actions are
    continuous. `labels` are the user's class labels, if y of `realised` are labels.
    """

    action: np.ndarray
    expected_cost: Float[np.ndarray, "N"]
    second_best: np.ndarray | None
    second_best_cost: Float[np.ndarray, "N"] | None
    cost: Cost
    predictive: Predictive
    labels: tuple[Any, ...] | None = None

    @property
    def named(self) -> list:
        """The actions by their names, or as numbers if they have none."""
        return self.cost.called(self.action)

    def curve(self, actions: Any = None) -> CostCurve:
        """Expected cost of other actions, the same for all rows, by default on a grid."""
        grid = self.cost.grid(self.predictive) if actions is None else np.asarray(actions)
        return CostCurve(grid, self.cost.expected(self.predictive, grid))

    def take(self, rows: Any, cost: Cost | None = None) -> "Decision":
        """The decisions of some of the rows.

        Args:
            rows: their indices, or a mask.
            cost: the cost of these rows, if prices are given per row.
        """
        second, price = self.second_best, self.second_best_cost
        return replace(
            self,
            action=self.action[rows],
            expected_cost=self.expected_cost[rows],
            second_best=None if second is None else second[rows],
            second_best_cost=None if price is None else price[rows],
            cost=self.cost if cost is None else cost,
            predictive=self.predictive[rows],
        )

    def realised(self, y: Any) -> Float[np.ndarray, "N"]:
        """Realised cost of the actions."""
        return self.cost.realised(self.class_numbers(y), self.action)

    def class_numbers(self, y: Any) -> Float[np.ndarray, "N"]:
        """Convert labels to class numbers; numbers are unchanged."""
        if self.labels is None:
            return check_rows(y, len(self.predictive))
        given = np.asarray(y)
        if given.shape != (len(self.predictive),):
            raise DirectGPError(
                f"y must have shape ({len(self.predictive)},), got {given.shape}; give the label "
                "of each row that was decided"
            )
        places = {label: number for number, label in enumerate(self.labels)}
        strange = next((label for label in given.tolist() if label not in places), None)
        if strange is not None:
            raise DirectGPError(
                f"y has the label {strange!r}, which is none of the classes {list(self.labels)}"
            )
        return np.array([places[label] for label in given.tolist()], dtype=np.float64)


def decide(predictive: Predictive, cost: Any, labels: Sequence[Any] | None = None) -> Decision:
    """The Bayes action of every row: the action of least expected cost.

    Args:
        predictive: the predictive distribution of every row.
        cost: a `Cost`, whose prices may be given per row.
        labels: the user's labels of the classes 0, 1, …, for a cost with labels.

    Returns:
        The actions with their expected costs.

    >>> p = ClassProbabilities(np.log([[0.9, 0.1], [0.99, 0.01]]))
    >>> decision = decide(p, BinaryCost(false_positive=1, false_negative=19))
    >>> decision.action.tolist(), decision.expected_cost.round(2).tolist()
    ([1, 0], [0.9, 0.19])
    """
    if not isinstance(cost, Cost):
        raise DirectGPError(
            f"cost must be a Cost, got {cost!r}; use e.g. BinaryCost(1, 20) or read_cost(file)"
        )
    if labels is not None:
        labels = tuple(np.asarray(labels).tolist())
        cost = cost.for_labels(labels)
    best = cost.best(predictive)
    return Decision(
        best.action,
        best.expected,
        best.second,
        best.second_expected,
        cost,
        predictive,
        None if labels is None else tuple(labels),
    )


def threshold_curve(
    predictive: ClassProbabilities, y: Any, cost: BinaryCost, thresholds: Any = None
) -> ThresholdCurve:
    """Realised mean cost of acting above each threshold, to compare with the Bayes threshold.

    Args:
        predictive: the probabilities of two classes for every row.
        y: the classes, 0 or 1.
        cost: the prices of a false alarm and of a miss.
        thresholds: of P(positive), by default 199 from 0.005 to 0.995.
    """
    averages = cost.averages(predictive)  # raises an error if it is not of two classes
    labels = check_rows(y, len(averages))
    p = predictive.probabilities[:, cost.act]
    given = np.linspace(0.005, 0.995, 199) if thresholds is None else thresholds
    thresholds = np.asarray(given, dtype=np.float64)
    leave = 1 - cost.act
    prices = np.stack([cost.realised(labels, np.where(p > t, cost.act, leave)) for t in thresholds])
    error = prices.std(axis=1, ddof=1 if len(p) > 1 else 0) / np.sqrt(len(p))
    return ThresholdCurve(thresholds, prices.mean(axis=1), error)
