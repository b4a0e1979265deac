"""Validate and encode X: numeric arrays as scikit-learn checks them, other frames as tables."""

from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from directgp.errors import DirectGPError, nearest
from directgp.persistence.bounded_json import read_json
from directgp.tables import TableEncoder, TargetValues, as_table, column_names, numbers_encoder
from directgp.tables.messages import did_you_mean, quoted
from directgp.tables.table import arrow_column


def is_mixed(X: Any) -> bool:
    """Whether X has non-numeric columns, so that it must be read as a table.

    >>> is_mixed(np.zeros((2, 2))), is_mixed([[1.0, "red"], [2.0, "blue"]])
    (False, True)
    """
    if isinstance(X, pa.Table):
        return True
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        return not all(_is_number_type(kind) for kind in X.dtypes)
    if not isinstance(X, np.ndarray | list | tuple):
        return False
    try:
        array = np.asarray(X)
    except ValueError:  # rows of unequal length: refused later by `validate_data`
        return False
    if array.ndim != 2 or array.dtype.kind not in "OU":
        return False
    return any(isinstance(cell, str) and not _is_number(cell) for cell in array.flat)


def _is_number_type(kind: Any) -> bool:
    """Whether a dtype of pandas (NumPy's or its extension types) or polars is numeric."""
    if hasattr(kind, "is_numeric"):
        return kind.is_numeric() or str(kind) == "Boolean"
    return getattr(kind, "kind", "O") in "biufc"  # scikit-learn refuses complex numbers


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def validated_rows(
    estimator: BaseEstimator, X: Any, *, reset: bool, at_least: int = 1, as_frame: bool = False
) -> Float[np.ndarray, "N D"] | pa.Table:
    """X as a numeric array, or as a table if it has non-numeric columns (in `fit` or now).

    Sets or checks `n_features_in_` and `feature_names_in_`, as `validate_data` does.

    Args:
        estimator: the estimator whose attributes are set or checked.
        X: the given rows.
        reset: set the attributes (in `fit`) instead of checking them.
        at_least: the minimum number of rows.
        as_frame: keep numeric frames as tables too.
    """
    columns = getattr(estimator, "_columns", None)
    if not (as_frame or is_mixed(X) if reset else columns is not None):
        if reset:
            estimator._columns = None  # pyright: ignore
        allowed: Any = {
            "dtype": np.float64,
            "ensure_all_finite": "allow-nan" if reset or hasattr(estimator, "encoder_") else True,
            "ensure_min_samples": at_least,
        }
        try:
            return validate_data(estimator, X, reset=reset, **allowed)
        except ValueError as error:
            place = _first_not_finite(X, allowed["ensure_all_finite"] is True)
            if place is None:
                raise
            raise DirectGPError(f"{str(error).splitlines()[0]} The first is {place}.") from None
    table = _as_table(X, None if reset else columns)
    if table.num_rows < at_least:
        raise DirectGPError(f"X must have at least {at_least} rows, got {table.num_rows}")
    if reset:
        _remember_columns(estimator, table, named=isinstance(X, pa.Table) or bool(column_names(X)))
    else:
        _check_same_columns(table.column_names, columns or (), estimator.encoder_.sources)  # pyright: ignore
    return table


def _first_not_finite(X: Any, refuses_nan: bool) -> str | None:
    """Where the first infinite value of numeric inputs is (or NaN, if refused), for a message."""
    try:
        array = np.asarray(X)
        if array.dtype.kind not in "fiubO":
            return None
        array = array.astype(np.float64)
    except (ValueError, TypeError):
        return None
    wrong = ~np.isfinite(array) if refuses_nan else np.isinf(array)
    if array.ndim != 2 or not wrong.any():
        return None
    row, column = (int(index) for index in np.argwhere(wrong)[0])
    names = column_names(X)
    named = f" (column {names[column]!r})" if names else ""
    return f"{array[row, column]} at X[{row}, {column}]{named}"


