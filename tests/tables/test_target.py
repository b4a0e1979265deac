"""The target: which column it is, what task it makes, and its values as numbers."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from directgp.tables import (
    TableError,
    TargetEncoder,
    find_target,
    guess_task,
)


def test_the_target_is_found_by_name_then_by_habit_then_by_place():
    table = {"price": [1.0], "Y": [2.0], "last": [3.0]}
    assert find_target(table, "price") == ("price", "it was given")
    assert find_target(table).name == "Y"
    assert find_target({"label": [1], "target": [1]}).name == "target"
    assert find_target({"a": [1], "b": [2]}) == ("b", "it is the last column")
    with pytest.raises(TableError, match="no column 'prices'; did you mean 'price'"):
        find_target(table, "prices")


@pytest.mark.parametrize(
    ("values", "task", "ambiguous"),
    [
        ([0.5, 2, 3], "regression", False),
        ([0, 1, 1, 0], "classes", False),
        ([-1.0, 1.0, 1.0], "classes", False),
        ([3, 7, 7], "classes", True),
        (["a", "b", "c"], "classes", False),
        ([True, False, None], "classes", False),
        ([0, 1, 2] * 10, "classes", True),
        ([1, 2, 3, 4, 5] * 10, "classes", True),
        ([0] * 90 + [1] * 30 + [2] * 9 + [3], "counts", True),
        (list(range(40)), "counts", True),
        ([0, 5, 900, 12, 7], "counts", True),
        ([14_999, 50_000, 123_456] * 9 + list(range(2_000, 2_020)), "regression", False),
        ([-3, *range(30)], "regression", False),
        ([-3, 0, 4], "regression", True),
        (["0.5", "1.5", "NA"], "regression", False),
    ],
)
def test_tasks_are_guessed_with_a_reason(values, task, ambiguous):
    guess = guess_task(values)
    assert (guess.task, guess.ambiguous) == (task, ambiguous)
    assert guess.reason.startswith("it ")


def test_targets_that_make_no_task():
    with pytest.raises(TableError, match="holds dates"):
        guess_task([datetime.date(2024, 1, 1)])
    with pytest.raises(TableError, match="no known value"):
        guess_task([None, None])
    with pytest.raises(TableError, match="cannot be read"):
        guess_task([1, "x"])


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (["no", "yes", "no", "yes"], ("no", "yes")),
        ([7, 3, 3, 7], (3, 7)),
        ([0.5, 1.5, 0.5, 1.5], (0.5, 1.5)),
        ([True, False, True, False], (False, True)),
        (["10", "9", "10", "9"], (9, 10)),
    ],
)
def test_labels_come_back_as_they_were(values, labels):
    encoder = TargetEncoder.fit(values, "classes")
    assert encoder.labels == labels
    assert [type(label) for label in encoder.labels] == [type(label) for label in labels]
    again = TargetEncoder.from_json(encoder.to_json())
    assert again == encoder
    numbers = again.encode(values)
    assert set(numbers) == {0.0, 1.0}
    assert [str(label) for label in again.decode(numbers)] == [str(value) for value in values]


@pytest.mark.parametrize("series", [pd.Series, pl.Series, np.array, pa.array])
def test_targets_of_other_libraries(series):
    encoder = TargetEncoder.fit(series(["no", "yes", "no", "yes"]))
    np.testing.assert_array_equal(encoder.encode(series(["yes", "no"])), [1.0, 0.0])


def test_whole_numbers_are_one_label_as_integers_and_as_floats():
    encoder = TargetEncoder.fit([1, 2, 2, 1], "classes")
    np.testing.assert_array_equal(encoder.encode([2.0, 1.0]), [1.0, 0.0])


def test_numbers_and_counts_stay_as_they_are():
    for task in ("regression", "counts"):
        encoder = TargetEncoder.fit(["3", "0", "12"], task)
        np.testing.assert_array_equal(encoder.encode([4, 5]), [4.0, 5.0])
        assert encoder.decode(np.array([1.0, 2.0])) == [1.0, 2.0]
        assert TargetEncoder.from_json(encoder.to_json()) == encoder


@pytest.mark.parametrize(
    ("values", "task", "says"),
    [
        (["a", "a"], "classes", "a single class"),
        ([str(i) + "x" for i in range(30)], "classes", "too many for classes"),
        ([1, 2, -3], "counts", "row 3 has -3"),
        ([1.5, 2], "counts", "row 1 has 1.5"),
        ([1, None], "regression", r"missing in 1 of 2 rows \(first: row 2\)"),
        (["a", "b"], "regression", "holds text, which needs the task classes"),
        ([1.0, np.inf], "regression", "infinite"),
    ],
)
def test_targets_that_cannot_be_learned(values, task, says):
    with pytest.raises(TableError, match=says):
        TargetEncoder.fit(values, task, "price")


def test_a_class_that_training_never_saw_is_an_error():
    encoder = TargetEncoder.fit(["a", "b", "a", "b"], name="kind")
    with pytest.raises(TableError, match="'c' in row 12, a class unknown from training"):
        encoder.encode(["a", "c"], rows_before=10)


def test_unknown_tasks_and_foreign_json():
    with pytest.raises(ValueError, match="task must be one of"):
        TargetEncoder.fit([1.0, 2.0], "ranking")
    for text in ("", "[]", "{}", '{"version": 9}', '{"version": 1, "task": "x"}'):
        with pytest.raises(TableError, match="not the JSON of a target encoder"):
            TargetEncoder.from_json(text)
