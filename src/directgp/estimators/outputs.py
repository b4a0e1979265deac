"""Validation of y with several columns (outputs), in which NaN is a missing value."""

from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, column_or_1d

from directgp.errors import DirectGPError
from directgp.estimators.inputs import validated_rows


def num_outputs(y: Any) -> int:
    """Number of columns of y; 1 if y is not a table.

    >>> num_outputs([1, 2]), num_outputs([[1], [2]]), num_outputs([[1, 2, 3], [4, 5, 6]])
    (1, 1, 3)
    """
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # rows of unequal length: refused later by `validate_data`
        return 1
    return shape[1] if len(shape) == 2 else 1


def validated_targets(
    estimator: BaseEstimator, X: Any, y: Any, count: int, *, reset: bool, at_least: int
) -> tuple[np.ndarray | pa.Table, np.ndarray]:
    """Validated X (see `validated_rows`) and y, checked to have the same number of rows.

    y is checked as scikit-learn does; with several outputs (`count`) it may have NaN.
    """
    rows = validated_rows(estimator, X, reset=reset, at_least=at_least)
    if count > 1:
        allowed: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan", "input_name": "y"}
        y = check_array(y, **allowed)
    else:
        refuse_unknown_targets(y)
        column: Any = {"ensure_2d": False, "dtype": None, "input_name": "y", "estimator": estimator}
        y = check_array(column_or_1d(y, warn=True), **column)
    check_consistent_length(rows, y)
    return rows, y


def refuse_unknown_targets(y: Any) -> None:
    """Refuse NaN and infinity in one column of targets, and name the first."""
    values = np.asarray(y)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values.ravel())))
        what = "NaN" if np.isnan(values.ravel()[row]) else "infinity"
        raise DirectGPError(
            f"Input y contains {what}: y[{row}]; leave out the rows whose target is not known"
        )


def target_numbers(y: Any) -> np.ndarray:
    """One column of targets as float64; an error names the first that is no number.

    >>> target_numbers(["1", "68.0k"])
    Traceback (most recent call last):
    directgp.errors.DirectGPError: y must be numbers, got '68.0k' at y[1]; GPClassifier is for ...
    """
    values = np.asarray(y)
    try:
        return values.astype(np.float64)
    except (ValueError, TypeError):
        for row, value in enumerate(values.ravel().tolist()):
            try:
                float(value)
            except (ValueError, TypeError):
                raise DirectGPError(
                    f"y must be numbers, got {value!r} at y[{row}]; GPClassifier is for labels"
                ) from None
        raise
