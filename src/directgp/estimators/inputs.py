"""X as people give it: arrays of numbers as scikit-learn checks them, other frames as tables."""

from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from directgp.errors import DirectGPError
from directgp.tables import TableEncoder, TargetValues, as_table, column_names, numbers_encoder
from directgp.tables.messages import did_you_mean, quoted
from directgp.tables.table import arrow_column


def is_mixed(X: Any) -> bool:
    """Whether X has columns that are no numbers, so that it must be read as a table.

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
    except ValueError:  # rows of unequal length, which is for others to refuse
        return False
    if array.ndim != 2 or array.dtype.kind not in "OU":
        return False
    return any(isinstance(cell, str) and not _is_number(cell) for cell in array.flat)


def _is_number_type(kind: Any) -> bool:
    """Of pandas (NumPy's, or its own, which also have a `kind`) or of polars."""
    if hasattr(kind, "is_numeric"):
        return kind.is_numeric() or str(kind) == "Boolean"
    return getattr(kind, "kind", "O") in "biufc"  # complex numbers are for scikit-learn to refuse


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def validated_rows(
    estimator: BaseEstimator, X: Any, *, reset: bool, at_least: int = 1, as_frame: bool = False
) -> Float[np.ndarray, "N D"] | pa.Table:
    """X as an array of numbers, or as a table if the estimator is (or `reset`: will be) of tables.

    Frames of numbers are arrays, unless training rows are asked for `as_frame`.

    It sets or checks `n_features_in_` and `feature_names_in_`, as `validate_data` does.
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
        return validate_data(estimator, X, reset=reset, **allowed)
    table = _as_table(X, None if reset else columns)
    if table.num_rows < at_least:
        raise DirectGPError(f"at least {at_least} rows are needed, got {table.num_rows}")
    if reset:
        _remember_columns(estimator, table, named=isinstance(X, pa.Table) or bool(column_names(X)))
    else:
        _check_same_columns(table.column_names, columns or (), estimator.encoder_.sources)  # pyright: ignore
    return table


def _remember_columns(estimator: Any, table: pa.Table, named: bool) -> None:
    estimator.n_features_in_ = table.num_columns
    estimator._columns = tuple(table.column_names)
    if named:
        estimator.feature_names_in_ = np.array(table.column_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _check_same_columns(given: list[str], known: tuple[str, ...], needed: tuple[str, ...]) -> None:
    """Refuse columns that training had not, and a table without those that are needed."""
    strange = [name for name in given if name not in known]
    absent = [name for name in needed if name not in given]
    if absent:
        hint = did_you_mean(absent[0], strange or given)
        raise DirectGPError(f"X lacks the columns {quoted(absent)}, known from training; {hint}")
    if strange:
        unused = [name for name in known if name not in given]
        hint = f"; {did_you_mean(strange[0], unused)}" if unused else ""
        raise DirectGPError(
            f"X has the columns {quoted(strange)}, which training had not; drop them{hint}"
        )


def _as_table(X: Any, columns: tuple[str, ...] | None) -> pa.Table:
    """A frame by its names; an array by position, its columns called as in training."""
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
    """The encoder of training rows, and these rows as numbers; `options` as `TableEncoder.fit`.

    A row of weight 0 teaches the encoder nothing.
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
    """Validated training rows as the numbers of the model; `reset` learns the encoder from them.

    Without `cross_fit` the rows are new to an encoder that is known already.
    """
    if not reset:
        return encoded(estimator, rows, target if cross_fit else None)
    estimator.encoder_, inputs = fit_encoder(rows, target, names_in(estimator))
    return inputs


def names_in(estimator: Any) -> tuple[str, ...] | None:
    """The names of the columns of X, if they had any."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else tuple(map(str, names))


def input_names(estimator: Any) -> tuple[str, ...]:
    """The names of the numbers that the model works on."""
    encoder = getattr(estimator, "encoder_", None)
    return tuple(estimator.get_feature_names_in()) if encoder is None else encoder.names


def encoded(
    estimator: Any,
    rows: Float[np.ndarray, "N D"] | pa.Table,
    target: TargetValues | None = None,
) -> Float[np.ndarray, "N K"]:
    """Later rows as numbers; with their `target` as rows to train on, which must not see it."""
    encoder = getattr(estimator, "encoder_", None)
    if encoder is None:  # of a file of an earlier version, which knows numbers only
        return rows
    if not isinstance(rows, pa.Table):
        return encoder.encode_numbers(rows)
    return (encoder.encode(rows) if target is None else encoder.encode_training(rows, target)).X


def stored_encoder(estimator: Any) -> dict[str, Any]:
    """What a file must hold of how X becomes numbers."""
    encoder = getattr(estimator, "encoder_", None)
    columns = getattr(estimator, "_columns", None)
    if encoder is None:
        return {}
    return {"encoder": encoder.to_json(), "columns": None if columns is None else list(columns)}


def restore_encoder(estimator: Any, state: dict[str, Any], features: tuple[str, ...]) -> None:
    """The way back from `stored_encoder`; a `ValueError` if it is not that of the model's inputs.

    Files of earlier versions hold no encoder: they know numbers without gaps only.
    """
    names = features
    estimator._columns = None
    if "encoder" in state:
        encoder = TableEncoder.from_json(state["encoder"])
        columns = state.get("columns")
        if encoder.names != features or encoder.missing != "indicator":
            raise DirectGPError("the columns of X are not the inputs of the model")
        if columns is not None:
            texts = isinstance(columns, list) and all(isinstance(name, str) for name in columns)
            if not texts or {*columns} != {*encoder.sources, *encoder.dropped}:
                raise DirectGPError("the columns of X are not those of its encoder")
            estimator._columns = tuple(columns)
        estimator.encoder_ = encoder
        names = encoder.sources if columns is None else tuple(columns)
    estimator.n_features_in_ = len(names)
    if state.get("named") is True:
        estimator.feature_names_in_ = np.array(list(names), dtype=object)
