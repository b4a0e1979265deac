"""Padding of small tables to common sizes, so that they share compiled programs.

Compilation depends on shapes and takes seconds, longer than training on a small table. Added rows
have weight 0 and added columns are 0, which change neither sums over rows nor distances. The
learned parameters are the same up to rounding.
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
    """The padded number of rows: 128, 256, or at most a quarter more than `count`.

    >>> [padded_rows(n) for n in (10, 129, 353, 354, 900)]
    [128, 256, 384, 384, 1024]
    """
    octave = 1 << max(count - 1, 1).bit_length()
    if octave <= 256:
        return max(_LEAST_ROWS, octave)
    return -(-count // (octave // 8)) * (octave // 8)


def padded_columns(count: int) -> int:
    """The padded number of columns: 16 or 32; wider tables are not padded.

    >>> [padded_columns(d) for d in (1, 5, 30, 90)]
    [16, 16, 32, 90]
    """
    return next((size for size in _COLUMNS if count <= size), count)


@float64
def with_columns(gp: GP, old: int, new: int) -> GP:
    """The same model for inputs with `new` columns instead of `old`, where added columns are 0.

    Args:
        gp: with a model that ignores columns of zeros (`Model.ignores_zero_columns`).
        old: the number of columns of its inputs.
        new: the new number of columns; if it is smaller, the first ones are kept.

    Returns:
        The model with the parameters of columns added or removed, as the fields declare them
        (`parameters.part`).
    """
    if old == new:
        return gp

    def resized(path: tuple[Any, ...], leaf: Any) -> Any:
        has_columns = any(field.get("columns", False) for field in declared(gp.model, path))
        # One number may be for all columns.
        if not has_columns or np.ndim(leaf) == 0 or leaf.shape[-1] != old:
            return leaf
        values = np.asarray(leaf)[..., :new]
        more = [(0, 0)] * (leaf.ndim - 1) + [(0, new - values.shape[-1])]
        return on_device(np.pad(values, more))  # on the host, where nothing is compiled

    return GP(jax.tree_util.tree_map_with_path(resized, gp.model), gp.likelihood)


def padded(batch: Batch, rows: int, columns: int) -> Batch:
    """The batch padded with rows of weight 0 and columns of zeros.

    Args:
        batch: to pad.
        rows: the new number of rows.
        columns: the new number of columns.
    """
    X, y, weight = (np.asarray(part) for part in (batch.X, batch.y, batch.weight))
    more = rows - len(y)
    return Batch(
        on_device(np.pad(X, ((0, more), (0, columns - X.shape[1])))),
        # A valid y, so that the loss is finite.
        on_device(np.concatenate([y, np.repeat(y[:1], more, axis=0)])),
        on_device(np.pad(weight, (0, more))),
    )
