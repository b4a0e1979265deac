"""Arrays that JAX can use without a copy.

`jax.device_put` copies a NumPy array unless it is aligned to 64 bytes, in which case both share the
memory. Such an array must not be written to afterwards.
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
    """Rows of a table as an aligned array.

    Args:
        table: the table.
        rows: indices of rows.

    >>> take_rows(np.eye(2), np.array([1, 1, 0]))
    array([[0., 1.],
           [0., 1.],
           [1., 0.]])
    """
    taken = aligned((len(rows), table.shape[1]))
    # In pieces, because NumPy would first copy a whole table in Fortran order.
    for first in range(0, len(rows), _PIECE):
        taken[first : first + _PIECE] = table[rows[first : first + _PIECE]]
    return taken
