"""Small tables of similar size as tables of one size, so that one compiled program serves them.

A program is compiled for its shapes, which takes seconds; a small table trains in less. Rows are
added with weight 0, which no sum sees; columns are added that are 0 everywhere, which no distance
sees. The learned numbers are the same, up to rounding.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from directgp.kernels import Linear, Stationary
from directgp.models import SparseGP
from directgp.objective import Batch
from directgp.parameters import float64
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


def can_widen(gp: GP) -> bool:
    """Whether columns of zeros leave this model alone: one layer, a kernel of all columns."""
    model = gp.model
    return isinstance(model, SparseGP) and isinstance(model.kernel, Stationary | Linear)


@float64
def with_columns(gp: GP, old: int, new: int) -> GP:
    """The same model of inputs with `new` columns instead of `old`, the added ones all 0."""
    if old == new:
        return gp

    def resized(leaf: Any) -> Any:
        if not isinstance(leaf, jax.Array) or leaf.ndim == 0 or leaf.shape[-1] != old:
            return leaf
        values = np.asarray(leaf)[..., :new]
        more = [(0, 0)] * (leaf.ndim - 1) + [(0, new - values.shape[-1])]
        return jnp.asarray(np.pad(values, more))  # on the host, where nothing is compiled

    model = gp.model
    assert isinstance(model, SparseGP)
    kernel, inducing = jax.tree.map(resized, (model.kernel, model.inducing))
    return GP(SparseGP(kernel, inducing, model.posterior, model.mean_function), gp.likelihood)


def padded(batch: Batch, rows: int, columns: int) -> Batch:
    """The batch with rows of weight 0 and columns of zeros added."""
    X, y, weight = (np.asarray(part) for part in (batch.X, batch.y, batch.weight))
    more = rows - len(y)
    return Batch(
        jnp.asarray(np.pad(X, ((0, more), (0, columns - X.shape[1])))),
        # A y that certainly has a finite loss.
        jnp.asarray(np.concatenate([y, np.full(more, y[0])])),
        jnp.asarray(np.pad(weight, (0, more))),
    )
