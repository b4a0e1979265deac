"""`predict_stream`: predictions for tables larger than memory, a piece at a time."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.data import TableEncoder, TableError, TableWriter, TargetEncoder, as_table
from directgp.data.messages import did_you_mean
from directgp.data.notes import Note, RunningNotes
from directgp.data.parquet_source import PIECE, ParquetSource, Piece, is_parquet
from directgp.fitted import FittedGP
from directgp.fitting_outputs import FittedOutputs
from directgp.predictive import Predictive
from directgp.predictive.classes import ClassProbabilities

Columns = Mapping[str, Any]


def prediction_columns(predictive: Predictive, target: TargetEncoder) -> Columns:
    """What to write of a predictive: mean, standard deviation and the bounds of the 90 %
    interval; of classes the most probable one and the probability of each."""
    if isinstance(predictive, ClassProbabilities):
        labels = target.labels or range(predictive.num_classes)
        best = [labels[number] for number in predictive.predicted]
        names = [f"p({label})" for label in labels]
        return {target.name: best} | dict(zip(names, predictive.probabilities.T, strict=True))
    lower, upper = predictive.interval(0.9)
    return {
        f"{target.name}_mean": predictive.mean,
        f"{target.name}_std": predictive.std,
        f"{target.name}_lower": lower,
        f"{target.name}_upper": upper,
    }


def predict_stream(
    fitted: FittedGP | FittedOutputs,
    encoder: TableEncoder,
    source: Any,
    sink: str | os.PathLike[str] | Callable[[Columns], Any],
    *,
    target: TargetEncoder | None = None,
    keep: Sequence[str] = (),
    columns: Callable[[Any, TargetEncoder], Columns] = prediction_columns,
    tell: Callable[[Note], Any] | None = None,
) -> int:
    """Predict all rows of a table, a piece at a time, and return how many there were.

    `source` is Parquet of any size (a file, a folder or a list), or any table that is in memory.
    `sink` is a CSV or Parquet file, which appears when it is complete, or a function that is
    called with the columns of every piece. `keep` names columns to copy from the source;
    `columns` says what to write of a predictive (of several outputs, of a tuple of them); `target`
    gives classes their labels; `tell` is called at the end with everything that was out of the
    ordinary, such as levels that training never saw.
    """
    target = target or TargetEncoder(encoder.target or "y", "regression")
    names, pieces = _open(source)
    for name in keep:
        if name not in names:
            raise TableError(f"there is no column {name!r}; {did_you_mean(name, names)}")
    count, notes = 0, RunningNotes()
    with ExitStack() as stack:
        write = sink if callable(sink) else stack.enter_context(TableWriter(sink)).write
        for first, table in pieces:
            X, _, new = encoder.encode(table, rows_before=first)
            notes.add(new)
            predicted = columns(fitted.predict(X), target)
            write(beside_kept({name: table[name] for name in keep}, predicted))
            count += len(X)
    if tell is not None:
        for note in notes.in_all():
            tell(note)
    return count


def beside_kept(kept: Columns, predicted: Columns) -> dict[str, Any]:
    """Columns of the source and then those of a prediction; refused if two have one name."""
    for name in kept:
        if name in predicted:
            raise TableError(
                f"column {name!r} is also the name of a prediction; rename it in the table"
            )
    return {**kept, **predicted}


def _open(source: Any) -> tuple[list[str], Iterator[Piece]]:
    if is_parquet(source):
        opened = ParquetSource(source)
        return opened.column_names, opened.pieces()
    table = as_table(source)
    firsts = np.arange(0, table.num_rows, PIECE).tolist()
    return table.column_names, (Piece(first, _slice(table, first)) for first in firsts)


def _slice(table: pa.Table, first: int) -> pa.Table:
    return table.slice(first, PIECE)
