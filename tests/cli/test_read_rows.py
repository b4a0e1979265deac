"""From a file to rows to train on: what is said, which row a message names, what is remembered."""

import numpy as np
import pyarrow as pa
import pytest

from directgp.cli.console import Terminal
from directgp.cli.read_rows import Rows, read_known, read_training_table
from directgp.cli.training_record import remembered
from directgp.cli.unseen_rows import fingerprints, unseen
from directgp.tables import TableError


def quiet():
    return Terminal(as_json=False, quiet=True)


def training_table(path, terminal=None, **options):
    usual = {"target": "price", "task": "auto", "likelihood": "auto", "drop": []}
    more = {"missing": "indicator", "holdout": 0.2, "seed": 0}
    return read_training_table(path, terminal or quiet(), **(usual | more | options))


@pytest.fixture
def shops(tmp_path):
    rng = np.random.default_rng(0)
    shop = rng.integers(0, 70, 300)
    lines = [
        f"shop {k},{x:.4f},{0.1 * k + x:.4f}"
        for k, x in zip(shop, rng.normal(size=300), strict=True)
    ]
    path = tmp_path / "shops.csv"
    path.write_text("\n".join(["shop,size,price", *lines, "shop 1,,2.5"]))
    return path


def test_what_became_of_columns_is_said(shops, capfd):
    found = training_table(shops, Terminal(as_json=False, quiet=False), holdout=0.0)
    said = " ".join(capfd.readouterr().err.split())
    assert found.encoder.names == ("shop target mean", "size", "size missing")
    assert "Column shop: 69 levels, each as the mean of the target there." in said
    assert "Column size: number, 1 missing values filled with the median and marked" in said


def test_rows_to_train_on_do_not_see_their_target_but_are_known_again(shops):
    found = training_table(shops)
    plain = found.encoder.encode(found.train.table).X
    assert np.mean(found.train.X[:, 0] != plain[:, 0]) > 0.9
    np.testing.assert_array_equal(found.aside.X, found.encoder.encode(found.aside.table).X)
    again = read_known(shops, found.encoder, found.targets, quiet())
    fresh = unseen(again, remembered(found)[0])
    assert set(again.numbers[fresh]) == set(found.aside.numbers)


@pytest.mark.parametrize(
    ("row", "says"),
    [("1e999,2", "1 infinite values .first: row 6"), ("3,oops", "row 6 has .oops.")],
)
def test_messages_name_the_row_of_the_file(tmp_path, row, says):
    path = tmp_path / "t.csv"
    rows = ["size,price", "1,2.5", "2,", "3,", "4,5.5", "5,6.5", row, "7,3.5", "8,4.5"]
    path.write_text("\n".join(rows))
    with pytest.raises(TableError, match=says):
        training_table(path, holdout=0.0)


def test_a_mistyped_target_is_guessed(shops):
    with pytest.raises(TableError, match="no column 'prize'; did you mean 'price'"):
        training_table(shops, target="prize")


def rows_of(values):
    values = np.asarray(values, dtype=float)
    return Rows(pa.table({"x": values}), values[:, None], np.zeros(len(values)), None)


@pytest.mark.parametrize(
    ("trained", "given", "fresh"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4, 5], [0, 0, 0, 0, 1]),  # the training table and a row
        ([1, 1, 2], [1, 1, 1, 2], [0, 0, 1, 0]),  # a held-out row equals two training rows
        ([1, 2, 3, 4], [2, 3], [0, 0]),  # part of the training table
        ([1, 2, 3, 4, 5, 6], [6, 7, 8, 9, 10], [1, 1, 1, 1, 1]),  # a row that coincides
    ],
)
def test_a_row_is_known_as_often_as_it_was_trained_on(trained, given, fresh):
    found = unseen(rows_of(given), fingerprints(rows_of(trained)))
    assert found.tolist() == [bool(each) for each in fresh]
