"""Predictions of a table, piece by piece, into a file."""

import numpy as np

from directgp.fitting.predict_stream import predict_stream
from directgp.fitting.stacking import fit_stack
from directgp.tables import TableEncoder, read_table


def test_a_csv_file_of_predictions_holds_no_formulas(tmp_path):
    table = {"x": np.arange(8.0), "=name": ["=1+1", "-5", *["a"] * 6]}
    encoder = TableEncoder.fit({"x": table["x"]})
    fitted = fit_stack(table["x"][:, None], np.sin(table["x"]))
    for name, column, first in (("p.csv", "'=name", "'=1+1"), ("p.parquet", "=name", "=1+1")):
        path = tmp_path / name
        assert predict_stream(fitted, encoder, table, path, keep=["=name"]) == 8
        kept = read_table(path)[column].to_pylist()
        assert [kept[0], kept[1], kept[2]] == [first, "-5", "a"]
