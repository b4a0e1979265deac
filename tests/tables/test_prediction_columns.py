"""Columns made piece by piece are those made at once, and every row is counted."""

import numpy as np
import pytest

from directgp.tables import prediction_columns
from directgp.tables.prediction_columns import in_pieces


@pytest.mark.parametrize("rows", [0, 1, 4, 9])
def test_pieces_are_joined_in_order(rows, monkeypatch):
    monkeypatch.setattr(prediction_columns, "PIECE", 4)
    mean, labels = np.arange(float(rows)), [f"row {n}" for n in range(rows)]
    counted = []
    found = in_pieces(lambda own: {"mean": mean[own], "label": labels[own]}, rows, counted.append)
    assert np.array_equal(found["mean"], mean) and found["label"] == labels
    assert sum(counted) == rows and len(counted) == max(1, -(-rows // 4))
