"""Row weights; equal rows are merged, so that weight 2 is exactly the same as a repeated row."""

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.utils import check_array
from sklearn.utils.class_weight import compute_class_weight

from directgp.errors import DirectGPError
from directgp.tables import WeightedRows, merge_equal_rows

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
    """Merge equal rows into one row of their total weight, in a fixed order.

    A row given twice is then exactly a row of weight 2, a row of weight 0 has no effect, and the
    order of rows does not matter. Large tables are returned unchanged, to save time.

    >>> rows = WeightedRows(np.array([[1.0], [0.0], [1.0]]), np.array([5.0, 6.0, 5.0]), np.ones(3))
    >>> merged(rows).weight.tolist()
    [1.0, 2.0]
    """
    X, y, weight = (np.asarray(part)[rows.weight > 0] for part in rows)
    if len(y) > _MOST_ROWS:
        return WeightedRows(X, y, weight)
    given = WeightedRows(X, y, weight)
    different, _ = merge_equal_rows(given)
    return given if len(different.y) < 2 else different  # unless all rows are equal


def weighed_by_class(
    y: np.ndarray, weight: np.ndarray, class_weight: Any, classes: Any
) -> np.ndarray:
    """Row weights multiplied by class weights.

    Args:
        y: class numbers [N], or labels [N T], for which class weights are not available.
        weight: the row weights.
        class_weight: None, "balanced" or a dict of label to weight.
        classes: the labels in the order of their numbers.
    """
    if class_weight is None:
        return weight
    if y.ndim == 2:
        raise DirectGPError(
            f"class_weight={class_weight!r} is for a single column of classes, got "
            f"{y.shape[1]} labels per row; leave it at None or give sample_weight"
        )
    index, count = y.astype(np.intp), len(classes)
    if class_weight == "balanced":
        totals = np.bincount(index, weights=weight, minlength=count)
        of_class = weight.sum() / (count * np.maximum(totals, np.finfo(float).tiny))
    else:
        of_class = compute_class_weight(class_weight, classes=classes, y=classes[index])
    return weight * of_class[index]


def named_parameters(state: Any, known: Sequence[str]) -> dict[str, Any]:
    """The constructor parameters stored in a file.

    Args:
        state: the stored state.
        known: the parameters of the estimator; others are an error.
    """
    given = state.get("parameters") if isinstance(state, dict) else None
    if not isinstance(given, dict) or not set(given) <= set(known):
        raise DirectGPError("its parameters are not those of the estimator")
    return given


def check_labels(y: np.ndarray) -> None:
    """Refuse labels in several columns that are neither 0, 1 nor NaN."""
    known = y[np.isfinite(y)]
    if not np.isin(known, (0.0, 1.0)).all():
        raise DirectGPError(
            "labels in several columns must be 0 or 1 (or NaN), got others; use "
            "sklearn.multioutput.MultiOutputClassifier(GPClassifier()) for more classes"
        )
