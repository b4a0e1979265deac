"""Categories of many levels: shrunken means of the target, out of fold for training rows."""

import numpy as np
import pyarrow as pa
import pytest

from directgp.tables import TableEncoder, TargetValues, encode_frame
from directgp.tables.target_means import folds_of, level_means

LEVELS = [f"level {k:02d}" for k in range(60)]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 60, 600)
    y = np.linspace(-3, 3, 60)[level] + 0.5 * rng.normal(size=600)
    return {"shop": [LEVELS[k] for k in level], "x": rng.normal(size=600)}, y, level


def test_means_are_shrunken_by_the_variances_within_and_between_levels():
    # Two levels, 4 and 4 rows, means ±1 about 10: by hand, from the analysis of variance.
    y = np.array([8.0, 9.0, 9.0, 10.0, 10.0, 11.0, 11.0, 12.0])
    target = TargetValues.of(y)
    means = level_means(np.repeat([0, 1], 4), target, 3, np.array([10.0]))
    within, between = 4 / 6, (8 - 4 / 6) / 4
    shrink = max(within / between, 1.0)
    np.testing.assert_allclose(means[:, 0], 10 + np.array([-4, 4, 0]) / (4 + shrink))


def test_levels_that_do_not_differ_are_all_the_mean():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    means = level_means(np.array([0, 0, 1, 1]), TargetValues.of(y), 2, np.zeros(1))
    np.testing.assert_array_equal(means, 0.0)


def test_weights_count_as_repetitions(rows):
    _, y, level = rows
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    weighted = TargetValues.of(y, weight=weight.astype(float))
    one = level_means(level, weighted, 60, np.zeros(1))
    other = level_means(level[again], TargetValues.of(y[again]), 60, np.zeros(1))
    np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_means_scale_with_the_target(rows, size):
    _, y, level = rows
    plain = level_means(level, TargetValues.of(y), 60, np.zeros(1))
    scaled = level_means(level, TargetValues.of(size * y), 60, np.zeros(1))
    np.testing.assert_allclose(scaled / size, plain, rtol=1e-9)


def test_many_levels_become_a_column_of_means(rows):
    table, y, _ = rows
    encoder = TableEncoder.fit(table, y=TargetValues.of(y))
    assert encoder.names == ("shop target mean", "x")
    later = encoder.encode({"shop": [*LEVELS, "new", None], "x": [0.0] * 62})
    truth = np.linspace(-3, 3, 60)
    assert np.abs(later.X[:60, 0] - truth).max() < 0.8
    np.testing.assert_allclose(later.X[60:, 0], y.mean())
    assert "taken as the mean of all rows: 'new' (1 rows)" in later.notes[0].text
    assert TableEncoder.from_json(encoder.to_json()) == encoder
    assert "group the rare ones" in str(TableEncoder.fit(table).report[-1])


def test_training_rows_do_not_see_their_own_target(rows):
    table, y, _ = rows
    encoder = TableEncoder.fit(table, y=TargetValues.of(y))
    fold = np.arange(600) % 5
    column, arrow = encoder.columns[0], pa.table(table)["shop"]
    before = column.out_of_fold(arrow, TargetValues.of(y), fold)
    moved = np.where(fold == 0, y + 100.0, y)
    after = column.out_of_fold(arrow, TargetValues.of(moved), fold)
    np.testing.assert_array_equal(before[fold == 0], after[fold == 0])
    assert (before[fold == 1] != after[fold == 1]).any()
    # Means that each row is a part of follow its noise, those of other folds do not.
    noise = y - np.linspace(-3, 3, 60)[rows[2]]
    coded = encoder.encode_training(table, TargetValues.of(y)).X, encoder.encode(table).X
    follow = [np.corrcoef(X[:, 0] - np.linspace(-3, 3, 60)[rows[2]], noise)[0, 1] for X in coded]
    assert follow[0] < 0.0 < 0.15 < follow[1]


