"""The kind of a column (numbers, booleans, dates or labels), found from its type and its text."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from directgp.tables.arrow_values import (
    Where,
    is_date_or_time,
    is_number,
    is_text,
    looks_numeric,
    numbers,
    plain,
)
from directgp.tables.dates import date_format, text_format
from directgp.tables.messages import TableError, one_line

_MOSTLY = 0.5
_NEARLY_ALL = 0.9
"""Text is a column of numbers or dates if at least this share is; the rest counts as missing."""


class InputKind(NamedTuple):
    """The kind of an input column; `strays`: whether some of its text is not of this kind."""

    kind: str
    strays: bool = False


_KIND_OF_TYPE = (
    (pa.types.is_dictionary, "category"),
    (pa.types.is_boolean, "boolean"),
    (is_number, "number"),
    (is_date_or_time, "date"),
)


def input_kind(column: pa.ChunkedArray) -> InputKind | None:
    """The kind of an input column; None if its type cannot be used.

    Text of which nine tenths are numbers (or dates of one format) has that kind, and the other
    values count as missing. Any other mixture is a category.
    """
    for matches, kind in _KIND_OF_TYPE:
        if matches(column.type):
            return InputKind(kind)
    if not is_text(column.type):
        return None
    distinct, counts = _counted(column)
    numeric = counts[_looks_numeric(distinct)].sum() / counts.sum()
    if numeric >= _NEARLY_ALL:
        return InputKind("number", bool(numeric < 1))
    if _is_truth(distinct):
        return InputKind("boolean")
    found = date_format(column)
    if found is None or found.share < _NEARLY_ALL:
        return InputKind("category")
    return InputKind("date", found.share < 1)


def kind_of(column: pa.ChunkedArray, where: Where) -> str | None:
    """The kind of a target column.

    Args:
        column: the target.
        where: its name, for error messages.

    Returns:
        The kind; None if no value is known. A mixture of numbers and text is refused.
    """
    if len(plain(column).drop_null()) == 0:
        return None
    for matches, kind in _KIND_OF_TYPE:
        if matches(column.type):
            return kind
    if is_text(column.type):
        return _kind_of_text(plain(column), where)
    raise TableError(
        f"column {where.column!r} holds {one_line(column.type, 60)}, which cannot be encoded; "
        "drop the column or split it into plain ones"
    )


def _kind_of_text(column: pa.ChunkedArray, where: Where) -> str:
    """Text may be numbers, truth values or dates that were stored as text."""
    distinct, counts = _counted(column)
    if counts[_looks_numeric(distinct)].sum() / counts.sum() >= _MOSTLY:
        numbers(column, where)  # raises an error that names a value that is not a number
        return "number"
    if _is_truth(distinct):
        return "boolean"
    return "category" if text_format(column) is None else "date"


def _counted(column: pa.ChunkedArray) -> tuple[pa.Array, np.ndarray]:
    """The distinct texts and their counts."""
    counted = plain(column).drop_null().value_counts()
    return counted.field("values"), counted.field("counts").to_numpy()


def _looks_numeric(distinct: pa.Array) -> np.ndarray:
    numeric = looks_numeric(pa.chunked_array([distinct]))
    return np.asarray(numeric.to_numpy(zero_copy_only=False), dtype=bool)


def _is_truth(distinct: pa.Array) -> bool:
    return len(distinct) <= 6 and {text.lower() for text in distinct.to_pylist()} <= {
        "true",
        "false",
    }
