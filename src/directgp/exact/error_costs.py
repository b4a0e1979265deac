"""Costs of the two errors of a decision between two classes."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class ErrorCosts(NamedTuple):
    """The costs of the two errors; each is one number, or one for each row.

    >>> costs = ErrorCosts(jnp.asarray(1.0), jnp.asarray(4.0))
    >>> costs.bayes_decisions(jnp.array([0.1, 0.3])).tolist()
    [False, True]
    """

    false_positive: Float[Array, "*S"]
    """c₊, the cost of deciding 1 if y is 0."""
    false_negative: Float[Array, "*S"]
    """c₋, the cost of deciding 0 if y is 1."""

    def bayes_decisions(self, probability: Float[Array, "S"]) -> Bool[Array, "S"]:
        """Decide 1 if c₊ (1 − p) < c₋ p: `lossem` eq. (26) as a threshold on p = P(y = 1)."""
        return self.false_positive * (1.0 - probability) < self.false_negative * probability

    def expected(
        self, probability: Float[Array, "*J S"], decisions: Bool[Array, "S"]
    ) -> Float[Array, "*J S"]:
        """Expected costs of decisions: c₊ (1 − p) for 1, c₋ p for 0.

        Args:
            probability: P(y = 1).
            decisions: True for 1.
        """
        false_alarm = self.false_positive * (1.0 - probability)
        return jnp.where(decisions, false_alarm, self.false_negative * probability)
