"""Scoring and predicting rows in blocks of one fixed shape: no recompilation, bounded memory."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from threadpoolctl import threadpool_limits

from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model
from directgp.objective import Batch, Objective
from directgp.parameters import float64
from directgp.training.loop import GP

ROWS = 1024
"""Every block has this many rows, so that a row's result is the same in any company."""


@eqx.filter_jit
def _condition(model: Model) -> Conditioned:
    return model.condition("float64")


@eqx.filter_jit
def _marginals(model: Conditioned, X: Float[Array, "N D"], key) -> Marginals:
    return model.marginals(X, key)


@float64
def marginals(model: Model, X: Float[np.ndarray, "N D"], seed: int = 0) -> Marginals:
    """q(f) at every row, as numpy arrays in float64."""
    conditioned = _condition(model)
    key = jax.random.key(seed)
    means, variances, log_weights = [], [], np.zeros(1)
    with threadpool_limits(1, user_api="blas"):
        for first in range(0, max(len(X), 1), ROWS):
            rows = X[first : first + ROWS]
            padded = np.pad(rows, [(0, ROWS - len(rows)), (0, 0)])
            block = _marginals(conditioned, jnp.asarray(padded), key)
            means.append(block.mean[:, : len(rows)])
            variances.append(block.variance[:, : len(rows)])
            log_weights = block.log_weights
    return Marginals(
        np.concatenate([np.asarray(part) for part in means], axis=1),
        np.concatenate([np.asarray(part) for part in variances], axis=1),
        np.asarray(log_weights),
    )


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
        gp.model,
        gp.likelihood,
        data,
        beta=jnp.zeros(()),
        num_data=jnp.asarray(data.y.shape[0], jnp.float64),
        key=key,
    )
    return parts.risk
