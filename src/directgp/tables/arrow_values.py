"""Values of one Arrow column as numbers, texts or dates; NaN and null are missing."""

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from jaxtyping import Bool, Float, Int

from directgp.tables.csv_text import MISSING
from directgp.tables.messages import TableError, one_line

_call = compute.call_function
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$|^[+-]?(inf|infinity)$"
_TRUTH = {"true": 1.0, "false": 0.0}


class Where(NamedTuple):
    """The column and the row offset that error messages name."""

    column: str
    rows_before: int = 0
    or_else: str = ""
    """Another way to handle an invalid value, added to the error message."""
    numbers: Int[np.ndarray, "N"] | None = None
    """The number of every row in its file, from 1, where some rows were removed before."""

    def row(self, index: Any) -> str:
        """The name of a row in a message, counted from 1."""
        if self.numbers is not None:
            return f"row {int(self.numbers[int(index)])}"
        return f"row {self.rows_before + int(index) + 1}"


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Decode dictionaries and views; strip text, with texts that mean "missing" as null."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Chunk by chunk, because Arrow cannot yet decode dictionaries of string views itself.
        kind = pa.large_string() if is_text(kind.value_type) else kind.value_type
        chunks = [part.dictionary.cast(kind).take(part.indices) for part in column.chunks]
        column = pa.chunked_array(chunks, kind)
    if is_text(kind):
        text = _call("utf8_trim_whitespace", [column.cast(pa.large_string())])
        unknown = _call("is_in", [text], compute.SetLookupOptions(pa.array(MISSING, text.type)))
        return _call("if_else", [unknown, pa.scalar(None, text.type), text])
    return column


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The cells as Python values; dates and durations that Python has no type for as text.

    >>> python_values(pa.chunked_array([pa.array([10**18], pa.timestamp("us"))]))
    ['<value out of range: 1000000000000000000>']
    """
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        return column.cast(pa.large_string()).to_pylist()


def without_views(table: pa.Table) -> pa.Table:
    """The table with string views as large strings, which Arrow can filter and take."""
    wanted = {"string_view": pa.large_string(), "binary_view": pa.large_binary()}
    fields = [field.with_type(wanted.get(str(field.type), field.type)) for field in table.schema]
    schema = pa.schema(fields, table.schema.metadata)
    return table if schema.equals(table.schema) else table.cast(schema)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type is text."""
    views = getattr(pa.types, "is_string_view", lambda _: False)
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or views(kind)


def is_date_or_time(kind: pa.DataType) -> bool:
    """Dates, timestamps and times of day."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind) or pa.types.is_time(kind)


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats, decimals, durations."""
    return (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_duration(kind)
    )


def looks_numeric(text: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether every text of a `plain` column is a number; null stays null."""
    options = compute.MatchSubstringOptions(_NUMBER, ignore_case=True)
    return _call("match_substring_regex", [text], options)


def numbers(column: pa.ChunkedArray, where: Where, strays: bool = False) -> Float[np.ndarray, "N"]:
    """A column as float64, with NaN for missing values.

    Booleans become 1 and 0, durations seconds, text is parsed. Infinite values are refused, because
    neither a scale nor a distance can be computed from them.

    Args:
        column: the column, of any Arrow type.
        where: the column name and row offset for error messages.
        strays: whether text that is not a number counts as missing, instead of being an error.

    Returns:
        One number per row.
    """
    column = plain(column)
    kind = column.type
    if pa.types.is_null(kind):
        return np.full(len(column), np.nan)
    if is_text(kind):
        values = _numbers_of_text(column, where, strays)
    elif pa.types.is_boolean(kind):
        values = _floats(column.cast(pa.uint8()))
    elif pa.types.is_duration(kind):
        values = _floats(column.cast(pa.duration("ns"), safe=False).cast(pa.int64())) * 1e-9
    elif is_number(kind):
        values = _floats(column)
    else:
        raise TableError(
            f"column {where.column!r} must hold numbers, got {one_line(kind, 60)}; "
            "make it numbers or drop it"
        )
    infinite = np.isinf(values)
    if infinite.any():
        raise TableError(
            f"column {where.column!r} has {int(infinite.sum())} infinite values (first: "
            f"{where.row(np.argmax(infinite))}); correct them or leave them empty"
        )
    return values


def _floats(column: pa.ChunkedArray) -> np.ndarray:
    cast = column.cast(pa.float64(), safe=False)
    return np.array(cast.to_numpy(), dtype=np.float64)  # null becomes NaN; a writable copy


def _numbers_of_text(column: pa.ChunkedArray, where: Where, strays: bool) -> np.ndarray:
    try:
        return _floats(column)
    except pa.ArrowInvalid:
        pass
    texts = np.array(column.to_pylist(), dtype=object)
    known = np.array([text is not None for text in texts], dtype=bool)
    good = _mask(looks_numeric(column))
    truth = np.array([str(text).lower() in _TRUTH for text in texts], dtype=bool)
    stray = known & ~good & ~truth
    if stray.any() and not strays:
        first = int(np.argmax(stray))
        raise TableError(
            f"column {where.column!r} holds numbers, but {where.row(first)} has "
            f"{one_line(texts[first], 40)!r} ({int(stray.sum())} such values); correct or empty "
            f"them{where.or_else}"
        )
    values = np.full(len(texts), np.nan)
    for row in np.flatnonzero(known & ~stray):
        text = texts[row]
        values[row] = _TRUTH[text.lower()] if truth[row] else float(text)
    return values


def known_cells(column: pa.ChunkedArray) -> Bool[np.ndarray, "N"]:
    """Mask of known values: neither null nor a text that means "missing"."""
    return _mask(plain(column).is_valid())


def _mask(column: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(column.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)


def texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as labels; whole numbers have no decimals, so 3 and 3.0 are the same label."""
    column = plain(column)
    kind = column.type
    if is_text(kind):
        return column
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        values = _floats(column)
        labels = [None if np.isnan(value) else label_of(value) for value in values.tolist()]
        return pa.chunked_array([pa.array(labels, pa.large_string())])
    return column.cast(pa.large_string())


def label_of(value: Any) -> str:
    """A number as a label.

    >>> label_of(3.0), label_of(0.5)
    ('3', '0.5')
    """
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else str(value)


def microseconds(column: pa.ChunkedArray) -> tuple[np.ndarray, np.ndarray]:
    """Dates and times in microseconds.

    Args:
        column: a column of dates, timestamps or times of day. Times with a time zone count in UTC.

    Returns:
        datetime64[us] for every row (times of day on 1 January 1970), and which rows are known.
    """
    kind = column.type
    if pa.types.is_time(kind):
        wide = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
    else:
        wide = column.cast(pa.timestamp("us", getattr(kind, "tz", None)), safe=False)
        wide = wide.cast(pa.int64())
    known = _mask(wide.is_valid())
    return wide.fill_null(0).to_numpy().astype("datetime64[us]"), known
