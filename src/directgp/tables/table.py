"""Reading tables: CSV and Parquet files, and data frames of other libraries, as Arrow tables."""

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from directgp.tables.arrow_values import without_views
from directgp.tables.csv_text import decompressed, is_gzip, parse_csv
from directgp.tables.memory_bounds import read_parquet
from directgp.tables.messages import TableError, as_table_errors, quoted

CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
PARQUET_ENDINGS = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_PANDAS_INDEX = "__index_level_"


def read_table(path: str | os.PathLike[str]) -> pa.Table:
    """Read a CSV (`,` `;` or tab; UTF-8; also gzipped) or Parquet file as an Arrow table.

    The format is detected from the content (the magic bytes of Parquet and gzip), then from the
    ending of the name. Any problem with the file is a `TableError`.
    """
    path = Path(path)
    with as_table_errors(path):
        start = _first_bytes(path)
        if not start:
            raise TableError(f"{path} is empty; give a table with a header and rows")
        if start == _PARQUET_MAGIC:
            table = read_parquet(path)
            table.validate(full=True)  # finds text that is not UTF-8
        else:
            _check_ending(path, start)
            table = parse_csv(decompressed(path.read_bytes(), str(path)), str(path))
    return checked(table, str(path))


def as_table(data: Any) -> pa.Table:
    """Convert a path, an Arrow table, a mapping of columns, or a frame with the Arrow PyCapsule
    interface (pandas, polars, DuckDB, …) to an Arrow table.

    >>> as_table({"a": [1, 2], "b": ["x", "y"]}).column_names
    ['a', 'b']
    """
    if isinstance(data, str | os.PathLike):
        return read_table(data)
    kind = f"the {type(data).__name__}"
    with as_table_errors(kind):
        if hasattr(data, "dtypes") and hasattr(data, "index"):
            table = _of_pandas(data)
        elif hasattr(data, "__arrow_c_stream__") or isinstance(data, Mapping):
            table = pa.table(data)
        else:
            raise TableError(
                f"a table must be a path, a data frame or a mapping of columns, got "
                f"{type(data).__name__}; name your columns, for example {{'a': [1, 2]}}"
            )
    index = [name for name in table.column_names if name.startswith(_PANDAS_INDEX)]
    return checked(table.drop_columns(index) if index else table, kind)


def _of_pandas(frame: Any) -> pa.Table:
    """The columns of a pandas frame, without its index."""
    names = [str(name) for name in frame.columns]
    columns = [arrow_column(frame.iloc[:, number]) for number in range(len(names))]
    return pa.Table.from_arrays(columns, names=names)


def arrow_column(values: Any) -> pa.Array | pa.ChunkedArray:
    """A column of any values; as text if Arrow has no common type for them.

    >>> arrow_column([1, "a", None]).to_pylist()
    ['1', 'a', None]
    """
    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        known = [None if _is_missing(value) else str(value) for value in values]
        return pa.array(known, pa.large_string())


def _is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or NA or NaT of pandas."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):  # NA of pandas, or an array
        return type(value).__name__ == "NAType"


def checked(table: pa.Table, source: str) -> pa.Table:
    """Check that a table has distinct column names and at least one row.

    Args:
        table: the table.
        source: its name, for errors.
    """
    check_names(table.column_names, source)
    if table.num_rows == 0:
        raise TableError(f"{source} has column names but no rows; give at least one row")
    return without_views(table)


def check_names(names: list[str], source: str) -> None:
    """Check that there is a column, names are distinct, and none has a NUL character.

    Args:
        names: the names of the columns.
        source: the name of the table, for errors.
    """
    if not names:
        raise TableError(f"{source} has no columns; give a table with a header and rows")
    cut = [name for name in names if "\0" in name]
    if cut:
        raise TableError(f"{source} has a NUL character in the name {quoted(cut)}; rename it")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise TableError(f"{source} has several columns called {quoted(twice)}; rename them")


def begins_as_parquet(path: Path) -> bool:
    """Whether the file has the magic bytes of Parquet."""
    with as_table_errors(path):
        return _first_bytes(path) == _PARQUET_MAGIC


def _first_bytes(path: Path) -> bytes:
    if path.is_dir():
        raise TableError(f"{path} is a folder; give a CSV or Parquet file")
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC))


def _check_ending(path: Path, start: bytes) -> None:
    endings = [ending.lower() for ending in path.suffixes]
    if is_gzip(start) and endings[-1:] == [".gz"]:
        endings.pop()
    ending = endings[-1] if endings else ""
    if ending in PARQUET_ENDINGS:
        raise TableError(f"{path} is not a Parquet file (it does not begin with PAR1)")
    if ending and ending not in CSV_ENDINGS:
        known = ", ".join(CSV_ENDINGS + PARQUET_ENDINGS)
        raise TableError(f"{path} ends in {ending}; save it as CSV or Parquet ({known}) first")
