"""Costs with a list of actions: binary, matrix, reject. Best is the smallest of a few averages."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.decisions.checks import check_numbers, check_prices, check_some_price
from directgp.decisions.costs import Best, Cost, costs, per_row
from directgp.predictive import ClassProbabilities, Predictive


class TableCost(Cost):
    """A price for each class and each of A actions; actions are 0 … A − 1, perhaps with names."""

    names: tuple[str, ...]

    @property
    @abstractmethod
    def varies(self) -> bool:
        """Whether rows have prices of their own."""

    @abstractmethod
    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        """The prices: [1 K A] where they are the same for all rows, else [N K A]."""

    def values(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        table = self.table(len(y))
        _, num_classes, num_actions = table.shape
        y, action = np.broadcast_arrays(y, action)
        _check_numbered("y", y, num_classes, "a class")
        _check_numbered("action", action, num_actions, "an action")
        rows = np.arange(len(y))[:, None] if len(table) > 1 else np.zeros((1, 1), dtype=np.intp)
        return table[rows, y.astype(np.intp), action.astype(np.intp)]

    def best(self, predictive: Predictive) -> Best:
        averages = self.averages(predictive)
        action = np.argmin(averages, axis=1)
        ordered = np.sort(averages, axis=1)
        return Best(action, ordered[:, 0], ordered[:, 1])

    def grid(self, predictive: Predictive) -> np.ndarray:
        return np.arange(self.table(len(predictive)).shape[2])

    def expected(self, predictive: Predictive, actions: np.ndarray) -> Float[np.ndarray, "N A"]:
        averages = self.averages(predictive)
        _check_numbered("action", np.asarray(actions), averages.shape[1], "an action")
        return averages[:, np.asarray(actions, dtype=np.intp)]

    def averages(self, predictive: Predictive) -> Float[np.ndarray, "N A"]:
        """Σ_k P(y = k) cost(k, a) of every action."""
        if not isinstance(predictive, ClassProbabilities):
            raise ValueError(
                f"{type(self).__name__} needs class probabilities, got a "
                f"{type(predictive).__name__}; use a classifier, or NewsvendorCost for numbers"
            )
        table = self.table(len(predictive))
        if table.shape[1] != predictive.num_classes:
            raise ValueError(
                f"the cost has {table.shape[1]} classes but the model has "
                f"{predictive.num_classes}; give one row of costs for each class"
            )
        if len(table) == 1:
            return predictive.probabilities @ table[0]
        return np.einsum("nk,nka->na", predictive.probabilities, table)

    def for_training(self) -> Float[np.ndarray, "K A"]:
        """The prices as one matrix, for `losses.CostScore`."""
        if self.varies:
            raise ValueError(
                "training needs one cost for all rows, got one a row; use sample_weight for rows "
                "that matter more, and decide() with costs a row"
            )
        return self.table(1)[0]


@costs.register("binary")
class BinaryCost(TableCost):
    """Say 1 (act) or 0: a false alarm costs `false_positive`, a miss `false_negative`.

    Best is 1 where P(y = 1) exceeds `threshold` = c₊/(c₊ + c₋) (`lossem` eq. 26).

    >>> BinaryCost(false_positive=1, false_negative=19).threshold.tolist()
    0.05
    """

    names = ("0", "1")

    def __init__(self, false_positive: Any, false_negative: Any):
        self.false_positive = check_prices("false_positive", false_positive)
        self.false_negative = check_prices("false_negative", false_negative)
        check_some_price("binary cost", self.false_positive, self.false_negative)
        total = self.false_positive + self.false_negative
        if np.any(total == 0):
            raise ValueError("a row of the binary cost is 0 both ways; drop rows without a stake")
        self.threshold = np.asarray(self.false_positive / total)

    @property
    def varies(self) -> bool:
        return self.threshold.ndim > 0

    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        if self.varies:
            per_row(self.threshold, num_rows)
        zero = np.zeros(self.threshold.shape)
        prices = np.broadcast_arrays(zero, self.false_positive, self.false_negative, zero)
        return np.stack(prices, axis=-1).reshape(-1, 2, 2)


@costs.register("matrix")
class CostMatrix(TableCost):
    """matrix[k, a]: what action a costs when the class is k; [N K A] gives each row its own.

    There may be more actions than classes, or fewer.

    >>> CostMatrix([[0, 1, 5], [1, 0, 1], [20, 2, 0]]).realised([2, 0], [0, 2]).tolist()
    [20.0, 5.0]
    """

    def __init__(self, matrix: Any, actions: Sequence[str] | None = None):
        array = check_numbers("a cost matrix", matrix)
        if array.ndim not in (2, 3) or array.shape[-2] < 2 or array.shape[-1] < 2:
            raise ValueError(
                f"a cost matrix must be classes × actions, at least 2 × 2, got shape {array.shape}"
            )
        check_some_price("cost matrix", array)
        self._prices = array.reshape(-1, *array.shape[-2:])
        self._own_rows = array.ndim == 3
        numbers = range(array.shape[-1])
        self.names = tuple(map(str, numbers)) if actions is None else tuple(actions)
        if len(self.names) != array.shape[-1]:
            raise ValueError(
                f"{len(self.names)} actions are named, but the matrix has {array.shape[-1]} columns"
            )

    @property
    def varies(self) -> bool:
        return self._own_rows

    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        if self._own_rows and len(self._prices) != num_rows:
            raise ValueError(
                f"a cost was given for {len(self._prices)} rows, but there are {num_rows} to decide"
            )
        return self._prices


@costs.register("reject")
class RejectCost(TableCost):
    """One more action, the last: do not decide, and pay `price` (a second look, an expert).

    >>> RejectCost(BinaryCost(1, 1), price=0.2).names
    ('0', '1', 'reject')
    """

    def __init__(self, cost: Any, price: Any):
        if not isinstance(cost, TableCost):
            raise ValueError(
                f"a reject option needs a binary or matrix cost, got {type(cost).__name__}"
            )
        self.cost: TableCost = cost
        self.price = check_prices("price", price)
        self.names = (*cost.names, "reject")

    @property
    def varies(self) -> bool:
        return self.cost.varies or self.price.ndim > 0

    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        table = self.cost.table(num_rows)
        price = np.reshape(self.price, (-1, 1, 1))
        if self.price.ndim:
            per_row(self.price, num_rows)
            table = np.broadcast_to(table, (num_rows, *table.shape[1:]))
        rejected = np.broadcast_to(price, (*table.shape[:2], 1))
        return np.concatenate([table, rejected], axis=2)


def _check_numbered(name: str, values: np.ndarray, count: int, kind: str) -> None:
    bad = ~np.isin(values, np.arange(count))
    if np.any(bad):
        raise ValueError(
            f"{name} must be the number of {kind}, 0 to {count - 1}, got {values[bad].flat[0]}"
        )
