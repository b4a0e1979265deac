"""Small files that stand for gigabytes: one line instead of a process that is killed."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.tables import memory_bounds, read_table
from directgp.tables.memory_bounds import most_bytes
from directgp.tables.messages import TableError

ROWS = 20_000
TEXT = "a" * 1000


@pytest.fixture
def little_memory(monkeypatch):
    """A machine with 4 MB, a quarter of which a table may take."""
    monkeypatch.setattr(memory_bounds, "most_bytes", lambda: 1_000_000)


def test_the_bound_is_a_quarter_of_the_memory_that_there_is(tmp_path, monkeypatch):
    assert 1 << 27 < most_bytes() < 1 << 50
    allowed = tmp_path / "memory.max"
    monkeypatch.setattr(memory_bounds, "_CGROUP", allowed)
    for said, most in (("4000000", 1_000_000), ("max", most_bytes())):
        allowed.write_text(said)
        assert memory_bounds.most_bytes() == most


def same_text(kind: str) -> pa.Array:
    """One long text in all rows."""
    numbered = pa.DictionaryArray.from_arrays(pa.array(np.zeros(ROWS, np.int32)), [TEXT])
    return numbered if kind == "levels" else numbered.cast(kind)


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("kind", ["float64", "string", "large_string", "levels", "list"])
def test_parquet_that_is_larger_in_memory_is_one_line(kind, tmp_path):
    columns = {
        "float64": lambda: pa.array(np.zeros(10 * ROWS)),
        "list": lambda: pa.array([[0.0] * 20] * ROWS),
    }
    column = columns.get(kind, lambda: same_text(kind))()
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": column}), path, compression="zstd")
    assert path.stat().st_size < 50_000
    with pytest.raises(TableError, match="a quarter of this machine's memory") as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("little_memory")
def test_gzip_that_is_larger_in_memory_is_one_line(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1_000_000))
    assert path.stat().st_size < 50_000
    with pytest.raises(TableError, match="a quarter of this machine's memory"):
        read_table(path)


@pytest.mark.parametrize("kind", ["string", "large_string", "levels"])
def test_texts_are_read_the_same_in_pieces(kind, tmp_path):
    texts = pa.array([f"t{k % 7}" for k in range(40_000)])
    column = texts.dictionary_encode() if kind == "levels" else texts.cast(kind)
    table = pa.table({"text": column, "x": np.arange(40_000.0)})
    path = tmp_path / "t.parquet"
    parquet.write_table(table, path, row_group_size=25_000)
    found = read_table(path)
    assert found.schema == table.schema and found.equals(parquet.read_table(path))
