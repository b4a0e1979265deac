"""Whether float32 is good enough for the [M N] work of a step, decided on the data at hand."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from directgp.objective import Batch
from directgp.training.loop import GP

_PROBE_ROWS = 256
_SMALLEST_M = {True: 50, False: 300}
"""Inducing points from which float32 pays, in deep models (many inputs a row) and in others."""
_TOLERANCE = 0.02


def worth_mixing(gp: GP, data: Batch) -> bool:
    """Mixed precision pays where the [M N] products dominate a step."""
    posteriors = gp.model.posteriors
    return posteriors[0].mean.shape[-1] >= _SMALLEST_M[len(posteriors) > 1]


@eqx.filter_jit
def _agrees(gp: GP, X: Array) -> Bool[Array, ""]:
    key = jax.random.key(0)
    exact = gp.model.condition("float64").marginals(X, key)
    mixed = gp.model.condition("mixed").marginals(X, key)
    spread = exact.variance + gp.likelihood.conditional_variance(exact.mean)[..., None]
    mean_error = jnp.abs(exact.mean - mixed.mean) / jnp.sqrt(spread)
    variance_error = jnp.abs(exact.variance - mixed.variance) / spread
    return (jnp.max(mean_error) < _TOLERANCE) & (jnp.max(variance_error) < _TOLERANCE)


def mixed_is_safe(gp: GP, data: Batch) -> bool:
    """Mixed and float64 marginals agree within 2 % of the predictive spread on probe rows."""
    return bool(_agrees(gp, data.X[:_PROBE_ROWS]))
