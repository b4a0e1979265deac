"""Targets with several columns: the outputs of a row, some of them not measured."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, validate_data


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


def validated_outputs(
    estimator: BaseEstimator, X: Any, Y: Any, *, reset: bool, at_least: int
) -> tuple[np.ndarray, np.ndarray]:
    """X as scikit-learn checks it, Y [N T] as numbers in which NaN is allowed."""
    X = validate_data(estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=at_least)
    allowed: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "input_name": "y"}
    Y = check_array(Y, **allowed)
    check_consistent_length(X, Y)
    return X, Y
