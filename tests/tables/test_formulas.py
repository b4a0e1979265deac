"""Nothing in predictions is computed by a spreadsheet, and nothing else is changed."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from directgp.tables import TableWriter, read_table
from directgp.tables.formulas import without_formulas

FORMULAS = (
    "=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "=HYPERLINK(\"x\")",
    "＝1+1", "-", "+", "--5", "-5a", "\u00a0=1", "\u200b=1", "\x00=1",
)  # fmt: skip
HARMLESS = ("a", "", "-5", "+3.5e-7", "-.5", " -2 ", "1=1", "a@b", "'=1", "é", "1-2")


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary("int32", "string")])
def test_formulas_are_marked_and_the_rest_is_not(kind):
    cells = [*FORMULAS, *HARMLESS, None]
    found = without_formulas(pa.table({"x": pa.array(cells).cast(kind)}))
    assert found["x"].to_pylist() == [f"'{text}" for text in FORMULAS] + [*HARMLESS, None]


def test_names_are_marked_and_other_columns_stay():
    table = pa.table({"=name": [-1.5, 2.0], "day": pa.array([0, 1], pa.date32())})
    found = without_formulas(table)
    assert found.column_names == ["'=name", "day"]
    assert found["day"].equals(table["day"]) and found["'=name"].equals(table["=name"])
    assert without_formulas(pa.table({})).num_columns == 0


def test_only_csv_that_asks_for_it(tmp_path):
    columns = {"label": np.array(["=1", "b"]), "p(=1)": np.array([0.25, 0.75])}
    for name, asks, expected in (
        ("a.csv", True, "'=1"),
        ("b.csv", False, "=1"),
        ("c.parquet", True, "=1"),
    ):
        with TableWriter(tmp_path / name, mark_formulas=asks) as writer:
            writer.write(columns)
            writer.write(columns)
        table = read_table(tmp_path / name)
        assert table["label"].to_pylist() == [expected, "b"] * 2
    assert parquet.read_table(tmp_path / "c.parquet").num_rows == 4
    with open(tmp_path / "a.csv", newline="", encoding="utf-8") as file:
        assert [row[0] for row in csv.reader(file)] == ["label", "'=1", "b", "'=1", "b"]
