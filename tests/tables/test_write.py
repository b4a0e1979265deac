"""Writing tables: what is written comes back, and a failure leaves nothing behind."""

import os

import numpy as np
import pyarrow as pa
import pytest

from directgp.tables import TableError, TableWriter, read_table, write_table

COLUMNS = {"mean": np.array([0.1, 1e-300]), "name": ["x", 'y,"z"\n'], "n": [1, None]}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt", "t.csv.gz", "t.parquet"])
def test_what_is_written_comes_back(tmp_path, name):
    write_table(tmp_path / name, COLUMNS)
    back = read_table(tmp_path / name).to_pydict()
    assert back["mean"] == COLUMNS["mean"].tolist()
    assert back["name"] == COLUMNS["name"]
    assert back["n"] == COLUMNS["n"]
    assert os.listdir(tmp_path) == [name]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_pieces_are_one_table(tmp_path, name):
    with TableWriter(tmp_path / name) as writer:
        for start in range(0, 6, 2):
            writer.write({"i": np.arange(start, start + 2)})
            assert not (tmp_path / name).exists()
    assert read_table(tmp_path / name)["i"].to_pylist() == list(range(6))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, name):
    write_table(tmp_path / name, {"a": [1]})
    old = (tmp_path / name).read_bytes()
    with pytest.raises(KeyboardInterrupt), TableWriter(tmp_path / name) as writer:
        writer.write({"a": [2]})
        raise KeyboardInterrupt
    with pytest.raises(TableError, match="not a table"):
        write_table(tmp_path / name, {"a": [1], "b": [1, 2]})
    with pytest.raises(TableError), TableWriter(tmp_path / name) as writer:
        writer.write({"a": [2]})
        writer.write({"other": ["x"]})
    assert (tmp_path / name).read_bytes() == old
    assert os.listdir(tmp_path) == [name]


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(TableError, match="choose one of"):
        write_table(tmp_path / "t.xlsx", COLUMNS)
    with pytest.raises(TableError, match="there is no folder"):
        write_table(tmp_path / "absent" / "t.csv", COLUMNS)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(TableError, match="is a folder"):
        write_table(tmp_path / "folder.csv", COLUMNS)
    with pytest.raises(TableError, match="several columns"):
        write_table(tmp_path / "t.csv", pa.table([[1], [2]], names=["a", "a"]))
    assert os.listdir(tmp_path) == ["folder.csv"]
