"""Reading CSV: delimiter detection, decimal comma, byte-order marks, gzip, ragged rows."""

import csv
import io
import re
from contextlib import suppress

import pyarrow as pa
import pyarrow.csv as arrow_csv

from directgp.tables.memory_bounds import unpacked
from directgp.tables.messages import TableError, one_line

# fmt: off
MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "NaT", "n/a", "nan", "null",
)
# fmt: on
"""Texts that mean a missing value."""

_DELIMITERS = ",;\t"
_SAMPLE_ROWS = 50
_SAMPLE_SIZE = 1 << 18
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_DECIMAL_POINT = re.compile(r"\s*[+-]?\d+\.\d+([eE][+-]?\d+)?\s*")


def is_gzip(content: bytes) -> bool:
    """Whether the bytes begin as a gzip file does."""
    return content[:2] == b"\x1f\x8b"


def decompressed(content: bytes, source: str) -> bytes:
    """Decompress gzip; other bytes are returned unchanged.

    Args:
        content: the bytes.
        source: the name of the file, for errors.
    """
    return unpacked(content, source) if is_gzip(content) else content


def parse_csv(content: bytes, source: str) -> pa.Table:
    """Parse CSV; types are inferred by Arrow (numbers, booleans, ISO dates, text).

    Args:
        content: the bytes of the file.
        source: its name, for errors.
    """
    text = _checked_text(content, source)
    first_line = re.search("[\r\n]", text)
    header = len(text) if first_line is None else first_line.start()
    delimiter, sample = _sniffed(text[: header + _SAMPLE_SIZE])
    names = _column_names(sample, source)
    comma = delimiter == ";" and _has_decimal_comma(sample[1:])
    table = _parsed(text.encode(), delimiter, names, "," if comma else ".", source)
    if table.num_rows == 0:
        raise TableError(f"{source} has a header but no rows; give at least one row")
    return table


def _checked_text(content: bytes, source: str) -> str:
    if content[:2] in _UTF16:
        raise TableError(f"{source} is encoded as UTF-16; save it as UTF-8")
    if b"\0" in content:
        raise TableError(f"{source} is not text; give a CSV or Parquet file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise TableError(
            f"{source} is not UTF-8 text (byte {byte:#04x} in line {line}); save it as UTF-8"
        ) from None
    if not text.strip():
        raise TableError(f"{source} is empty; give a table with a header and rows")
    # Arrow accepts \n, \r\n and \r, but not blank lines before the header.
    return text.lstrip("\r\n")


def _rows(text: str, delimiter: str) -> list[list[str]]:
    """The first rows; the last may be truncated at the end of the sample."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row:
                rows.append(row)
            if len(rows) > _SAMPLE_ROWS:
                break
    except csv.Error:  # Arrow reports the error later
        pass
    return rows


def _sniffed(text: str) -> tuple[str, list[list[str]]]:
    """The delimiter for which most rows have as many cells as the header, of which as many as
    possible, and the sample split by it."""

    def merit(rows: list[list[str]]) -> tuple[float, int]:
        width = len(rows[0]) if rows else 0
        fitting = sum(len(row) == width for row in rows) / max(len(rows), 1)
        return (fitting if width > 1 else 0.0, width)

    samples = {delimiter: _rows(text, delimiter) for delimiter in _DELIMITERS}
    best = max(samples, key=lambda delimiter: merit(samples[delimiter]))
    return best, samples[best]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _column_names(sample: list[list[str]], source: str) -> list[str]:
    names = [name.strip() for name in sample[0]] if sample else []
    if not any(names):
        raise TableError(f"{source} has no column names; give a header line")
    if all(_is_number(name) for name in names) and not all(name.isdigit() for name in names):
        raise TableError(
            f"the first line of {source} holds numbers, not column names; add a header line"
        )
    return [name or f"unnamed_{position + 1}" for position, name in enumerate(names)]


def _has_decimal_comma(rows: list[list[str]]) -> bool:
    cells = [cell for row in rows for cell in row]
    commas = sum(bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells)
    return commas > sum(bool(_DECIMAL_POINT.fullmatch(cell)) for cell in cells)


def _parsed(
    content: bytes, delimiter: str, names: list[str], decimal_point: str, source: str
) -> pa.Table:
    def attempt(threads: bool, handler=None) -> pa.Table:
        return arrow_csv.read_csv(
            pa.BufferReader(content),
            # A block must contain the longest row, which may be the header.
            arrow_csv.ReadOptions(
                use_threads=threads,
                column_names=names,
                skip_rows_after_names=1,
                block_size=max(1 << 20, min(len(content), 1 << 26)),
            ),
            arrow_csv.ParseOptions(
                delimiter=delimiter, newlines_in_values=True, invalid_row_handler=handler
            ),
            arrow_csv.ConvertOptions(
                null_values=list(MISSING), strings_can_be_null=True, decimal_point=decimal_point
            ),
        )

    try:
        return attempt(threads=True)
    except pa.ArrowInvalid as error:
        failure = error

    ragged: list[arrow_csv.InvalidRow] = []

    def note(row: arrow_csv.InvalidRow) -> str:
        ragged.append(row)
        return "error"

    with suppress(pa.ArrowInvalid):  # again with one thread, to find the row
        attempt(threads=False, handler=note)
    if not ragged:
        raise TableError(f"{source} cannot be read as CSV ({one_line(failure)})")
    row, beginning = ragged[0], one_line(ragged[0].text, most=40)
    raise TableError(
        f"row {row.number - 1} of {source} has {row.actual_columns} values, the header has "
        f"{row.expected_columns} (it begins {beginning!r}); check its quotes and delimiters"
    )
