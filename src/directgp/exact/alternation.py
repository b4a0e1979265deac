"""Posterior and actions, each fitted to the other: the loop of every loss-EM (`lossem` Table 1)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float


class Alternated(NamedTuple):
    """The last actions and q, the rounds it took, and whether the last one changed no action."""

    actions: Array
    latest: Any
    rounds: Float[Array, ""]
    settled: Bool[Array, ""]


def alternate(
    approximate: Callable[[Array, Any], Any],
    act: Callable[[Any, Array], Array],
    begun: Any,
    actions: Array,
    max_rounds: int,
    dtype: Any,
) -> Alternated:
    """E-step (`approximate`: actions and the last q → q) and M-step (`act`: q and the last actions
    → actions) in turn, until no action changes.
    """

    def unfinished(state):
        _, _, changed, rounds = state
        return changed & (rounds < max_rounds)

    def one_round(state):
        actions, latest, _, rounds = state
        latest = approximate(actions, latest)
        new = act(latest, actions)
        return new, latest, jnp.any(new != actions), rounds + 1.0

    first = (actions, begun, jnp.ones((), bool), jnp.zeros((), dtype))
    actions, latest, changed, rounds = lax.while_loop(unfinished, one_round, first)
    return Alternated(actions, latest, rounds, ~changed)
