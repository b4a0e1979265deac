"""Hashes of rows of numbers."""

import numpy as np
from jaxtyping import Float, UInt64


def row_hashes(values: Float[np.ndarray, "N D"], seed: int) -> UInt64[np.ndarray, "N"]:
    """A 64-bit hash of every row; equal rows (0 equals −0, NaN equals NaN) have equal hashes.

    Args:
        values: the rows.
        seed: seed of the hash function.

    >>> hashes = row_hashes(np.array([[0.0, np.nan], [-0.0, np.nan], [1.0, 2.0]]), seed=1)
    >>> bool(hashes[0] == hashes[1]), bool(hashes[1] == hashes[2])
    (True, False)
    """
    equal = np.where(np.isnan(values), np.nan, values) + 0.0  # one NaN, and no −0
    bits = np.ascontiguousarray(equal).view(np.uint64)
    odd = np.random.default_rng(seed).integers(0, 2**63, bits.shape[1], dtype=np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * (2 * odd + np.uint64(1))
    total = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1)
    return total * np.uint64(0x9E3779B97F4A7C15)
