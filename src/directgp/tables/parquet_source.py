"""Parquet files of any size, read in pieces: in the order of rows, or shuffled."""

import copy
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

from directgp.tables.arrow_values import without_views
from directgp.tables.messages import TableError, as_table_errors
from directgp.tables.table import PARQUET_ENDINGS, begins_as_parquet, check_names

PIECE = 16_384
"""Rows that are decoded and encoded at a time."""
_BUFFER = 1 << 18
_OPEN_GROUPS = 8


class Piece(NamedTuple):
    """Some consecutive rows and the number of the first among all rows."""

    first: int
    table: pa.Table


class _Group(NamedTuple):
    file: int
    group: int
    first: int
    num_rows: int


class ParquetSource:
    """The rows of one Parquet file, a folder of them or several files with the same columns.

    Memory is bounded, however large the files or row groups are.
    """

    def __init__(self, source: Any):
        self.paths = _paths(source)
        self._groups: list[_Group] = []
        self._files: list[parquet.ParquetFile] = []
        self.num_rows = 0
        for index, path in enumerate(self.paths):
            if not begins_as_parquet(path):
                raise TableError(
                    f"{path} is not Parquet, which streams need; save it as Parquet, or use "
                    "read_table if it fits into memory"
                )
            with as_table_errors(path):
                # Without a buffer a whole column of a row group is read at once.
                file = parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False)
            self._files.append(file)
            check_names(file.schema_arrow.names, str(path))
            if file.schema_arrow.names != self._files[0].schema_arrow.names:
                raise TableError(f"{path} has other columns than {self.paths[0]}; fit one of them")
            for group in range(file.metadata.num_row_groups):
                count = file.metadata.row_group(group).num_rows
                self._groups.append(_Group(index, group, self.num_rows, count))
                self.num_rows += count
        if self.num_rows == 0:
            raise TableError(f"{self} has column names but no rows; give at least one row")

    def __str__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    @property
    def column_names(self) -> list[str]:
        """The names of all columns."""
        return self._files[0].schema_arrow.names

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the first file."""
        return self._files[0].schema_arrow

    @property
    def spans(self) -> np.ndarray:
        """First row and number of rows of every row group, [groups 2]."""
        return np.array([(group.first, group.num_rows) for group in self._groups], np.int64)

    def part(self, groups: Iterable[int], offset: int = 0) -> "ParquetSource":
        """A source of some of the row groups.

        Args:
            groups: indices of row groups.
            offset: added to the numbers of their rows.
        """
        own = copy.copy(self)
        chosen = [self._groups[index] for index in sorted(groups)]
        own._groups = [group._replace(first=group.first + offset) for group in chosen]
        own.num_rows = sum(group.num_rows for group in chosen)
        return own

    def pieces(self, columns: Sequence[str] | None = None) -> Iterator[Piece]:
        """All rows in the order of the file."""
        for group in self._groups:
            yield from self._read(group, columns)

    def shuffled_pieces(
        self, columns: Sequence[str] | None, rng: np.random.Generator
    ) -> Iterator[Piece]:
        """All rows once: row groups in random order, drawing from several of them at a time.

        Args:
            columns: the columns to read; None: all.
            rng: the random generator.
        """
        waiting = [self._read(self._groups[i], columns) for i in rng.permutation(len(self._groups))]
        waiting.reverse()
        running: list[Iterator[Piece]] = []
        while waiting or running:
            while waiting and len(running) < _OPEN_GROUPS:
                running.append(waiting.pop())
            chosen = int(rng.integers(len(running)))
            piece = next(running[chosen], None)
            if piece is None:
                running.pop(chosen)
            else:
                yield piece

    def _read(self, group: _Group, columns: Sequence[str] | None) -> Iterator[Piece]:
        first, path = group.first, self.paths[group.file]
        wanted = None if columns is None else list(columns)
        with as_table_errors(path):
            for batch in self._files[group.file].iter_batches(
                PIECE, row_groups=[group.group], columns=wanted, use_threads=False
            ):
                batch.validate(full=True)
                yield Piece(first, without_views(pa.Table.from_batches([batch])))
                first += batch.num_rows


def is_parquet(source: Any) -> bool:
    """Whether a source is a Parquet file, a folder, or a list of paths."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return path.is_dir() or (path.is_file() and begins_as_parquet(path))
    return isinstance(source, list | tuple)


def _paths(source: Any) -> list[Path]:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            found = [entry for entry in path.iterdir() if entry.suffix.lower() in PARQUET_ENDINGS]
            if not found:
                raise TableError(f"there is no Parquet file in {path}; name a file or folder")
            return sorted(found)
        return [path]
    if isinstance(source, Iterable):
        paths = [Path(entry) for entry in source]
        if paths:
            return paths
    raise TableError("name a Parquet file, a folder of them or a list of them")
