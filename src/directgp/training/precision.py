"""Whether float32 is good enough for the [M N] work of a step, decided on the data at hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from directgp.objective import Batch
from directgp.training.loop import GP

_PROBE_ROWS = 256
_SMALLEST_M = {True: 50, False: 100}
"""Inducing points from which float32 pays, in deep models (many inputs a row) and in others."""
_TOLERANCE = 0.05
"""Of the spread, root mean square: costs a row at most about tolerance² nats of log loss."""


def worth_mixing(gp: GP) -> bool:
    """Mixed precision pays where the [M N] products dominate a step."""
    num_inducing = gp.model.posteriors[0].mean.shape[-1]
    return num_inducing >= _SMALLEST_M[gp.model.components > 1]


@eqx.filter_jit
def _agrees(gp: GP, X: Array) -> Bool[Array, ""]:
    key = jax.random.key(0)
    exact = gp.model.condition("float64").marginals(X, key)
    mixed = gp.model.condition("mixed").marginals(X, key)
    spread = exact.variance + gp.likelihood.latent_noise(exact.mean)
    mean_error = (exact.mean - mixed.mean) ** 2 / spread
    variance_error = ((exact.variance - mixed.variance) / spread) ** 2
    worst = jnp.maximum(jnp.mean(mean_error), jnp.mean(variance_error))
    # Compared with a spread that is no number everything would be the same.
    return (worst <= _TOLERANCE**2) & jnp.all(jnp.isfinite(spread))


def mixed_is_safe(gp: GP, data: Batch) -> bool:
    """Mixed and float64 marginals agree within 5 % of the spread of f and noise on probe rows.

    Probe rows are taken evenly from all: rows may be sorted, and the first ones an edge of the
    data.
    """
    count = len(data.y)
    rows = np.linspace(0, count - 1, min(count, _PROBE_ROWS)).astype(np.intp)
    return bool(_agrees(gp, data.X[rows]))
