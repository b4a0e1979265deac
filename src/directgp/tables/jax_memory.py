"""Arrays that JAX takes over as they are.

`jax.device_put` copies a numpy array, unless it starts at a multiple of 64 bytes: then both
share the memory. So a large table need not exist twice. Who makes such an array and hands it
over must not write to it any more.
"""

import numpy as np
from jaxtyping import Float, Int

_BOUNDARY = 64
_PIECE = 8192


def aligned(shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """An uninitialised float64 array at a multiple of 64 bytes.

    >>> aligned((3, 5)).ctypes.data % 64, aligned((0, 5)).shape
    (0, (0, 5))
    """
    size = 8 * int(np.prod(shape))
    memory = np.empty(size + _BOUNDARY, np.uint8)
    first = -memory.ctypes.data % _BOUNDARY
    return memory[first : first + size].view(np.float64).reshape(shape)


def take_rows(
    table: Float[np.ndarray, "N D"], rows: Int[np.ndarray, "K"]
) -> Float[np.ndarray, "K D"]:
    """Some rows of a table, by numbers from 0 on, as an aligned array.

    >>> take_rows(np.eye(2), np.array([1, 1, 0]))
    array([[0., 1.],
           [0., 1.],
           [1., 0.]])
    """
    taken = aligned((len(rows), table.shape[1]))
    # Piece by piece: numpy would copy a whole table whose columns, not rows, are contiguous.
    for first in range(0, len(rows), _PIECE):
        taken[first : first + _PIECE] = table[rows[first : first + _PIECE]]
    return taken