def test_equal_rows_share_a_fold_in_any_order():
    values = np.random.default_rng(0).normal(size=(50, 3))
    order = np.random.default_rng(1).permutation(50)
    fold = folds_of(values)
    np.testing.assert_array_equal(folds_of(values[order]), fold[order])
    np.testing.assert_array_equal(np.bincount(fold), [10] * 5)
    np.testing.assert_array_equal(folds_of(np.vstack([values, values]))[:50], fold)


def test_classes_have_a_share_each_but_the_first(rows):
    table, y, _ = rows
    number = np.digitize(y, [-1, 1])
    encoder = TableEncoder.fit(table, y=TargetValues.of(number, ["low", "mid", "high"]))
    assert encoder.names == ("shop share of mid", "shop share of high", "x")
    X = encoder.encode({"shop": [LEVELS[0], LEVELS[59], "new"], "x": [0, 0, 0]}).X
    assert X[0, 1] < 0.1 and X[1, 1] > 0.8
    np.testing.assert_allclose(X[2, :2], np.bincount(number)[1:] / 600)


def test_several_outputs_may_be_missing(rows):
    table, y, _ = rows
    both = np.stack([y, np.where(np.arange(600) % 2, np.nan, 2 * y)], axis=1)
    encoder = TableEncoder.fit(table, y=TargetValues.of(both))
    assert encoder.names[:2] == ("shop target mean 1", "shop target mean 2")
    X = encoder.encode(table).X
    assert np.isfinite(X).all() and np.corrcoef(X[:, 0], X[:, 1])[0, 1] > 0.9


def test_names_that_hardly_repeat_are_dropped(rows):
    _, y, _ = rows
    table = {"name": [f"n{max(k, 60)}" for k in range(600)], "x": y}
    encoder = TableEncoder.fit(table, y=TargetValues.of(y))
    assert "names, not categories" in str(encoder.report[-1])


def test_the_view_of_trees_keeps_gaps_and_numbers_levels(rows):
    table, y, level = rows
    gaps = table | {"x": [None, *table["x"][1:]], "open": [True, False, None] * 200}
    encoded = encode_frame(gaps, y, view="trees")
    assert encoded.sources == ("shop", "x", "open")
    assert encoded.categorical.tolist() == [True, False, False]
    assert np.isnan(encoded.X[0, 1]) and np.isnan(encoded.X[2, 2])
    assert set(encoded.X[:, 0]) == set(range(60))
    later = encoded.encoder.encode({"shop": ["new", LEVELS[3]], "x": [1, 2], "open": [True, None]})
    assert np.isnan(later.X[0, 0]) and later.X[1, 0] == encoded.X[level == 3][0, 0]
    many = {"who": [f"n{k % 300}" for k in range(600)]} | table
    assert encode_frame(many, y, view="trees").categorical.tolist() == [False, True, False]


def test_arrays_of_numbers_stay_as_they_are_but_for_gaps():
    X = np.random.default_rng(0).normal(size=(9, 3))
    for view in ("gp", "trees"):
        assert encode_frame(X, view=view).X is X
    X[4, 1] = X[5, 1] = X[5, 2] = np.nan
    encoded = encode_frame(X)
    assert encoded.encoder.names == ("x0", "x1", "x2", "x1 missing", "x2 missing")
    np.testing.assert_array_equal(encoded.X[:, 3], np.isnan(X[:, 1]))
    assert encoded.X[4, 1] == np.nanmedian(X[:, 1])
    later = encoded.encoder.encode_numbers(np.array([[np.nan, 1.0, 2.0]]))
    np.testing.assert_array_equal(later, [[np.median(X[:, 0]), 1.0, 2.0, 0.0, 0.0]])
    kept = encode_frame(X, view="trees")
    np.testing.assert_array_equal(kept.X, X)
    assert TableEncoder.from_json(encoded.encoder.to_json()) == encoded.encoder
