"""Small tables of similar size as tables of one size, so that one compiled program serves them.

A program is compiled for its shapes, which takes seconds; a small table trains in less. Rows are
added with weight 0, which no sum sees; columns are added that are 0 everywhere, which no distance
sees. The learned numbers are the same, up to rounding.
"""

from typing import Any

import jax
import numpy as np

from directgp.objective import Batch
from directgp.parameters import declared, float64, on_device
from directgp.training.loop import GP

_LEAST_ROWS = 128
_COLUMNS = (16, 32)


def padded_rows(count: int) -> int:
    """At least 128, then a power of two up to 256, then at most a quarter more.

    >>> [padded_rows(n) for n in (10, 129, 353, 354, 900)]
    [128, 256, 384, 384, 1024]
    """
    octave = 1 << max(count - 1, 1).bit_length()
    if octave <= 256:
        return max(_LEAST_ROWS, octave)
    return -(-count // (octave // 8)) * (octave // 8)


def padded_columns(count: int) -> int:
    """16 or 32; wide tables stay as they are.

    >>> [padded_columns(d) for d in (1, 5, 30, 90)]
    [16, 16, 32, 90]
    """
    return next((size for size in _COLUMNS if count <= size), count)


@float64
def with_columns(gp: GP, old: int, new: int) -> GP:
    """The same model of inputs with `new` columns instead of `old`, the added ones all 0.

    Args:
        gp: of a model that ignores columns of zeros (`Model.ignores_zero_columns`).
        old: how many columns its inputs have.
        new: how many they are to have; fewer are the first ones.

    Returns:
        The model with every number that there is for each column added or left out, as the fields
        declare it (`parameters.part`).
    """
    if old == new:
        return gp

    def resized(path: tuple[Any, ...], leaf: Any) -> Any:
        has_columns = any(field.get("columns", False) for field in declared(gp.model, path))
        # One number may stand for all columns.
        if not has_columns or np.ndim(leaf) == 0 or leaf.shape[-1] != old:
            return leaf
        values = np.asarray(leaf)[..., :new]
        more = [(0, 0)] * (leaf.ndim - 1) + [(0, new - values.shape[-1])]
        return on_device(np.pad(values, more))  # on the host, where nothing is compiled

    return GP(jax.tree_util.tree_map_with_path(resized, gp.model), gp.likelihood)


def padded(batch: Batch, rows: int, columns: int) -> Batch:
    """The batch with rows of weight 0 and columns of zeros added."""
    X, y, weight = (np.asarray(part) for part in (batch.X, batch.y, batch.weight))
    more = rows - len(y)
    return Batch(
        on_device(np.pad(X, ((0, more), (0, columns - X.shape[1])))),
        # A y that certainly has a finite loss.
        on_device(np.concatenate([y, np.repeat(y[:1], more, axis=0)])),
        on_device(np.pad(weight, (0, more))),
    )
