"""The loop of loss-EM: it ends when no action changes, or after so many rounds."""

import jax.numpy as jnp
import numpy as np
import pytest

from directgp.exact.alternation import alternate


@pytest.mark.parametrize(
    ("max_rounds", "actions", "rounds", "settled"),
    [(10, 3.0, 4, True), (4, 3.0, 4, True), (3, 3.0, 3, False), (2, 2.0, 2, False)],
)
def test_it_ends_when_no_action_changes(max_rounds, actions, rounds, settled):
    """q is 1, 2, 3, 4 and the best actions are 1, 2, 3, 3: the fourth round changes none."""
    found = alternate(
        lambda actions, q: q + 1.0,
        lambda q, actions: jnp.minimum(jnp.full(2, q), jnp.asarray([3.0, 1.0])),
        jnp.asarray(0.0),
        jnp.zeros(2),
        max_rounds,
        jnp.float64,
    )
    np.testing.assert_array_equal(found.actions, [actions, 1.0])
    assert found.rounds == rounds == found.latest and bool(found.settled) == settled
