"""From a predictive and a cost to what to do, what it will cost, and what it did cost."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.decisions.class_costs import BinaryCost
from directgp.decisions.costs import Cost
from directgp.predictive import ClassProbabilities, Predictive
from directgp.predictive.base import check_rows


class CostCurve(NamedTuple):
    """Cost against action: `actions` [A] and `expected` [N A]."""

    actions: np.ndarray
    expected: Float[np.ndarray, "N A"]


class ThresholdCurve(NamedTuple):
    """Mean cost per row of acting wherever P(y = 1) exceeds a threshold, and its standard error."""

    thresholds: Float[np.ndarray, "T"]
    mean: Float[np.ndarray, "T"]
    error: Float[np.ndarray, "T"]


@dataclass(frozen=True)
class Decision:
    """The Bayes action of each row: `action` [N] (intervals [N 2]), its `expected_cost` [N].

    `second_best_cost` [N] is what the next best action would cost; None where actions form a
    continuum, in which the next best is as good.
    """

    action: np.ndarray
    expected_cost: Float[np.ndarray, "N"]
    second_best_cost: Float[np.ndarray, "N"] | None
    cost: Cost
    predictive: Predictive

    def curve(self, actions: Any = None) -> CostCurve:
        """Expected cost of other actions, the same for all rows; a sensible grid by default."""
        grid = self.cost.grid(self.predictive) if actions is None else np.asarray(actions)
        return CostCurve(grid, self.cost.expected(self.predictive, grid))

    def realised(self, y: Any) -> Float[np.ndarray, "N"]:
        """What the actions cost now that y is known."""
        return self.cost.realised(check_rows(y, len(self.predictive)), self.action)


def decide(predictive: Predictive, cost: Any) -> Decision:
    """What to do at every row so that the expected cost is smallest.

    >>> p = ClassProbabilities(np.log([[0.9, 0.1], [0.99, 0.01]]))
    >>> decision = decide(p, BinaryCost(false_positive=1, false_negative=19))
    >>> decision.action.tolist(), decision.expected_cost.round(2).tolist()
    ([1, 0], [0.9, 0.19])
    """
    if not isinstance(cost, Cost):
        raise ValueError(
            f"cost must be a Cost, got {cost!r}; use e.g. BinaryCost(1, 20) or read_cost(file)"
        )
    best = cost.best(predictive)
    return Decision(best.action, best.expected, best.runner_up, cost, predictive)


def threshold_curve(
    predictive: ClassProbabilities, y: Any, cost: BinaryCost, num_thresholds: int = 199
) -> ThresholdCurve:
    """Realised mean cost on labelled rows for every threshold: is the Bayes threshold the best?"""
    averages = cost.averages(predictive)  # refuses what is no binary predictive
    labels = check_rows(y, len(averages))
    p = predictive.probabilities[:, 1]
    thresholds = np.linspace(0.0, 1.0, num_thresholds + 2)[1:-1]
    prices = np.stack([cost.realised(labels, p > t) for t in thresholds])
    error = prices.std(axis=1, ddof=1 if len(p) > 1 else 0) / np.sqrt(len(p))
    return ThresholdCurve(thresholds, prices.mean(axis=1), error)
