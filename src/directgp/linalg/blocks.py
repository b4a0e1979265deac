"""Sums over rows in blocks: bounded memory, with the gradient computed in the same pass."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from directgp.linalg import native

BLOCK = 5120
_MOST_INPUTS = 4 * BLOCK
_LEAST_ROWS = 32
_TOGETHER = 2
"""Blocks in one iteration of a loop without machine code: XLA then computes them concurrently.
Machine code uses all cores for one block."""


def rows_a_block(components: int) -> int:
    """The number of rows in a block if each is evaluated at `components` inputs.

    >>> [rows_a_block(components) for components in (1, 8, 50, 2000)]
    [5120, 2560, 409, 32]
    """
    return min(BLOCK, max(_LEAST_ROWS, _MOST_INPUTS // components))


def num_blocks(num_rows: int, block: int = BLOCK) -> int:
    """The number of blocks that `num_rows` rows need."""
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


def sum_in_blocks(
    function: Callable[..., Float[Array, ""]],
    parameters: tuple[PyTree, ...],
    rows: PyTree,
    key: PRNGKeyArray | None,
    most_rows: int,
) -> Float[Array, ""]:
    """The sum over rows that `function(*parameters, rows, key)` computes, in blocks if necessary.

    Args:
        function: of the parameters, of some rows and of a random key.
        parameters: differentiable.
        rows: a tree of [N …] arrays.
        key: is split into one for each block; None if nothing is sampled.
        most_rows: the largest number of rows in a block.
    """
    num_rows = jax.tree.leaves(rows)[0].shape[0]
    if num_rows <= most_rows:
        return function(*parameters, rows, key)
    keys = None if key is None else jax.random.split(key, num_blocks(num_rows, most_rows))
    blocks = to_blocks(rows, most_rows), keys
    return blocked_sum(lambda parts, block: function(*parts, *block), parameters, blocks)


def blocked_sum(
    function: Callable[[PyTree, PyTree], Float[Array, ""]], parameters: PyTree, blocks: PyTree
) -> Float[Array, ""]:
    """Σ_b function(parameters, block_b), differentiable once in `parameters` and not in `blocks`.

    The gradient of every block is computed while the block is in cache, so nothing of size N is
    stored: plain autodiff through the scan would store every block's intermediates.
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
