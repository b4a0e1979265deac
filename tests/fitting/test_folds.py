"""Folds of few rows: each row held out once, classes in equal shares."""

import numpy as np
import pytest

from directgp.fitting.folds import folds_of, num_folds
from directgp.fitting.prepare import prepare
from directgp.fitting.specs import Sparse
from directgp.likelihoods import BernoulliProbit, Gaussian


def prepared(y, likelihood):
    X = np.arange(2.0 * len(y)).reshape(-1, 2)
    return prepare(
        X,
        y,
        likelihood,
        model=Sparse(kernel="rbf", num_inducing=4),
        validation=None,
        hold_out=lambda rows: False,
        sample_weight=np.arange(1.0, len(y) + 1),
        seed=0,
    )


def test_rows_are_held_out_until_there_are_enough_of_them():
    for rows in range(12, 1001):
        number = num_folds(rows, 1000)
        assert 1 <= number <= 3
        assert number == 3 or number * rows / 3 >= 300
    assert num_folds(11, 1000) == num_folds(1001, 1000) == 0
    assert num_folds(5000, None) == 1, "all rows in one batch are few rows, if the user says so"


def test_every_row_is_held_out_once_with_its_weight():
    ready = prepared(np.random.default_rng(0).normal(size=31), Gaussian())
    folds = folds_of(ready, 3, seed=1)
    for column in ("X", "y", "weight"):
        all_rows = np.asarray(getattr(ready.data, column))
        held = np.concatenate([getattr(fold.held_out, column) for fold in folds])
        np.testing.assert_array_equal(np.sort(held, axis=0), np.sort(all_rows, axis=0))
        for fold in folds:
            assert fold.feed is fold.data and fold.num_rows == ready.num_rows
            both = np.concatenate([getattr(fold.held_out, column), getattr(fold.data, column)])
            np.testing.assert_array_equal(np.sort(both, axis=0), np.sort(all_rows, axis=0))


@pytest.mark.parametrize("seed", range(5))
def test_every_fold_has_its_share_of_a_rare_class(seed):
    y = np.zeros(60)
    y[[3, 30, 59]] = 1.0
    folds = folds_of(prepared(y, BernoulliProbit()), 3, seed)
    assert [float(np.sum(fold.held_out.y)) for fold in folds] == [1.0, 1.0, 1.0]
