"""Rows with their weights, and the split into training and validation rows."""

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from directgp.errors import DirectGPError
from directgp.tables.checks import check_inputs, check_rows, check_weights
from directgp.tables.jax_memory import take_rows

CheckTargets = Callable[[np.ndarray, Any], np.ndarray]
"""(X, y) to y as numbers, or a one-line error."""


class WeightedRows(NamedTuple):
    """Inputs, targets (one or several per row, NaN if missing) and sample weights."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N *T"]
    weight: Float[np.ndarray, "N"]

    def take(self, rows: Int[np.ndarray, "K"]) -> "WeightedRows":
        """Some of the rows, as a copy."""
        return WeightedRows(take_rows(self.X, rows), self.y[rows], self.weight[rows])


def drop_zero_weight(rows: WeightedRows) -> WeightedRows:
    """Remove rows of weight 0, which must not affect scales, inducing points or the choice of β."""
    counted = np.flatnonzero(rows.weight > 0)
    if len(counted) == len(rows.weight):
        return rows
    if len(counted) < 2:
        raise DirectGPError(f"at least 2 rows need a weight above 0, got {len(counted)}")
    return rows.take(counted)


def merge_equal_rows(rows: WeightedRows) -> tuple[WeightedRows, Int[np.ndarray, "N"]]:
    """Distinct rows with their total weights, in a fixed order, and the index of each given row.

    A row given twice is then exactly a row of weight 2, and the order of rows does not matter.

    >>> rows = WeightedRows(np.array([[1.0], [0.0], [1.0]]), np.array([5.0, 6.0, 5.0]), np.ones(3))
    >>> merged, number = merge_equal_rows(rows)
    >>> merged.weight.tolist(), number.tolist()
    ([1.0, 2.0], [1, 0, 1])
    """
    table, number = np.unique(np.column_stack([rows.X, rows.y]), axis=0, return_inverse=True)
    total = np.bincount(number.ravel(), weights=rows.weight, minlength=len(table))
    inputs, targets = np.split(table, [rows.X.shape[1]], axis=1)
    targets = targets.reshape(-1, *rows.y.shape[1:])
    return WeightedRows(np.ascontiguousarray(inputs), targets, total), number.ravel()


def check_known_targets(y: np.ndarray, check_targets: Callable[[Any], np.ndarray]) -> CheckTargets:
    """A check of further targets together with `y`; alone they may contain only one class.

    Args:
        y: the training targets.
        check_targets: the check of a likelihood.

    Returns:
        A function of (X, y) that gives the checked targets of those rows.
    """
    return lambda X, more: check_targets(np.concatenate([y, check_rows(X, more, at_least=1)]))[
        len(y) :
    ]


def set_aside(
    rows: WeightedRows, validation: Any, seed: int, check: CheckTargets
) -> tuple[WeightedRows, WeightedRows | None]:
    """Split rows into training and validation rows.

    All outputs of a row are on the same side, because they are correlated. Rows go back to training
    if an output would have none there.

    Args:
        rows: all rows.
        validation: the share of rows to hold out; or other rows, (X, y) or (X, y, weight); or None.
        seed: of the random split.
        check: checks the y of given validation rows.

    Returns:
        Training rows, and validation rows or None.
    """
    if validation is None:
        return rows, None
    if isinstance(validation, tuple | list):
        return rows, _given(validation, rows.X.shape[1], check)
    if not (isinstance(validation, Real) and 0 < float(validation) < 1):
        raise DirectGPError(
            f"validation must be a share between 0 and 1, got {validation!r}; use 0.1"
        )
    number = len(rows.y)
    order = np.random.default_rng(seed).permutation(number)
    count = max(1, round(float(validation) * number))
    held, kept = order[:count], order[count:]
    measured = np.isfinite(rows.y.reshape(number, -1))
    lost = measured.any(axis=0) & ~measured[kept].any(axis=0)
    back = measured[held][:, lost].any(axis=1)
    held, kept = held[~back], np.sort(np.concatenate([kept, held[back]]))
    if len(kept) < 2 or not len(held):
        raise DirectGPError(
            f"{number} rows are too few to hold out validation rows; give more rows or, where β "
            "would be chosen by them, beta=1.0"
        )
    return rows.take(kept), rows.take(held)


def _given(validation: Any, num_columns: int, check: CheckTargets) -> WeightedRows:
    if len(validation) not in (2, 3):
        raise DirectGPError(
            f"validation must be (X, y) or (X, y, weight), got {len(validation)} things"
        )
    X = check_inputs(validation[0], num_columns=num_columns)
    y = check(X, validation[1])
    weight = validation[2] if len(validation) == 3 else None
    return WeightedRows(X, y, check_weights(weight, len(y)))
