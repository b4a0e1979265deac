"""Validation of arrays that a user passes: X, y, weights."""

from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError, WrongType


def unmasked(values: Any) -> Any:
    """A masked array as a plain one with NaN at the masked entries.

    >>> unmasked(np.ma.array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    if not np.ma.is_masked(values):
        return values
    kind = np.float64 if values.dtype.kind in "biuf" else object
    return values.astype(kind).filled(np.nan)


def as_numbers(values: Any, demand: str, advice: str) -> np.ndarray:
    """Any array-like as float64, with NaN at masked entries.

    Complex numbers and dates are refused, because converting them to floats would lose information.

    Args:
        values: an array, a list or a frame.
        demand: the start of the error message: what `values` must be.
        advice: the end of the error message: what to do.

    Returns:
        An array of the same shape.
    """
    try:
        array = np.asarray(unmasked(values))
        if array.dtype.kind in "cmM":
            raise WrongType(f"dtype {array.dtype}")
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        given = " ".join(str(error).split())
        if "inhomogeneous" in given:  # NumPy's message for rows of different lengths
            given, advice = _uneven(values), "give every row equally many values"
        raise DirectGPError(f"{demand}, got {type(values).__name__} ({given}); {advice}") from None


def _uneven(rows: Any) -> str:
    """The first row whose length differs from that of row 0."""
    lengths = [np.size(row) if np.isscalar(row) else len(row) for row in rows]
    other = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    if other is None:
        return "rows that are not lists of numbers"
    return f"row 0 has {lengths[0]} values, row {other} has {lengths[other]}"


def column_names(X: Any) -> tuple[str, ...] | None:
    """The column names of a pandas or polars frame; None for anything without names.

    >>> column_names(np.zeros((2, 3))) is None
    True
    """
    names: tuple[Any, ...] = tuple(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def check_names(X: Any, names: tuple[str, ...] | None) -> None:
    """Raise an error for a frame whose columns are not those of training in the same order.

    Args:
        X: the inputs; without names nothing is checked.
        names: the column names of training; None if training had none.
    """
    given = column_names(X)
    if names is not None and given is not None and given != names:
        raise DirectGPError(
            f"X must have the columns {', '.join(names)}, in this order, got {', '.join(given)}; "
            f"select them with X[{list(names)}]"
        )


def check_inputs(X: Any, num_columns: int | None = None) -> Float[np.ndarray, "N D"]:
    """X as a finite float64 array of two dimensions.

    Args:
        X: an array, list or frame of numbers.
        num_columns: the number of columns of training; None accepts any.

    Returns:
        The inputs. Anything else raises a `DirectGPError` of one line.
    """
    values = as_numbers(X, "X must be a table of numbers", "encode text and dates as numbers first")
    if values.ndim != 2:
        raise DirectGPError(
            f"X must have 2 dimensions (rows, columns), got shape {values.shape}; "
            "reshape one column with X.reshape(-1, 1)"
        )
    if values.shape[1] == 0:
        raise DirectGPError(f"X must have at least one column, got shape {values.shape}")
    if num_columns is not None and values.shape[1] != num_columns:
        raise DirectGPError(
            f"X has {values.shape[1]} columns but the model was trained on {num_columns}; "
            "give the same columns in the same order"
        )
    bad = ~np.isfinite(values)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DirectGPError(
            f"X has {int(bad.sum())} missing or infinite values (first: row {row}, column "
            f"{column}); remove or fill them"
        )
    return values


def check_rows(X: np.ndarray, y: Any, at_least: int = 2) -> Float[np.ndarray, "N"]:
    """The targets as a finite float64 vector with one value for each row of X.

    Args:
        X: the inputs, already checked.
        y: the targets, [N] or [N 1].
        at_least: the minimum number of rows.

    Returns:
        The targets [N]. Anything else raises a `DirectGPError` of one line.
    """
    values = as_numbers(y, "y must be numbers", "encode it first")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DirectGPError(f"y must have one value per row, got shape {values.shape}")
    if values.shape[0] != X.shape[0]:
        raise DirectGPError(
            f"X has {X.shape[0]} rows but y has {values.shape[0]}; they must be the same rows"
        )
    if values.shape[0] < at_least:
        raise DirectGPError(f"at least {at_least} rows are needed, got {values.shape[0]}")
    bad = ~np.isfinite(values)
    if bad.any():
        raise DirectGPError(
            f"y has {int(bad.sum())} missing or infinite values (first: row "
            f"{int(np.argmax(bad))}); remove those rows"
        )
    return values


def check_weights(weights: Any, num_rows: int) -> Float[np.ndarray, "N"]:
    """Sample weights: finite, not negative and not all zero.

    Args:
        weights: one number per row; None means 1 for every row.
        num_rows: the number of rows.

    Returns:
        The weights [N].
    """
    if weights is None:
        return np.ones(num_rows)
    values = as_numbers(weights, "weights must be numbers", "give one number ≥ 0 per row")
    if values.shape != (num_rows,):
        raise DirectGPError(f"weights must have shape ({num_rows},), got {values.shape}")
    if not np.isfinite(values).all() or (values < 0).any() or not (values > 0).any():
        raise DirectGPError("weights must be finite, not negative and not all zero")
    return values


def check_not_negative(name: str, values: Any) -> Float[np.ndarray, "*B"]:
    """Numbers of any shape as float64: at least one, all finite and ≥ 0.

    Args:
        name: their name in errors.
        values: the numbers.

    >>> check_not_negative("weights", [0.5, -1])
    Traceback (most recent call last):
    directgp.errors.DirectGPError: weights must be ≥ 0, got -1
    """
    array = as_numbers(values, f"{name} must be numbers", "give numbers ≥ 0")
    if array.size == 0:
        raise DirectGPError(f"{name} must not be empty")
    if not np.isfinite(array).all():
        raise DirectGPError(f"{name} must be finite, got NaN or infinity; give numbers ≥ 0")
    if (array < 0).any():
        raise DirectGPError(f"{name} must be ≥ 0, got {array.min():g}")
    return array
