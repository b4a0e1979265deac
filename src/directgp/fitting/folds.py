"""Cross-validation for the choice of β, for tables with too few rows for one held-out set."""

import jax
import numpy as np

from directgp.fitting.prepare import Prepared
from directgp.objective import Batch
from directgp.parameters import on_device

_PARTS = 3
_ENOUGH = 300
"""Held-out rows that are enough to choose among values of β."""
_FEWEST = 12
"""With fewer rows a third of them is too few for validation."""


def num_folds(num_rows: int, batch_size: int | None) -> int:
    """The number of folds (of a third of the rows each) needed for 300 held-out rows, at most 3.

    It is 0 for mini-batch training, where a tenth of the rows is enough for validation, and for
    fewer than 12 rows.

    Args:
        num_rows: the number of rows.
        batch_size: the size of a mini-batch; None: full batches.

    Returns:
        The number of folds.

    >>> [num_folds(rows, 1000) for rows in (10, 50, 300, 450, 1000, 5000)]
    [0, 3, 3, 2, 1, 0]
    """
    if num_rows < _FEWEST or (batch_size is not None and num_rows > batch_size):
        return 0
    return min(_PARTS, -(-_ENOUGH * _PARTS // num_rows))


def folds_of(ready: Prepared, number: int, seed: int) -> list[Prepared]:
    """The training problems of cross-validation, each with a different third of the rows held out.

    The folds are stratified by class. Scales and initial values are those for all rows.

    Args:
        ready: the problem with all rows.
        number: the number of folds.
        seed: of the random split.

    Returns:
        One problem for each fold.
    """
    y = np.asarray(ready.data.y)
    order = np.random.default_rng(seed).permutation(len(y))
    if ready.gp.likelihood.support == "classes" and y.ndim == 1:
        order = order[np.argsort(y[order], kind="stable")]
    part = np.empty(len(y), np.intp)
    part[order] = np.arange(len(y)) % _PARTS

    def take(chosen: np.ndarray) -> Batch:
        return jax.tree.map(lambda column: on_device(np.asarray(column)[chosen]), ready.data)

    folds = []
    for index in range(number):
        kept, held_out = take(part != index), take(part == index)
        folds.append(ready._replace(data=kept, feed=kept, held_out=held_out))
    return folds
