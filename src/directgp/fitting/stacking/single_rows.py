"""Rows of integer weight as repeated rows, so that each can be left out separately."""

import numpy as np

from directgp.tables import WeightedRows

_MOST_ROWS = 5000
_SHARE = 0.1
"""Minimum share of the repeated inputs that have several targets."""


def single_rows(rows: WeightedRows) -> WeightedRows:
    """Repeat rows of integer weight if equal inputs occur with different targets.

    Members of a stack are evaluated on rows that are left out. In a table of categories equal
    inputs occur with different targets, and a row that is left out can be predicted from the others
    with the same inputs, as a new one can; for a single row of weight 10 that would not be
    possible. If weights mean importance, copies have equal targets, and one copy would reveal that
    of another.

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
