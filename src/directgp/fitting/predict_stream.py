"""`predict_stream`: predictions for tables larger than memory, a piece at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking import Stack
from directgp.tables import TableEncoder, TableWriter, TargetEncoder, as_table
from directgp.tables.notes import Note, RunningNotes
from directgp.tables.parquet_source import PIECE, ParquetSource, Piece, is_parquet
from directgp.tables.prediction_columns import Columns, beside_kept, check_kept, prediction_columns


def predict_stream(
    fitted: FittedGP | Stack,
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
    called with the columns of every piece: mean, std, q0.05, q0.5 and q0.95, of classes
    predicted and p(label). `keep` names columns to copy from the source; `columns` says what to
    write of a predictive instead (of several outputs, of a tuple of them); `target` gives classes
    their labels; `tell` is called at the end with everything that was out of the ordinary, such as
    levels that training never saw.
    """
    target = target or TargetEncoder(encoder.target or "y", "regression")
    names, pieces = _open(source)
    check_kept(keep, names)
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


def _open(source: Any) -> tuple[list[str], Iterator[Piece]]:
    if is_parquet(source):
        opened = ParquetSource(source)
        return opened.column_names, opened.pieces()
    table = as_table(source)
    firsts = np.arange(0, table.num_rows, PIECE).tolist()
    return table.column_names, (Piece(first, _slice(table, first)) for first in firsts)


def _slice(table: pa.Table, first: int) -> pa.Table:
    return table.slice(first, PIECE)
