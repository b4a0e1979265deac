"""`predict_stream`: predictions for tables larger than memory, in pieces."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.fitting.any_fitted import Fitted
from directgp.tables import TableEncoder, TableWriter, TargetEncoder, as_table
from directgp.tables.notes import Note, RunningNotes
from directgp.tables.parquet_source import PIECE, ParquetSource, Piece, is_parquet
from directgp.tables.prediction_columns import Columns, beside_kept, check_kept, prediction_columns


def predict_stream(
    fitted: Fitted,
    encoder: TableEncoder,
    source: Any,
    sink: str | os.PathLike[str] | Callable[[Columns], Any],
    *,
    target: TargetEncoder | None = None,
    keep: Sequence[str] = (),
    columns: Callable[[Any, TargetEncoder], Columns] = prediction_columns,
    tell: Callable[[Note], Any] | None = None,
    advance: Callable[[int], Any] | None = None,
) -> int:
    """Predict all rows of a table in pieces.

    Args:
        fitted: the fitted model.
        encoder: encodes the inputs, as in training.
        source: Parquet of any size (a file, a folder or a list), or any table in memory.
        sink: a CSV or Parquet file, which appears when it is complete; or a function that is called
            with the columns of every piece: mean, std, q0.05, q0.5 and q0.95, or for classes
            predicted and p(label).
        target: the target encoder, which gives classes their labels.
        keep: columns to copy from the source.
        columns: a function from a predictive distribution (with several outputs, a tuple of them)
            to the columns to write instead.
        tell: called at the end with notes on unusual values, such as new levels.
        advance: called after every piece with its number of rows, to show progress.

    Returns:
        The number of rows.
    """
    target = target or TargetEncoder(encoder.target or "y", "regression")
    names, pieces = _open(source)
    check_kept(keep, names)
    count, notes = 0, RunningNotes()
    with ExitStack() as stack:
        write = sink
        if not callable(write):
            write = stack.enter_context(TableWriter(write, mark_formulas=True)).write
        for first, table in pieces:
            X, _, new = encoder.encode(table, rows_before=first)
            notes.add(new)
            predicted = columns(fitted.predict(X), target)
            write(beside_kept({name: table[name] for name in keep}, predicted))
            count += len(X)
            if advance is not None:
                advance(len(X))
    if tell is not None:
        for note in notes.in_all():
            tell(note)
    return count


def _open(source: Any) -> tuple[list[str], Iterator[Piece]]:
    if is_parquet(source):
        opened = ParquetSource(source)
        return opened.column_names, opened.pieces()
    table = as_table(source)
    firsts = np.arange(0, table.num_rows, PIECE).tolist()
    return table.column_names, (Piece(first, _slice(table, first)) for first in firsts)


def _slice(table: pa.Table, first: int) -> pa.Table:
    return table.slice(first, PIECE)
