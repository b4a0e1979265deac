"""Reading tables: what people save is read, and what cannot be read says why in one line."""

import gzip

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.tables import TableError, as_table, read_table
from directgp.tables.messages import did_you_mean, quoted
from directgp.tables.parquet_source import ParquetSource


@pytest.fixture
def save(tmp_path):
    def write(name: str, content: bytes):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


EXPECTED = {"a": [1.5, 2.5], "b": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comma.csv", b"a,b\n1.5,x\n2.5,y\n"),
        ("semicolon.csv", b"a;b\n1.5;x\n2.5;y\n"),
        ("decimal_comma.csv", b"a;b\n1,5;x\n2,5;y\n"),
        ("tab.tsv", b"a\tb\n1.5\tx\n2.5\ty\n"),
        ("tab.txt", b"a\tb\n1.5\tx\n2.5\ty\n"),
        ("bom.csv", b"\xef\xbb\xbfa,b\n1.5,x\n2.5,y\n"),
        ("windows.csv", b"a,b\r\n1.5,x\r\n2.5,y\r\n"),
        ("old_mac.csv", b"a,b\r1.5,x\r2.5,y"),
        ("quoted.csv", b'"a","b"\n"1.5","x"\n"2.5","y"\n'),
        ("blank_lines.csv", b"\n\na,b\n1.5,x\n\n2.5,y\n\n"),
        ("spaces.csv", b" a , b\n1.5,x\n2.5,y\n"),
        ("packed.csv.gz", gzip.compress(b"a,b\n1.5,x\n2.5,y\n", mtime=0)),
        ("packed.csv", gzip.compress(b"a,b\n1.5,x\n2.5,y\n", mtime=0)),
        ("UPPER.CSV", b"a,b\n1.5,x\n2.5,y\n"),
        ("no_ending", b"a,b\n1.5,x\n2.5,y\n"),
    ],
)
def test_csv_as_people_save_it(save, name, content):
    assert read_table(save(name, content)).to_pydict() == EXPECTED


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "named_wrongly.csv"])
def test_parquet_is_known_by_its_content(tmp_path, name):
    parquet.write_table(pa.table(EXPECTED), tmp_path / name)
    assert read_table(str(tmp_path / name)).to_pydict() == EXPECTED


def test_types_and_missing_values_are_found(save):
    content = b"n,t,d,m\n1,true,2024-02-29,NA\n,false,NA,2\n3,,2024-03-01,null\n"
    table = read_table(save("types.csv", content))
    assert [str(kind) for kind in table.schema.types] == ["int64", "bool", "date32[day]", "int64"]
    assert [table[name].null_count for name in "ntdm"] == [1, 1, 1, 2]


def test_delimiters_inside_quotes_and_line_breaks_in_cells(save):
    content = b'name;note\n"a,b,c";"line 1\nline 2"\n"d;e";x\n'
    table = read_table(save("notes.csv", content))
    assert table.to_pydict() == {"name": ["a,b,c", "d;e"], "note": ["line 1\nline 2", "x"]}


def test_nameless_columns_get_names(save):
    table = read_table(save("pandas_index.csv", b",a\n0,5\n1,6\n"))
    assert table.column_names == ["unnamed_1", "a"]


def test_columns_may_be_called_numbers(save):
    assert read_table(save("t.csv", b"0,1\n1.5,2\n")).column_names == ["0", "1"]


def test_a_header_longer_than_a_block_and_very_many_columns(save):
    names = [f"column_{i:06d}_{'x' * 60}" for i in range(5_000)]
    content = (",".join(names) + "\n" + ",".join(["1"] * len(names)) + "\n").encode()
    assert read_table(save("wide.csv", content)).num_columns == len(names)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b"  \n \n", "is empty"),
        ("header.csv", b"a,b\n", "header but no rows"),
        ("names.csv", b",,\n1,2,3\n", "no column names"),
        ("numbers.csv", b"1.5,2.5\n3,4\n", "add a header line"),
        ("twice.csv", b"a,b,a\n1,2,3\n", "several columns called 'a'"),
        ("short.csv", b"a,b\n1,2\n\n3\n", "row 2 of .* has 1 values, the header has 2"),
        ("long.csv", b"a,b\n1,2\n3,4\n5,6,7\n", "row 3 of .* has 3 values, the header has 2"),
        ("quote.csv", b'a,b\n"x,2\n3,4\n', "check its quotes"),
        ("latin.csv", "a,b\n1,é\n".encode("latin1"), "not UTF-8 text .* in line 2"),
        ("wide.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        ("zeros.csv", b"a,b\n\0\0\0", "not text"),
        ("rubbish.csv", bytes(range(256)), "not text"),
        ("book.xlsx", b"PK\3\4", "ends in .xlsx; save it as CSV"),
        ("model.pkl", b"\x80\4K\1.", "ends in .pkl"),
        ("text.parquet", b"a,b\n1,2\n", "not a Parquet file"),
        ("cut.parquet", b"PAR1\0\0\0\0", "cannot be used as a table"),
        ("cut.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9], "damaged gzip"),
        ("flipped.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-1] + b"\xff", "damaged gzip"),
    ],
)
def test_what_cannot_be_read_says_why(save, name, content, says):
    with pytest.raises(TableError, match=says) as caught:
        read_table(save(name, content))
    assert "\n" not in str(caught.value)


def test_absent_files_folders_and_empty_parquet(tmp_path):
    with pytest.raises(TableError, match="there is no file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(TableError, match="is a folder"):
        read_table(tmp_path)
    parquet.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "none.parquet")
    with pytest.raises(TableError, match="no rows"):
        read_table(tmp_path / "none.parquet")
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(TableError, match="several columns called 'a'"):
        read_table(tmp_path / "twice.parquet")


def test_text_in_parquet_must_be_text(tmp_path):
    words = pa.array([b"fine", b"\xff\xfe"]).view(pa.string())
    parquet.write_table(pa.table({"a": words}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"cannot be used as a table .*UTF8"):
        read_table(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"cannot be used as a table .*UTF8"):
        list(ParquetSource(tmp_path / "t.parquet").pieces())


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_frames_of_other_libraries(frame):
    assert as_table(frame(EXPECTED)).to_pydict() == EXPECTED


def test_a_pandas_index_is_no_column():
    frame = pd.DataFrame(EXPECTED, index=[7, 3])
    assert as_table(frame).column_names == ["a", "b"]


@pytest.mark.parametrize("thing", [np.zeros((2, 2)), 3, None, [[1, 2]]])
def test_what_has_no_column_names_is_no_table(thing):
    with pytest.raises(TableError, match="name your columns"):
        as_table(thing)


def test_columns_of_unequal_length():
    with pytest.raises(TableError, match="cannot be used as a table"):
        as_table({"a": [1, 2], "b": [1]})


def test_names_in_messages():
    assert quoted("abcdefgh", most=2) == "'a', 'b' and 6 more"
    assert did_you_mean("Prise", ["PRICE", "rooms"]) == "did you mean 'PRICE'?"
    assert did_you_mean("zzz", ["a", "b"]) == "there are 'a', 'b'"
