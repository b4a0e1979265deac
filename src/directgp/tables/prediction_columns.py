"""Predictive distributions as columns of an output table."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from directgp.predictive import ClassProbabilities, Predictive
from directgp.tables import TableError, TargetEncoder
from directgp.tables.messages import did_you_mean

Columns = Mapping[str, Any]
LEVELS = (0.05, 0.5, 0.95)
"""Default levels of quantiles."""
PIECE = 50_000
"""Number of rows that are predicted together; predictions do not depend on it."""


@singledispatch
def prediction_columns(
    predictive: Predictive, target: TargetEncoder, levels: Sequence[float] = LEVELS
) -> Columns:
    """Numbers and counts: mean, std and quantiles, in the units of the target.

    Args:
        predictive: the predictions.
        target: the target, for the labels of classes.
        levels: the levels of the quantiles.
    """
    columns = {"mean": predictive.mean, "std": predictive.std}
    found = predictive.quantile(levels) if levels else np.empty((len(predictive), 0))
    return columns | {f"q{level:g}": found[:, k] for k, level in enumerate(levels)}


@prediction_columns.register
def _(predictive: ClassProbabilities, target: TargetEncoder, levels: Sequence[float] = LEVELS):
    """Classes: the most probable one, and the probability of each."""
    labels = target.labels or range(predictive.num_classes)
    columns: dict[str, Any] = {"predicted": [labels[number] for number in predictive.predicted]}
    shares = predictive.probabilities
    return columns | {f"p({label})": shares[:, k] for k, label in enumerate(labels)}


def columns_of_targets(
    predicted: Predictive | tuple[Predictive, ...],
    targets: Sequence[TargetEncoder],
    levels: Sequence[float] = LEVELS,
) -> Columns:
    """The prediction columns of every target.

    Args:
        predicted: one predictive distribution, or one for each target.
        targets: the encoders of the targets.
        levels: the levels of the quantiles.

    Returns:
        Columns by name; with several targets each name begins with that of the target.
    """
    if isinstance(predicted, Predictive):
        return prediction_columns(predicted, targets[0], levels)
    return {
        f"{target.name}_{name}": values
        for target, each in zip(targets, predicted, strict=True)
        for name, values in prediction_columns(each, target, levels).items()
    }


def in_pieces(
    columns_of: Callable[[slice], dict[str, Any]], num_rows: int, advance: Callable[[int], Any]
) -> dict[str, Any]:
    """The columns of all rows, computed in pieces so that progress can be shown.

    Args:
        columns_of: the columns of a slice of the rows.
        num_rows: the number of rows.
        advance: called with the number of rows of every piece.

    >>> in_pieces(lambda rows: {"row": list(range(3))[rows]}, 3, print)
    3
    {'row': [0, 1, 2]}
    """
    found: dict[str, list[Any]] = {}
    for first in range(0, max(num_rows, 1), PIECE):
        rows = slice(first, min(first + PIECE, num_rows))
        for name, values in columns_of(rows).items():
            found.setdefault(name, []).append(values)
        advance(rows.stop - rows.start)
    return {name: _joined(parts) for name, parts in found.items()}


def _joined(parts: list[Any]) -> Any:
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return [value for part in parts for value in part]


def check_kept(keep: Sequence[str], there: Collection[str]) -> None:
    """Raise an error for columns to keep that the table does not have.

    Args:
        keep: the columns to keep.
        there: the columns of the table.
    """
    for name in keep:
        if name not in there:
            raise TableError(f"there is no column {name!r} to keep; {did_you_mean(name, there)}")


def beside_kept(kept: Columns, made: Columns) -> dict[str, Any]:
    """Kept input columns followed by the prediction columns; a name in both is an error.

    Args:
        kept: the input columns.
        made: the prediction columns.
    """
    for name in kept:
        if name in made:
            raise TableError(
                f"column {name!r} is also a column of the output; rename it in the table"
            )
    return {**kept, **made}
