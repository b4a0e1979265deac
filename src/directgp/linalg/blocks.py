"""Sums over rows in blocks: memory bounded by the block, gradients made in the same pass."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from directgp.linalg import native

BLOCK = 5120
_MOST_INPUTS = 4 * BLOCK
_LEAST_ROWS = 32
_TOGETHER = 2
"""Blocks that XLA sees at once where it computes by itself: while one waits for a core or for
memory, the other computes. Machine code uses all cores for one block."""


def rows_a_block(components: int) -> int:
    """Most rows that go together where each is evaluated at `components` inputs.

    >>> [rows_a_block(components) for components in (1, 8, 50, 2000)]
    [5120, 2560, 409, 32]
    """
    return min(BLOCK, max(_LEAST_ROWS, _MOST_INPUTS // components))


def num_blocks(num_rows: int, block: int = BLOCK) -> int:
    """How many blocks hold `num_rows` rows."""
    return -(-num_rows // block)


def to_blocks(columns: PyTree, block: int = BLOCK) -> PyTree:
    """[N …] arrays as [blocks, rows, …] with rows ≤ `block`, the last block filled with zeros.

    Blocks are of equal size, so that at most one row a block is padding.
    """

    def reshape(column: Array) -> Array:
        count = num_blocks(column.shape[0], block)
        rows = num_blocks(column.shape[0], count)
        missing = count * rows - column.shape[0]
        padded = jnp.pad(column, [(0, missing)] + [(0, 0)] * (column.ndim - 1))
        return padded.reshape(count, rows, *column.shape[1:])

    return jax.tree.map(reshape, columns)


def blocked_sum(
    function: Callable[[PyTree, PyTree], Float[Array, ""]], parameters: PyTree, blocks: PyTree
) -> Float[Array, ""]:
    """Σ_b function(parameters, block_b), differentiable once in `parameters` and not in `blocks`.

    The derivative of every block is taken while the block is in cache, so nothing of size N is
    kept: plain autodiff through the scan would store every block's intermediates.
    """
    learned, fixed = eqx.partition(parameters, eqx.is_inexact_array)

    def value(learned: PyTree, block: PyTree) -> Array:
        return function(eqx.combine(learned, fixed), block)

    # Arrays are arguments or made inside: as closures they would leak from a jit under grad.
    @jax.custom_vjp
    def total(learned: PyTree, blocks: PyTree) -> Array:
        def body(carry, block):
            return carry + value(learned, block), None

        return lax.scan(body, jnp.zeros(()), blocks)[0]

    def forward(learned: PyTree, blocks: PyTree):
        def body(carry, block):
            return jax.tree.map(jnp.add, carry, jax.value_and_grad(value)(learned, block)), None

        start = (jnp.zeros(()), jax.tree.map(jnp.zeros_like, learned))
        return lax.scan(body, start, blocks, unroll=1 if native.in_use() else _TOGETHER)[0]

    def backward(gradient: PyTree, cotangent: Array):
        return jax.tree.map(lambda part: (cotangent * part).astype(part.dtype), gradient), None

    total.defvjp(forward, backward)
    return total(learned, lax.stop_gradient(blocks))
