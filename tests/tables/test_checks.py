"""User input: every mistake gives one line that says what is wrong."""

import numpy as np
import pytest

from directgp.tables import check_inputs, check_rows, check_weights
from directgp.tables.checks import check_not_negative

GOOD = np.arange(6.0).reshape(3, 2)


def refused(function, *args):
    with pytest.raises(ValueError) as caught:
        function(*args)
    message = str(caught.value)
    assert "\n" not in message and len(message) < 250
    return message


@pytest.mark.parametrize(
    "table",
    [GOOD.tolist(), GOOD.astype(int), GOOD > 2, GOOD.astype(np.float32), GOOD.astype(object),
     GOOD[:, ::-1], np.asfortranarray(GOOD), np.ma.array(GOOD, mask=False)],
    ids=["list", "int", "bool", "float32", "object", "view", "fortran", "nothing masked"],
)  # fmt: skip
def test_tables_of_numbers_become_float64(table):
    values = check_inputs(table)
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.asarray(table, float))


@pytest.mark.parametrize(
    "table,words",
    [
        (np.ones(3), "2 dimensions"),
        (np.ones((1, 2, 3)), "2 dimensions"),
        (3.0, "2 dimensions"),
        (np.ones((3, 0)), "at least one column"),
        ([["a", "b"]], "table of numbers"),
        ([[1.0], [1.0, 2.0]], "row 0 has 1 values, row 1 has 2); give every row equally many"),
        ([[1.0, 2.0], 3.0], "row 0 has 2 values, row 1 has 1"),
        ([[1.0, [2.0]], [1.0, [2.0]]], "table of numbers"),
        (np.ma.masked_equal(GOOD, 3.0), "1 missing or infinite values (first: row 1, column 1)"),
        (np.ma.masked_equal(GOOD.astype(int), 0), "1 missing or infinite values (first: row 0"),
        ([[1.0, {}]], "table of numbers"),
        (GOOD + 1j, "table of numbers"),
        (np.array([["2020-01-01"]], dtype="datetime64[D]"), "dates"),
        (None, "2 dimensions"),
        ([[1.0, np.nan], [np.inf, 1.0]], "2 missing or infinite values (first: row 0, column 1)"),
        ([[1.0, None]], "missing"),
    ],
)
def test_other_tables_are_refused(table, words):
    assert words in refused(check_inputs, table)


def test_the_number_of_columns_must_be_that_of_training():
    assert "has 2 columns but the model was trained on 3" in refused(check_inputs, GOOD, 3)


def test_targets_may_be_a_column():
    np.testing.assert_array_equal(check_rows(GOOD, [[1], [2], [3]]), [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    "y,words",
    [
        (np.ones(2), "X has 3 rows but y has 2"),
        (np.ones((3, 2)), "one value per row"),
        (3.0, "one value per row"),
        (["a", "b", "c"], "y must be numbers"),
        (np.ones(3) * 1j, "y must be numbers"),
        ([1.0, np.nan, np.inf], "2 missing or infinite values (first: row 1)"),
        (np.ma.array([1, 2, 3], mask=[0, 0, 1]), "1 missing or infinite values (first: row 2)"),
        ([[1.0], [1.0, 2.0], [1.0]], "row 0 has 1 values, row 1 has 2"),
    ],
)
def test_other_targets_are_refused(y, words):
    assert words in refused(check_rows, GOOD, y)


def test_one_row_is_too_few():
    assert "at least 2 rows are needed, got 1" in refused(check_rows, GOOD[:1], [1.0])
    assert "at least 2 rows are needed, got 0" in refused(check_rows, GOOD[:0], [])
    assert len(check_rows(GOOD[:1], [1.0], 1)) == 1


def test_weights():
    np.testing.assert_array_equal(check_weights(None, 2), [1.0, 1.0])
    np.testing.assert_array_equal(check_weights([0, 2], 2), [0.0, 2.0])
    for weights in ([1.0], [[1.0, 1.0]], [0.0, 0.0], [-1.0, 1.0], [np.nan, 1.0], [np.inf, 1.0],
                    np.ma.array([1.0, 1.0], mask=[1, 0])):  # fmt: skip
        assert "weights must" in refused(check_weights, weights, 2)
    assert "weights must be numbers" in refused(check_weights, ["a", "b"], 2)


@pytest.mark.parametrize("values", [0, [1, 2.5], np.ones((2, 3)), np.float32(0.5)])
def test_numbers_that_are_not_negative_pass_in_their_shape(values):
    checked = check_not_negative("price", values)
    assert checked.dtype == np.float64 and checked.shape == np.shape(values)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, -2.0], "price must be ≥ 0, got -2"),
        ([np.nan], "price must be finite, got NaN"),
        (np.inf, "price must be finite, got NaN or inf"),
        ([], "price must not be empty"),
        ("dear", "price must be numbers, got str"),
        ([[1.0], [1.0, 2.0]], "row 0 has 1 values, row 1 has 2"),
    ],
)
def test_negative_or_missing_numbers_are_refused(values, words):
    assert words in refused(check_not_negative, "price", values)
