"""Sums over all counts with a bounded number of nodes."""

import jax.numpy as jnp
from jaxtyping import Array, Float

_BINS = 48
_DEVIATIONS = 12.0
_DECAYS = 25.0
"""Length of the upper tail, in units of the distance over which it falls by a factor e."""


def count_range(
    mean: Float[Array, "*B"], variance: Float[Array, "*B"]
) -> tuple[Float[Array, "*B"], Float[Array, "*B"]]:
    """An interval with all but about e^−25 of the mass of a Poisson or negative binomial.

    Args:
        mean: of the count.
        variance: of the count.
    """
    spread, decay = jnp.sqrt(variance), variance / mean
    low = jnp.maximum(jnp.floor(mean - _DEVIATIONS * spread), 0.0)
    return low, jnp.ceil(mean + _DEVIATIONS * spread + _DECAYS * decay)


def count_nodes(
    low: Float[Array, "*B"], high: Float[Array, "*B"]
) -> tuple[Float[Array, "K *B"], Float[Array, "K *B"]]:
    """Nodes y and log-weights with Σ_{low ≤ y ≤ high} g(y) ≈ Σ_k w_k g(y_k), g smooth.

    The nodes are single counts if there are few, else in bins that grow in proportion to y + 1. A
    bin of w counts has two nodes at its middle ± √((w² − 1)/12), which is exact for cubic g, and
    for any g if w is 1 or 2.

    Args:
        low: the smallest count.
        high: the largest count.
    """
    steps = jnp.linspace(0.0, 1.0, _BINS + 1).reshape(-1, *(1,) * low.ndim)
    end = jnp.clip(high, low + _BINS - 1.0, 1e15) + 1.0
    growing = jnp.floor((low + 1.0) * ((end + 1.0) / (low + 1.0)) ** steps - 1.0 + 1e-6)
    even = low + _BINS * steps
    edges = jnp.where(end - low <= _BINS, jnp.round(even), growing)
    first, width = edges[:-1], edges[1:] - edges[:-1]
    middle = first + 0.5 * jnp.maximum(width - 1.0, 0.0)
    offset = jnp.sqrt(jnp.maximum(width**2 - 1.0, 0.0) / 12.0)
    log_weight = jnp.where(width > 0, jnp.log(0.5 * jnp.maximum(width, 1.0)), -jnp.inf)
    return jnp.concatenate([middle - offset, middle + offset]), jnp.tile(
        log_weight, (2, *(1,) * low.ndim)
    )
