"""Matrices of which half is known: Cholesky factors, triangles, symmetric products.

XLA multiplies zeros like any number and solves triangular systems slowly, so products leave out
most of the half that is zero or a copy, and L⁻¹ is made by halves. Machine code, where it is in use
(`linalg.native`), leaves out all of that half.
"""

import itertools

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from directgp.linalg import native
from directgp.parameters import diagonal

_SMALL_INVERSE = 64
_SMALL_PRODUCT = 150


def inverse_cholesky(matrix: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L⁻¹ with L Lᵀ = matrix; the M×M inverse beats triangular solves against [M N]."""
    return _inverse_lower(jnp.linalg.cholesky(matrix, symmetrize_input=False))


def _inverse_lower(factor: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L⁻¹ by halves, L⁻¹ = [[A⁻¹, 0], [−D⁻¹ C A⁻¹, D⁻¹]]: products beat triangular solves."""
    size = factor.shape[0]
    if size <= _SMALL_INVERSE:
        return solve_triangular(factor, jnp.eye(size, dtype=factor.dtype), lower=True)
    half = size // 2
    above, below = _inverse_lower(factor[:half, :half]), _inverse_lower(factor[half:, half:])
    corner = -below @ (factor[half:, :half] @ above)
    right = jnp.zeros((half, size - half), factor.dtype)
    return jnp.block([[above, right], [corner, below]])


def spans_of(size: int) -> list[slice]:
    """Where to cut rows so that products may leave out the half that is known."""
    pieces = 1 if size < _SMALL_PRODUCT else 4
    edges = [size * piece // pieces for piece in range(pieces + 1)]
    return [slice(*pair) for pair in itertools.pairwise(edges)]


def lower_times(lower: Float[Array, "M M"], right: Float[Array, "M N"]) -> Float[Array, "M N"]:
    """L A without the zeros above L's diagonal, or without most of them."""

    def by_spans(lower, right):
        spans = spans_of(lower.shape[0])
        return [jnp.concatenate([lower[rows, : rows.stop] @ right[: rows.stop] for rows in spans])]

    return native.run("lower_times", by_spans, lower, right)[0]


def upper_times(lower: Float[Array, "M M"], right: Float[Array, "M N"]) -> Float[Array, "M N"]:
    """Lᵀ A without the zeros above L's diagonal, or without most of them."""

    def by_spans(lower, right):
        spans = spans_of(lower.shape[0])
        return [
            jnp.concatenate([lower[rows.start :, rows].T @ right[rows.start :] for rows in spans])
        ]

    return native.run("upper_times", by_spans, lower, right)[0]


def symmetric_product(left: Float[Array, "M N"], right: Float[Array, "M N"]) -> Float[Array, "M M"]:
    """A Bᵀ that is known to be symmetric: the upper half, or most of it, is a copy of the lower."""

    def by_spans(left, right):
        size = left.shape[0]
        spans = spans_of(size)
        if len(spans) == 1:
            return [left @ right.T]
        parts = [left[rows] @ right[: rows.stop].T for rows in spans]
        lower = jnp.concatenate([jnp.pad(p, [(0, 0), (0, size - p.shape[1])]) for p in parts])
        return [jnp.tril(lower) + jnp.tril(lower, -1).T]

    return native.run("symmetric_product", by_spans, left, right)[0]


def add_jitter(covariance: Float[Array, "M M"], jitter: float) -> Float[Array, "M M"]:
    """K + jitter·mean(diag K)·I: relative, so any scale of the kernel is safe.

    The smallest eigenvalue is then at least jitter·mean(diag K), far above float64 rounding,
    so the Cholesky factorisation of finite numbers cannot fail.
    """
    size = jnp.mean(diagonal(covariance))
    return covariance + jitter * size * jnp.eye(covariance.shape[0], dtype=covariance.dtype)
