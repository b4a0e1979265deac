"""Write tables as CSV or Parquet, at once or in pieces; a file appears only when complete."""

import gzip
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from directgp.atomic_write import AtomicWrite
from directgp.tables.formulas import without_formulas
from directgp.tables.messages import TableError, as_table_errors, one_line
from directgp.tables.table import CSV_ENDINGS, PARQUET_ENDINGS, check_names


def write_table(path: str | os.PathLike[str], columns: Mapping[str, Any] | Any) -> None:
    """Write columns (a mapping of names to values, or a data frame) as CSV or Parquet.

    The file appears under its name only when it is complete; on any failure nothing is left.

    Args:
        path: ends with .csv, .csv.gz, .tsv or .parquet.
        columns: names and values, or a data frame.
    """
    with TableWriter(path) as writer:
        writer.write(columns)


class TableWriter:
    """Writes a table piece by piece; the file appears under its name when all are written.

    Args:
        path: the file; its ending selects CSV or Parquet.
        mark_formulas: put an apostrophe before text in CSV that a spreadsheet would evaluate; see
            `formulas`. For predictions, not for tables that are read again.
    """

    def __init__(self, path: str | os.PathLike[str], *, mark_formulas: bool = False):
        self.path = Path(path)
        endings = [ending.lower() for ending in self.path.suffixes]
        self._gzip = endings[-1:] == [".gz"]
        ending = ["", *endings][-2 if self._gzip else -1]
        self._parquet = ending in PARQUET_ENDINGS and not self._gzip
        if not self._parquet and ending not in CSV_ENDINGS:
            known = ", ".join(CSV_ENDINGS + PARQUET_ENDINGS)
            raise TableError(f"{self.path} has no ending of a table; choose one of {known}")
        self._mark = mark_formulas and not self._parquet
        self._delimiter = "\t" if ending in (".tsv", ".tab") else ","
        self._output: Any = None
        self._file: Any = None
        self._writer: Any = None
        self._schema: pa.Schema | None = None

    def __enter__(self) -> "TableWriter":
        if self.path.is_dir():
            raise TableError(f"{self.path} is a folder; give a file name")
        if not self.path.parent.is_dir():
            raise TableError(f"there is no folder {self.path.parent}; make it first")
        with as_table_errors(self.path):
            self._output = AtomicWrite(self.path)
            file = self._output.file
            self._file = gzip.GzipFile("", "wb", fileobj=file) if self._gzip else file
        return self

    def write(self, columns: Mapping[str, Any] | Any) -> None:
        """Append rows; all pieces have the columns of the first."""
        piece = _as_piece(columns)
        with as_table_errors(self.path):
            if self._mark:
                piece = without_formulas(piece)
            if self._writer is None:
                check_names(piece.column_names, str(self.path))
                self._writer, self._schema = self._open(piece.schema), piece.schema
            self._writer.write_table(piece.cast(self._schema))

    def _open(self, schema: pa.Schema) -> Any:
        if self._parquet:
            return parquet.ParquetWriter(self._file, schema, compression="zstd")
        options = arrow_csv.WriteOptions(delimiter=self._delimiter)
        return arrow_csv.CSVWriter(self._file, schema, write_options=options)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with as_table_errors(self.path):
                if self._writer is not None:
                    self._writer.close()
                if self._gzip:
                    self._file.close()  # writes its end; the file below stays open
                if error is None and self._writer is not None:
                    self._output.commit()
        finally:
            self._output.discard()


def _as_piece(columns: Mapping[str, Any] | Any) -> pa.Table:
    try:
        return pa.table(columns if hasattr(columns, "__arrow_c_stream__") else dict(columns))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TableError(f"these columns are not a table ({one_line(error)})") from None
