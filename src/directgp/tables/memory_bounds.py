"""A limit on the memory of tables that are read from compressed files.

A thousand bytes of Parquet or gzip can decompress to terabytes. A table may take a quarter of the
memory of the machine; the rest is for its encoding and for training.
"""

import gzip
import io
import os
import zlib
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from directgp.tables.messages import TableError

_SHARE = 4
_UNKNOWN = 1 << 40
"""Assumed memory if the system does not report it."""
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_CHUNK = 1 << 22
_ROWS = 16_384
_TEXT = 64
"""Assumed bits of a cell of unknown size."""


def most_bytes() -> int:
    """A quarter of the memory of this machine, or of the limit of the process's control group."""
    try:
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        found = _UNKNOWN
    with suppress(OSError, ValueError):  # no such file, or "max"
        found = min(found, int(_CGROUP.read_text("ascii")))
    return found // _SHARE


def unpacked(content: bytes, source: str) -> bytes:
    """Decompress gzip.

    Args:
        content: the compressed bytes.
        source: the name of the file, for errors.
    """
    most, found = most_bytes(), io.BytesIO()
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            while chunk := file.read(_CHUNK):
                found.write(chunk)
                if found.tell() > most:
                    raise _too_large(source)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise TableError(f"{source} is a damaged gzip file; copy it again") from None
    return found.getvalue()


def read_parquet(path: Path) -> pa.Table:
    """Read all rows of a Parquet file."""
    most = most_bytes()
    with parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        if file.metadata.num_rows * sum(map(_bits_of, schema.types)) > 8 * most:
            raise _too_large(str(path))
        if not any(map(_is_long, schema.types)):
            return file.read()
        batches, size = [], 0
        for batch in file.iter_batches(_ROWS):
            size += sum(map(_decoded_bytes, batch.columns))
            if size > most:
                raise _too_large(str(path))
            batches.append(batch)
    return pa.Table.from_batches(batches, schema)


def _bits_of(kind: pa.DataType) -> int:
    """The least memory of a cell."""
    try:
        return kind.bit_width
    except ValueError:
        return _TEXT


def _is_long(kind: pa.DataType) -> bool:
    """Whether the size of a cell is unbounded."""
    if pa.types.is_dictionary(kind):
        return _is_long(kind.value_type)
    try:
        return kind.bit_width < 0
    except ValueError:
        return True


def _decoded_bytes(column: pa.Array) -> int:
    """The memory of a column after dictionary decoding."""
    if not pa.types.is_dictionary(column.type):
        return column.nbytes
    kind = column.type.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return column.nbytes
    lengths = compute.call_function("binary_length", [column.dictionary])
    own = compute.call_function("take", [lengths, column.indices])
    return column.nbytes + (compute.call_function("sum", [own]).as_py() or 0)


def _too_large(source: str) -> TableError:
    most = f"{most_bytes() / 2**30:.3g} GiB"
    return TableError(
        f"{source} would take more than {most}, a quarter of this machine's memory; "
        "give fewer rows or columns"
    )
