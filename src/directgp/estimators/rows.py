"""Rows as they are trained on: equal rows merged, so that weights and repetitions are the same."""

from numbers import Number
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_array

from directgp.errors import DirectGPError
from directgp.tables import WeightedRows

_MOST_ROWS = 20_000


def checked_weights(sample_weight: Any, num_rows: int) -> Float[np.ndarray, "N"]:
    """`sample_weight` as one float64 weight for each row.

    Args:
        sample_weight: One weight for each row, one number for all, or None for weights of 1.
        num_rows: The number of rows, N.

    >>> checked_weights(None, 2).tolist(), checked_weights([0, 3], 2).tolist()
    ([1.0, 1.0], [0.0, 3.0])
    """
    if sample_weight is None or isinstance(sample_weight, Number):
        weight = np.full(num_rows, 1.0 if sample_weight is None else sample_weight, np.float64)
    else:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype="float64", order="C", input_name="sample_weight"
        )
    if weight.shape != (num_rows,):
        raise DirectGPError(
            f"sample_weight must be one number for each of {num_rows} rows, got shape "
            f"{weight.shape}; give an array of {num_rows} weights, or None"
        )
    if not np.isfinite(weight).all() or weight.min() < 0:
        raise DirectGPError(
            f"sample_weight must be finite and not negative, got {weight.min():.4g}; give a row "
            "that should not count weight 0"
        )
    if not weight.any():
        raise DirectGPError("sample_weight must have at least one non-zero number, got only zeros")
    return weight


def merged(rows: WeightedRows) -> WeightedRows:
    """Rows that occur more than once become one of their total weight, in a fixed order.

    A row given twice is then exactly a row of weight 2, a row of weight 0 exactly no row, and the
    order of rows does not matter. Large tables are left alone: nobody counts their rows.

    >>> rows = WeightedRows(np.array([[1.0], [0.0], [1.0]]), np.array([5.0, 6.0, 5.0]), np.ones(3))
    >>> merged(rows).weight.tolist()
    [1.0, 2.0]
    """
    X, y, weight = (np.asarray(part)[rows.weight > 0] for part in rows)
    if len(y) > _MOST_ROWS:
        return WeightedRows(X, y, weight)
    table, inverse = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    if len(table) < 2:  # nothing but one row, again and again
        return WeightedRows(X, y, weight)
    total = np.bincount(inverse.ravel(), weights=weight, minlength=len(table))
    inputs, targets = np.split(table, [X.shape[1]], axis=1)
    return WeightedRows(np.ascontiguousarray(inputs), targets.reshape(-1, *y.shape[1:]), total)
