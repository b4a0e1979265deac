"""Costs for classes, with a finite set of actions: binary, matrix and reject."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.decisions.checks import (
    ONE_COST,
    check_numbers,
    check_prices,
    check_same_rows,
    check_some_price,
    shown,
)
from directgp.decisions.costs import Best, Cost, costs, for_rows, ranked
from directgp.decisions.labels import check_label, class_number, listed, names_of
from directgp.errors import DirectGPError
from directgp.predictive import ClassProbabilities, Predictive


class TableCost(Cost):
    """A price for each class and each of A actions; actions are 0 … A − 1, with optional names."""

    names: tuple[str, ...]

    @property
    @abstractmethod
    def varies(self) -> bool:
        """Whether prices are given per row."""

    @property
    @abstractmethod
    def says_classes(self) -> bool:
        """Whether action k means predicting class k."""

    @abstractmethod
    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        """The prices: [1 K A] if they are the same for all rows, else [N K A]."""

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
        return ranked(averages, np.arange(averages.shape[1]))

    def grid(self, predictive: Predictive) -> np.ndarray:
        return np.arange(self.table(len(predictive)).shape[2])

    def called(self, action: Any) -> list:
        return [self.names[int(number)] for number in np.asarray(action)]

    def expected(self, predictive: Predictive, actions: np.ndarray) -> Float[np.ndarray, "N A"]:
        averages = self.averages(predictive)
        _check_numbered("action", np.asarray(actions), averages.shape[1], "an action")
        return averages[:, np.asarray(actions, dtype=np.intp)]

    def averages(self, predictive: Predictive) -> Float[np.ndarray, "N A"]:
        """Σ_k P(y = k) cost(k, a) of every action."""
        if not isinstance(predictive, ClassProbabilities):
            raise DirectGPError(
                f"{type(self).__name__} needs class probabilities, got a "
                f"{type(predictive).__name__}; use a classifier, or NewsvendorCost for numbers"
            )
        table = self.table(len(predictive))
        if table.shape[1] != predictive.num_classes:
            raise DirectGPError(
                f"the cost has {table.shape[1]} classes but the model has "
                f"{predictive.num_classes}; give one row of costs for each class"
            )
        if len(table) == 1:
            return predictive.probabilities @ table[0]
        return np.einsum("nk,nka->na", predictive.probabilities, table)

    def for_training(self) -> Float[np.ndarray, "K A"]:
        """The prices as one matrix, for `losses.CostScore`."""
        if self.varies:
            raise DirectGPError(ONE_COST)
        return self.table(1)[0]


@costs.register("binary")
@dataclass(init=False, eq=False)
class BinaryCost(TableCost):
    """Act or not: a false alarm costs `false_positive`, a miss `false_negative`.

    The Bayes action is to act if P(positive) exceeds `threshold` = c₊/(c₊ + c₋) (`lossem` eq. 26).
    `act` is the number of the positive class.

    Args:
        false_positive: c₊, one number or one per row.
        false_negative: c₋, one number or one per row.
        positive: the label of the positive class; required unless labels are 0 and 1 or False and
            True, of which it is the second.

    >>> BinaryCost(false_positive=1, false_negative=19).threshold.tolist()
    0.05
    """

    false_positive: np.ndarray
    false_negative: np.ndarray
    threshold: np.ndarray
    positive: Any
    act: int
    names: tuple[str, ...]

    def __init__(self, false_positive: Any, false_negative: Any, positive: Any = None):
        self.false_positive = check_prices("false_positive", false_positive)
        self.false_negative = check_prices("false_negative", false_negative)
        check_some_price("binary cost", self.false_positive, self.false_negative)
        check_same_rows(false_positive=self.false_positive, false_negative=self.false_negative)
        check_label("positive", positive)
        total = self.false_positive + self.false_negative
        if np.any(total == 0):
            raise DirectGPError("both prices of a row of the binary cost are 0; drop such rows")
        self.threshold = np.asarray(self.false_positive / total)
        self.positive = positive
        self.act = {None: 1, 0: 0, 1: 1}.get(positive, -1)
        self.names = ("0", "1")

    @property
    def varies(self) -> bool:
        return self.threshold.ndim > 0

    @property
    def says_classes(self) -> bool:
        return True

    def for_labels(self, labels: Sequence[Any]) -> "BinaryCost":
        if len(labels) != 2:
            raise DirectGPError(
                f"a binary cost is for two classes, but there are {len(labels)}: "
                f"{listed(labels)}; use a cost matrix"
            )
        made = copy(self)
        given = self.positive is not None
        if not given and not _is_plain_binary(labels):
            raise DirectGPError(
                f"a binary cost does not say which of {listed(labels)} is the positive class; give "
                f"positive = {shown(labels[1])}, or the other"
            )
        made.act = class_number(self.positive, labels, "positive") if given else 1
        made.names = tuple(map(str, labels))
        return made

    def check_stored(self) -> None:
        made = BinaryCost(self.false_positive, self.false_negative, self.positive)
        same = np.array_equal(made.threshold, self.threshold)
        if not same or self.act not in (-1, 0, 1) or len(self.names) != 2:
            raise DirectGPError("a binary cost is inconsistent")

    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        if self.act < 0:
            raise DirectGPError(
                f"the positive class {shown(self.positive)} is a label, but here classes are 0 and "
                "1; give decide() the labels"
            )
        for_rows(self.threshold, num_rows)
        zero = np.zeros(self.threshold.shape)
        prices = np.broadcast_arrays(zero, self.false_positive, self.false_negative, zero)
        table = np.stack(prices, axis=-1).reshape(-1, 2, 2)
        return table if self.act == 1 else table[:, ::-1, ::-1]


@costs.register("matrix")
@dataclass(init=False, eq=False)
class CostMatrix(TableCost):
    """matrix[k, a] is the cost of action a for class k; [N K A] has a matrix per row.

    Args:
        matrix: prices [K A], with at least two actions, or a mapping from class labels to rows.
        actions: names of the actions.
        classes: labels of the rows of the matrix; by default in the order of the model.

    >>> CostMatrix([[0, 1, 5], [1, 0, 1], [20, 2, 0]]).realised([2, 0], [0, 2]).tolist()
    [20.0, 5.0]
    >>> CostMatrix({"well": [0, 1], "ill": [9, 0]}, ["wait", "treat"]).names
    ('wait', 'treat')
    """

    prices: np.ndarray
    own_rows: bool
    names: tuple[str, ...]
    classes: tuple[Any, ...] | None
    names_given: bool

    def __init__(
        self,
        matrix: Any,
        actions: Sequence[str] | None = None,
        classes: Sequence[Any] | None = None,
    ):
        if isinstance(matrix, Mapping):
            if classes is not None:
                raise DirectGPError("the matrix names its classes already; leave out classes")
            classes, rows = (
                list(matrix),
                [check_numbers("a cost matrix", r) for r in matrix.values()],
            )
            if not rows:
                raise DirectGPError("a cost matrix must not be empty; give one row for each class")
            if len({row.shape for row in rows}) > 1:
                raise DirectGPError("the rows of a cost matrix must have one price for each action")
            matrix = np.stack(rows, axis=-2) if rows[0].ndim else rows
        array = check_numbers("a cost matrix", matrix)
        if array.ndim not in (2, 3) or array.shape[-2] < 2 or array.shape[-1] < 2:
            raise DirectGPError(
                f"a cost matrix must be classes × actions, at least 2 × 2, got shape {array.shape}"
            )
        check_some_price("cost matrix", array)
        self.prices = array.reshape(-1, *array.shape[-2:])
        self.own_rows = array.ndim == 3
        self.names = names_of(actions, "actions", array.shape[-1], "columns") or tuple(
            map(str, range(array.shape[-1]))
        )
        self.classes = names_of(classes, "classes", array.shape[-2], "rows")
        self.names_given = actions is not None

    @property
    def varies(self) -> bool:
        return self.own_rows

    @property
    def says_classes(self) -> bool:
        return not self.names_given and self.prices.shape[1] == self.prices.shape[2]

    def for_labels(self, labels: Sequence[Any]) -> "CostMatrix":
        made = copy(self)
        if self.classes is None:
            if self.prices.shape[1] != len(labels):
                raise DirectGPError(
                    f"the cost matrix has {self.prices.shape[1]} rows, but there are "
                    f"{len(labels)} classes: {listed(labels)}; give one row for each class"
                )
        else:
            order = [class_number(name, labels, "the cost matrix") for name in self.classes]
            if len(order) != len(labels):
                lacking = [labels[k] for k in range(len(labels)) if k not in order]
                raise DirectGPError(
                    f"the cost matrix has no row for {listed(lacking)}; give one for each class"
                )
            made.prices = self.prices[:, np.argsort(order)]
            made.classes = None
        if not self.names_given and self.prices.shape[2] == len(labels):
            made.names = tuple(map(str, labels))
        return made

    def check_stored(self) -> None:
        CostMatrix(self.prices, self.names, self.classes)
        if self.prices.ndim != 3 or (len(self.prices) > 1 and not self.own_rows):
            raise DirectGPError("a cost matrix is inconsistent")

    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        if self.classes is not None:
            raise DirectGPError(
                f"the rows of the cost matrix have labels ({listed(self.classes)}), but here "
                "classes are numbers; give decide() the labels"
            )
        if self.own_rows and len(self.prices) != num_rows:
            raise DirectGPError(
                f"a cost was given for {len(self.prices)} rows, but there are {num_rows} to decide"
            )
        return self.prices


@costs.register("reject")
@dataclass(init=False, eq=False)
class RejectCost(TableCost):
    """A further action, the last: do not decide, at the cost `price` (such as that of an expert).

    Args:
        cost: the cost of deciding.
        price: the cost of rejecting, one number or one per row.

    >>> RejectCost(BinaryCost(1, 1), price=0.2).names
    ('0', '1', 'reject')
    """

    cost: TableCost
    price: np.ndarray
    names: tuple[str, ...]

    def __init__(self, cost: Any, price: Any):
        if not isinstance(cost, TableCost) or isinstance(cost, RejectCost):
            raise DirectGPError(
                f"a reject option needs a binary or matrix cost, got {type(cost).__name__}"
            )
        self.cost = cost
        self.price = check_prices("price", price, above_zero=True)
        self.names = (*cost.names, _unused("reject", cost.names))

    @property
    def varies(self) -> bool:
        return self.cost.varies or self.price.ndim > 0

    @property
    def says_classes(self) -> bool:
        return self.cost.says_classes

    def check_stored(self) -> None:
        if len(RejectCost(self.cost, self.price).names) != len(self.names):
            raise DirectGPError("a cost with a reject option is inconsistent")

    def for_labels(self, labels: Sequence[Any]) -> "RejectCost":
        return RejectCost(self.cost.for_labels(labels), self.price)

    def table(self, num_rows: int) -> Float[np.ndarray, "R K A"]:
        table = self.cost.table(num_rows)
        price = np.reshape(for_rows(self.price, num_rows), (-1, 1, 1))
        if self.price.ndim:
            table = np.broadcast_to(table, (num_rows, *table.shape[1:]))
        rejected = np.broadcast_to(price, (*table.shape[:2], 1))
        return np.concatenate([table, rejected], axis=2)


def _is_plain_binary(labels: Sequence[Any]) -> bool:
    """Whether the classes are 0 and 1 or false and true."""
    return [str(label).lower() for label in labels] in (["0", "1"], ["false", "true"])


def _unused(name: str, names: Sequence[str]) -> str:
    """The name, changed if a class or an action already has it."""
    while name in names:
        name = f"{name} (undecided)"
    return name


def _check_numbered(name: str, values: np.ndarray, count: int, kind: str) -> None:
    bad = ~np.isin(values, np.arange(count))
    if np.any(bad):
        raise DirectGPError(
            f"{name} must be the number of {kind}, 0 to {count - 1}, got {values[bad].flat[0]}"
        )
