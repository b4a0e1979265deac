"""Scoring and predicting rows in blocks of one fixed shape: no recompilation, bounded memory."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model
from directgp.objective import Batch, Objective
from directgp.parameters import float64
from directgp.threads import one_blas_thread
from directgp.training.loop import GP

ROWS = 2048
"""Every block has this many rows, so that a row's result is the same in any company."""


class PredictedMarginals(NamedTuple):
    """`Marginals` after the arrays have left JAX."""

    mean: Float[np.ndarray, "S N P"]
    variance: Float[np.ndarray, "S N P"]
    log_weights: Float[np.ndarray, "S"]


@float64
@eqx.filter_jit
def condition(model: Model, precision: str) -> Conditioned:
    """The M×M algebra for prediction, done once; `precision` as for `SparseGP.condition`."""
    form = "rotated" if precision == "mixed" else "auto"
    return model.for_prediction().condition(precision, form)


@jax.jit
def _marginals(model: Conditioned, X: Float[Array, "N D"], key) -> Marginals:
    return model.marginals(X, key)


@float64
def marginals(
    conditioned: Conditioned, X: Float[np.ndarray, "N D"], seed: int = 0
) -> PredictedMarginals:
    """q(f) at every row, as numpy arrays in float64; `conditioned` comes from `condition`."""
    key = jax.random.key(seed)
    firsts = range(0, max(len(X), 1), ROWS)
    with one_blas_thread():
        # All blocks are sent off before the first result is asked for: the device never waits.
        blocks = [
            _marginals(conditioned, _padded(X[first : first + ROWS]), key) for first in firsts
        ]
        means = np.concatenate([np.asarray(block.mean) for block in blocks], axis=1)
        variances = np.concatenate([np.asarray(block.variance) for block in blocks], axis=1)
    log_weights = np.asarray(blocks[0].log_weights)
    return PredictedMarginals(means[:, : len(X)], variances[:, : len(X)], log_weights)


def _padded(rows: Float[np.ndarray, "B D"]) -> Array:
    if len(rows) == ROWS:
        return jnp.asarray(rows)
    return jnp.asarray(np.concatenate([rows, np.zeros((ROWS - len(rows), rows.shape[1]))]))


class Scorer:
    """Mean loss on held-out rows between chunks, compiled once."""

    def __init__(self, objective: Objective, data: Batch, seed: int = 0):
        self.objective = objective
        self.key = jax.random.key(seed)
        self.num_rows = data.y.shape[0]
        self.total_weight = float(jnp.sum(data.weight))
        self.data = data

    @float64
    def __call__(self, gp: GP) -> float:
        total = _sum_losses(self.objective, gp, self.data, self.key)
        return float(total) / self.total_weight


@eqx.filter_jit
def _sum_losses(objective: Objective, gp: GP, data: Batch, key) -> Float[Array, ""]:
    _, parts = objective(
        gp.model.for_prediction(),
        gp.likelihood,
        data,
        beta=jnp.zeros(()),
        num_data=jnp.asarray(data.y.shape[0], jnp.float64),
        key=key,
    )
    return parts.risk
