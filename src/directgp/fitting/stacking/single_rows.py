"""Rows of a whole weight as so many single rows, so that each can be left out alone."""

import numpy as np

from directgp.tables import WeightedRows

_MOST_ROWS = 5000
_SHARE = 0.1
"""Of the inputs that occur more than once, those that must occur with several targets."""


def single_rows(rows: WeightedRows) -> WeightedRows:
    """Repeat rows of whole weights where inputs occur again with other targets; else keep weights.

    Members of a stack are judged by rows that they have not seen. In a table of categories the same
    inputs occur again and again, with one target and another; a row is then known from the others
    like it when it is left out, as it will be when it occurs again. Of a row of weight 10 nothing
    is known when it is left out. Where weights say how much rows matter, copies of a row always
    have the same target, and one copy would tell the target of the other.

    >>> X, y, weight = np.array([[1.0], [1.0], [0.0]]), np.array([5.0, 6.0, 6.0]), np.arange(1.0, 4)
    >>> single_rows(WeightedRows(X, y, weight)).y.tolist()
    [5.0, 6.0, 6.0, 6.0, 6.0, 6.0]
    """
    weight = np.asarray(rows.weight)
    if np.all(weight == 1) or weight.sum() > _MOST_ROWS or np.any(weight != np.round(weight)):
        return rows
    _, cell = np.unique(rows.X, axis=0, return_inverse=True)
    targets = np.unique(np.column_stack([cell.ravel(), rows.y]), axis=0)[:, 0]
    repeated = np.bincount(cell.ravel(), weights=weight) > 1
    several = np.bincount(targets.astype(np.int64)) > 1
    if np.sum(several & repeated) < _SHARE * np.sum(repeated):
        return rows
    at = np.repeat(np.arange(len(weight)), weight.astype(np.int64))
    return WeightedRows(rows.X[at], rows.y[at], np.ones(len(at)))
