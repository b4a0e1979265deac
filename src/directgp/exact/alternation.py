"""The EM loop of all loss-EM algorithms: alternate posterior and actions (`lossem` Table 1)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float


class Alternated(NamedTuple):
    """The final actions and q, the number of rounds, and whether the actions converged."""

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
    """Alternate E-step and M-step until no action changes.

    Args:
        approximate: E-step, from actions and the last q to the new q.
        act: M-step, from q and the last actions to new actions.
        begun: q to start from.
        actions: actions to start from.
        max_rounds: the maximum number of rounds.
        dtype: of the count of rounds.
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
