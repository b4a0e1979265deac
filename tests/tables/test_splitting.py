"""Rows set aside: whole rows, with their weights, and never all that is known of an output."""

import numpy as np
import pytest

from directgp.likelihoods import BernoulliProbit
from directgp.tables import WeightedRows, check_known_targets, drop_zero_weight, set_aside


def rows(count=20, outputs=2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(count, 3))
    return WeightedRows(X, rng.normal(size=(count, outputs)), np.arange(1.0, count + 1.0))


def untouched(X, y):
    return np.asarray(y, np.float64)


def test_a_share_is_set_aside_with_its_weights():
    every = rows()
    kept, held = set_aside(every, 0.25, 3, untouched)
    assert len(held.y) == 5 and len(kept.y) == 15
    both = np.concatenate([kept.weight, held.weight])
    assert sorted(both) == every.weight.tolist()
    for part in (kept, held):
        number = part.weight.astype(int) - 1
        np.testing.assert_array_equal(part.X, every.X[number])
        np.testing.assert_array_equal(part.y, every.y[number])
    assert np.all(np.diff(kept.weight) > 0)  # in the order they came in
    assert set_aside(every, None, 3, untouched) == (every, None)


def test_no_output_goes_as_a_whole():
    every = rows()
    _, held = set_aside(every, 0.25, 0, untouched)
    only = int(held.weight[2]) - 1
    Y = np.where([True, False], every.y, np.nan)
    Y[only, 1] = 1.0
    kept, others = set_aside(every._replace(y=Y), 0.25, 0, untouched)
    assert only + 1 in kept.weight and len(others.y) == 4
    with pytest.raises(ValueError, match="20 rows are too few to hold out validation rows"):
        set_aside(every, 0.96, 0, untouched)


def test_given_rows_may_have_weights_and_be_of_one_class():
    labels = WeightedRows(np.zeros((4, 1)), np.array([0.0, 1.0, 0.0, 1.0]), np.ones(4))
    check = check_known_targets(labels.y, BernoulliProbit().check_targets)
    kept, held = set_aside(labels, (np.ones((2, 1)), [1, 1]), 0, check)
    assert kept is labels and held.y.tolist() == [1.0, 1.0] and held.weight.tolist() == [1.0, 1.0]
    _, held = set_aside(labels, (np.ones((2, 1)), [1, 1], [0.5, 2.0]), 0, check)
    assert held.weight.tolist() == [0.5, 2.0]
    for wrong, words in (
        ((np.ones((2, 1)),), r"must be \(X, y\) or \(X, y, weight\), got 1 things"),
        ((np.ones((2, 1)), [1, 7]), "y must be 0 or 1, got 7"),
        ((np.ones((2, 3)), [1, 0]), "X has 3 columns"),
        ("a tenth", "must be a share between 0 and 1, got 'a tenth'"),
    ):
        with pytest.raises(ValueError, match=words):
            set_aside(labels, wrong, 0, check)


def test_rows_of_weight_zero_do_not_count():
    every = rows(4)._replace(weight=np.array([0.0, 2.0, 0.0, 1.0]))
    counted = drop_zero_weight(every)
    assert counted.weight.tolist() == [2.0, 1.0]
    np.testing.assert_array_equal(counted.X, every.X[[1, 3]])
    with pytest.raises(ValueError, match="at least 2 rows need a weight above 0, got 1"):
        drop_zero_weight(every._replace(weight=np.array([0.0, 2.0, 0.0, 0.0])))
