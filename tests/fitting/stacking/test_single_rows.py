"""When rows of a whole weight become so many rows."""

import numpy as np

from directgp.fitting.stacking import fit_class_stack
from directgp.fitting.stacking.single_rows import single_rows
from directgp.tables import WeightedRows


def test_weights_that_are_no_counts_stay(rng):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    for weight in (np.ones(20), np.full(20, 3.0), np.full(20, 0.5), np.full(20, 1e300)):
        rows = WeightedRows(X, y, weight)
        assert single_rows(rows) is rows  # no input occurs with another target


def test_categories_with_several_targets_are_counted():
    X = np.repeat([[0.0], [1.0]], 2, axis=0)
    rows = single_rows(WeightedRows(X, np.array([0.0, 1.0, 0.0, 1.0]), np.array([5.0, 1, 2, 6])))
    assert len(rows.y) == 14 and np.all(rows.weight == 1)
    assert rows.y[rows.X[:, 0] == 0].sum() == 1 and rows.y[rows.X[:, 0] == 1].sum() == 6


def test_frequencies_of_a_table_of_categories_are_believed(rng):
    X = np.repeat(rng.integers(0, 3, (15, 2)).astype(float), 40, axis=0)
    chance = 0.1 + 0.4 * X[:, 0]
    y = (rng.uniform(size=len(X)) < chance).astype(float)
    table, number = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    fitted = fit_class_stack(table[:, :2], table[:, 2], 2, sample_weight=number)
    truth = -np.mean(chance * np.log(chance) + (1 - chance) * np.log(1 - chance))
    assert len(fitted.out_of_fold) == len(X)
    assert np.mean(fitted.out_of_fold) < truth + 0.05
    found = np.exp(fitted.predict(X).log_probabilities[:, 1])
    assert np.max(np.abs(found - chance)) < 0.15
