"""Cross-validation: where rows are few, none is held out for good, and all are in turn."""

import jax
import jax.numpy as jnp
import numpy as np

from directgp.fitting.prepare import Prepared
from directgp.objective import Batch

_PARTS = 3
_ENOUGH = 300
"""Held-out rows that tell values of β apart well enough to choose one."""
_FEWEST = 12
"""Rows below which a third of them is next to nothing."""


def num_folds(num_rows: int, batch_size: int | None) -> int:
    """How many thirds of the rows are held out in turn: until 300 rows or all of them were.

    0 for rows that are trained in mini-batches, of which a tenth is enough to choose β by, and for
    less than a dozen rows.

    >>> [num_folds(rows, 1000) for rows in (10, 50, 300, 450, 1000, 5000)]
    [0, 3, 3, 2, 1, 0]
    """
    if num_rows < _FEWEST or (batch_size is not None and num_rows > batch_size):
        return 0
    return min(_PARTS, -(-_ENOUGH * _PARTS // num_rows))


def folds_of(ready: Prepared, number: int, seed: int) -> list[Prepared]:
    """The same problem `number` times, each time with another third of the rows held out.

    Every third has its share of each class. Scales and the start of training are those of all
    rows.
    """
    y = np.asarray(ready.data.y)
    order = np.random.default_rng(seed).permutation(len(y))
    if ready.gp.likelihood.support == "classes":
        order = order[np.argsort(y[order], kind="stable")]
    part = np.empty(len(y), np.intp)
    part[order] = np.arange(len(y)) % _PARTS

    def take(chosen: np.ndarray) -> Batch:
        return jax.tree.map(lambda column: jnp.asarray(np.asarray(column)[chosen]), ready.data)

    folds = []
    for index in range(number):
        kept, held_out = take(part != index), take(part == index)
        folds.append(ready._replace(data=kept, feed=kept, held_out=held_out))
    return folds
