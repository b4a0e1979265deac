"""Adam: the steps of optax, but for the last bits."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from directgp.training import adam


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_directions_and_state_are_those_of_optax(dtype):
    with jax.enable_x64(True):
        generator = np.random.default_rng(0)
        learned = {"a": jnp.zeros(3, dtype), "b": jnp.zeros((2, 2), dtype)}
        theirs = optax.scale_by_adam(b1=0.9, b2=0.99)
        ours_state, their_state = adam.init(learned), theirs.init(learned)
        for _ in range(30):
            gradient = jax.tree.map(
                lambda x: jnp.asarray(generator.normal(size=x.shape) * 10.0, x.dtype), learned
            )
            ours, ours_state = adam.update(gradient, ours_state)
            expected, their_state = theirs.update(gradient, their_state)
            for one, other in zip(
                jax.tree.leaves((ours, ours_state)),
                jax.tree.leaves((expected, their_state)),
                strict=True,
            ):
                assert one.dtype == other.dtype
                # 1 − 0.99^t loses two digits at first: rounding of 0.99^t weighs 100 times.
                np.testing.assert_allclose(one, other, rtol=100 * jnp.finfo(dtype).eps)