def _remember_columns(estimator: Any, table: pa.Table, named: bool) -> None:
    estimator.n_features_in_ = table.num_columns
    estimator._columns = tuple(table.column_names)
    if named:
        estimator.feature_names_in_ = np.array(table.column_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _check_same_columns(given: list[str], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    """Refuse a table with unknown columns, or without required ones."""
    strange = [name for name in given if name not in known]
    absent = [name for name in needed if name not in given]
    if absent:
        hint = nearest(absent[0], strange) or "give X the columns of training"
        raise DirectGPError(f"X lacks the training columns {quoted(absent)}; {hint}")
    if strange:
        unused = [name for name in known if name not in given]
        hint = f"; {did_you_mean(strange[0], unused)}" if unused else ""
        raise DirectGPError(
            f"X has the columns {quoted(strange)}, which are not in the training data; drop "
            f"them{hint}"
        )


def _as_table(X: Any, columns: tuple[str, ...] | None) -> pa.Table:
    """X as an Arrow table; columns of an array get the names of the training columns."""
    if isinstance(X, pa.Table) or hasattr(X, "columns"):
        return as_table(X)
    array = X if isinstance(X, np.ndarray) else np.array(X, dtype=object)
    if array.ndim != 2:
        raise DirectGPError(
            f"X must have 2 dimensions (rows, columns), got shape {array.shape}; reshape one row "
            "with X.reshape(1, -1)"
        )
    names = columns or tuple(f"x{number}" for number in range(array.shape[1]))
    if len(names) != array.shape[1]:
        raise DirectGPError(
            f"X has {array.shape[1]} columns but the model was trained on {len(names)}; give the "
            "same columns in the same order, or a frame with their names"
        )
    return as_table({name: arrow_column(array[:, k]) for k, name in enumerate(names)})


def fit_encoder(
    rows: Float[np.ndarray, "N D"] | pa.Table,
    target: TargetValues | None,
    names: tuple[str, ...] | None = None,
    **options: Any,
) -> tuple[TableEncoder, Float[np.ndarray, "N K"]]:
    """Fit a `TableEncoder` (with `options` of `TableEncoder.fit`) and encode the training rows.

    Rows of weight 0 are ignored by the encoder.

    Args:
        rows: validated training rows.
        target: their targets, for target-encoded categories.
        names: names of the columns of a numeric array.
        **options: of `TableEncoder.fit`.

    Returns:
        The encoder and the encoded rows.
    """
    if not isinstance(rows, pa.Table):
        encoder = numbers_encoder(rows, names, keep=options.get("missing") == "keep")
        return encoder, encoder.encode_numbers(rows)
    if target is None or np.all(target.weight > 0):
        encoder = TableEncoder.fit(rows, y=target, **options)
        return encoder, encoder.encode_training(rows, target).X
    counted = np.flatnonzero(target.weight > 0)
    some, own = rows.take(pa.array(counted)), target.take(counted)
    encoder = TableEncoder.fit(some, y=own, **options)
    coded = encoder.encode(rows).X
    coded[counted] = encoder.encode_training(some, own).X
    return encoder, coded


def training_inputs(
    estimator: Any,
    rows: Float[np.ndarray, "N D"] | pa.Table,
    target: TargetValues,
    *,
    reset: bool,
    cross_fit: bool,
) -> Float[np.ndarray, "N K"]:
    """Encode validated training rows.

    Args:
        estimator: holds the encoder.
        rows: the validated rows.
        target: their targets, for target-encoded categories.
        reset: fit a new encoder to these rows.
        cross_fit: encode categories out of fold, for rows that the encoder was fitted to.
    """
    if not reset:
        return encoded(estimator, rows, target if cross_fit else None)
    estimator.encoder_, inputs = fit_encoder(rows, target, names_in(estimator))
    return inputs


def names_in(estimator: Any) -> tuple[str, ...] | None:
    """The column names of X, or None."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def input_names(estimator: Any) -> tuple[str, ...]:
    """The names of the encoded inputs."""
    encoder = getattr(estimator, "encoder_", None)
    return tuple(estimator.get_feature_names_in()) if encoder is None else encoder.names


def encoded(
    estimator: Any,
    rows: Float[np.ndarray, "N D"] | pa.Table,
    target: TargetValues | None = None,
) -> Float[np.ndarray, "N K"]:
    """Encode rows; given their `target`, as training rows whose own target is left out."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is None:  # a file of an earlier version: numeric inputs only
        return rows
    if not isinstance(rows, pa.Table):
        return encoder.encode_numbers(rows)
    return (encoder.encode(rows) if target is None else encoder.encode_training(rows, target)).X


def stored_encoder(estimator: Any) -> dict[str, Any]:
    """The state of the encoder, for a file."""
    encoder = getattr(estimator, "encoder_", None)
    columns = getattr(estimator, "_columns", None)
    if encoder is None:
        return {}
    return {"encoder": encoder.to_json(), "columns": None if columns is None else list(columns)}


def restore_encoder(estimator: Any, state: dict[str, Any], features: tuple[str, ...]) -> None:
    """Inverse of `stored_encoder`; raises a `ValueError` if it does not fit the model's inputs.

    Files of earlier versions hold no encoder: their inputs are numeric without missing values.
    """
    names = features
    estimator._columns = None
    if "encoder" in state:
        read_json(state["encoder"])  # refuses too large or nested JSON; `from_json` checks the rest
        encoder = TableEncoder.from_json(state["encoder"])
        columns = state.get("columns")
        if encoder.names != features or encoder.missing != "indicator":
            raise DirectGPError("its columns of X are not the inputs of the model")
        if columns is not None:
            texts = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
            if not texts or {*columns} != {*encoder.sources, *encoder.dropped}:
                raise DirectGPError("its columns of X are not those of its encoder")
            estimator._columns = tuple(columns)
        estimator.encoder_ = encoder
        names = encoder.sources if columns is None else tuple(columns)
    estimator.n_features_in_ = len(names)
    if state.get("named") is True:
        estimator.feature_names_in_ = np.array(list(names), dtype=object)
