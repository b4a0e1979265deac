"""Rows with their weights, and some of them set aside to judge by."""

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
    """Inputs, targets (one or several a row; NaN is not measured) and how much each row counts."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N *T"]
    weight: Float[np.ndarray, "N"]

    def take(self, rows: Int[np.ndarray, "K"]) -> "WeightedRows":
        """Some of the rows, as a copy."""
        return WeightedRows(take_rows(self.X, rows), self.y[rows], self.weight[rows])


def drop_zero_weight(rows: WeightedRows) -> WeightedRows:
    """Rows of weight 0 say nothing: they must not move scales, inducing points or β either."""
    counted = np.flatnonzero(rows.weight > 0)
    if len(counted) == len(rows.weight):
        return rows
    if len(counted) < 2:
        raise DirectGPError(f"at least 2 rows need a weight above 0, got {len(counted)}")
    return rows.take(counted)


def check_known_targets(y: np.ndarray, check_targets: Callable[[Any], np.ndarray]) -> CheckTargets:
    """Check targets together with those of other rows: alone they may be of one class."""
    return lambda X, more: check_targets(np.concatenate([y, check_rows(X, more, at_least=1)]))[
        len(y) :
    ]


def set_aside(
    rows: WeightedRows, validation: Any, seed: int, check: CheckTargets
) -> tuple[WeightedRows, WeightedRows | None]:
    """Rows to learn from and rows to judge by.

    `validation` is a share of the rows, or other rows as (X, y) or (X, y, weight), whose y is
    checked by `check`; None sets nothing aside. All outputs of a row go together: known from the
    other side of the split they would say little about new rows. But no output goes as a whole.
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
