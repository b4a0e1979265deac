"""Targets with several columns: the outputs of a row, some of them not measured."""

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, column_or_1d

from directgp.estimators.inputs import validated_rows


def num_outputs(y: Any) -> int:
    """How many values a row has; 1 for whatever is no table.

    >>> num_outputs([1, 2]), num_outputs([[1], [2]]), num_outputs([[1, 2, 3], [4, 5, 6]])
    (1, 1, 3)
    """
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of unequal length, which is for others to refuse
        return 1
    return shape[1] if len(shape) == 2 else 1


def validated_targets(
    estimator: BaseEstimator, X: Any, y: Any, count: int, *, reset: bool, at_least: int
) -> tuple[np.ndarray | pa.Table, np.ndarray]:
    """X as numbers or a table, and y as scikit-learn checks it; NaN is allowed in several outputs.

    The number of rows must be the same.
    """
    rows = validated_rows(estimator, X, reset=reset, at_least=at_least)
    if count > 1:
        allowed: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "input_name": "y"}
        y = check_array(y, **allowed)
    else:
        column: Any = {"ensure_2d": False, "dtype": None, "input_name": "y", "estimator": estimator}
        y = check_array(column_or_1d(y, warn=True), **column)
    check_consistent_length(rows, y)
    return rows, y
