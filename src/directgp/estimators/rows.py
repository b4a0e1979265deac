"""Rows as they are trained on: equal rows merged, so that weights and repetitions are the same."""

import numpy as np

from directgp.tables import WeightedRows

_MOST_ROWS = 20_000


def merged(rows: WeightedRows) -> WeightedRows:
    """Rows that occur more than once become one of their total weight, in a fixed order.

    A row given twice is then exactly a row of weight 2, a row of weight 0 exactly no row, and the
    order of rows does not matter. Large tables are left alone: nobody counts their rows.

    >>> rows = WeightedRows(np.array([[1.0], [0.0], [1.0]]), np.array([5.0, 6.0, 5.0]), np.ones(3))
    >>> merged(rows).weight.tolist()
    [1.0, 2.0]
    """
    X, y, weight = (np.asarray(part)[rows.weight > 0] for part in rows)
    if len(y) > _MOST_ROWS:
        return WeightedRows(X, y, weight)
    table, inverse = np.unique(np.column_stack([X, y]), axis=0, return_inverse=True)
    if len(table) < 2:  # nothing but one row, again and again
        return WeightedRows(X, y, weight)
    total = np.bincount(inverse.ravel(), weights=weight, minlength=len(table))
    inputs, targets = np.split(table, [X.shape[1]], axis=1)
    return WeightedRows(np.ascontiguousarray(inputs), targets.reshape(-1, *y.shape[1:]), total)
