"""Adam (Kingma and Ba 2015): one update rule, so that no optimiser library has to be imported."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

_FIRST_DECAY, _SECOND_DECAY, _EPSILON = 0.9, 0.99, 1e-8


class AdamState(NamedTuple):
    """Steps so far, and running means of the gradient and of its square."""

    steps: Int[Array, ""]
    mu: PyTree
    nu: PyTree


def init(learned: PyTree) -> AdamState:
    """The state before the first step."""
    zeros = jax.tree.map(jnp.zeros_like, learned)
    return AdamState(jnp.zeros([], jnp.int32), zeros, zeros)


def update(gradient: PyTree, state: AdamState) -> tuple[PyTree, AdamState]:
    """The direction m̂ / (√v̂ + ε), to be multiplied by minus the learning rate; the next state."""
    count = state.steps + 1
    mu = _running_mean(gradient, state.mu, _FIRST_DECAY)
    nu = _running_mean(jax.tree.map(lambda g: g**2, gradient), state.nu, _SECOND_DECAY)

    def direction(m: Array, v: Array) -> Array:
        m, v = (
            moment / (1 - decay**count).astype(moment.dtype)
            for moment, decay in ((m, _FIRST_DECAY), (v, _SECOND_DECAY))
        )
        return m / (jnp.sqrt(v) + _EPSILON)

    return jax.tree.map(direction, mu, nu), AdamState(count, mu, nu)


def _running_mean(values: PyTree, before: PyTree, decay: float) -> Any:
    return jax.tree.map(lambda new, old: (1 - decay) * new + decay * old, values, before)
