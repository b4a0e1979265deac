"""Triangular and symmetric matrices: Cholesky factors, triangular and symmetric products.

XLA does not skip zeros and solves triangular systems slowly, so products skip most of the half that
is zero or a copy, and L⁻¹ is computed recursively by halves. Machine code (`linalg.native`) skips
all of that half.
"""

import itertools

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from directgp.linalg import native
from directgp.parameters import diagonal

_SMALL_INVERSE = 64
_SMALL_PRODUCT = 150
_LEAST_TRIANGLE = 64
"""Below this size machine code that skips the zeros of a second triangle does not pay."""
_MOST_INVERTED = 130
_MOST_ELIMINATED = 160
"""Up to these sizes one thread computes L⁻¹, or L, faster than several threads by parts."""


def inverse_cholesky(matrix: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L⁻¹ with L Lᵀ = matrix; products with it are faster than triangular solves against [M N]."""
    if not native.in_use() or matrix.shape[0] <= _MOST_INVERTED:
        return native.run("inverse_cholesky", _by_lapack, matrix)[0]
    factor = _cholesky_by_halves(matrix)
    return native.run("lower_inverse", lambda factor: [_inverse_lower(factor)], factor)[0]


def _cholesky_by_halves(matrix: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L = [[A, 0], [C, D]], C = K₂₁A⁻ᵀ, D Dᵀ = K₂₂ − C Cᵀ, by machine code for several threads."""
    size = matrix.shape[0]
    if size <= _MOST_ELIMINATED:
        return native.run(
            "cholesky", lambda K: [jnp.linalg.cholesky(K, symmetrize_input=False)], matrix
        )[0]
    half = -(-size // 16) * 8
    first = _cholesky_by_halves(matrix[:half, :half])
    across = native.run(
        "lower_solve",
        lambda L, A: [solve_triangular(L, A, lower=True)],
        first,
        matrix[:half, half:],
    )[0].T
    second = _cholesky_by_halves(matrix[half:, half:] - symmetric_product(across, across))
    return _by_quarters(first, across, second)


def _by_lapack(matrix: Float[Array, "M M"]) -> list[Array]:
    return [_inverse_lower(jnp.linalg.cholesky(matrix, symmetrize_input=False))]


def _inverse_lower(factor: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L⁻¹ = [[A⁻¹, 0], [−D⁻¹ C A⁻¹, D⁻¹]], recursively, faster than triangular solves."""
    size = factor.shape[0]
    if size <= _SMALL_INVERSE:
        return solve_triangular(factor, jnp.eye(size, dtype=factor.dtype), lower=True)
    half = size // 2
    above, below = _inverse_lower(factor[:half, :half]), _inverse_lower(factor[half:, half:])
    return _by_quarters(above, -below @ (factor[half:, :half] @ above), below)


def _by_quarters(above: Array, corner: Array, below: Array) -> Array:
    """[[above, 0], [corner, below]]."""
    right = jnp.zeros((above.shape[0], below.shape[0]), above.dtype)
    return jnp.block([[above, right], [corner, below]])


def spans_of(size: int) -> list[slice]:
    """Slices of the rows, so that a product of each can skip the part that is zero or a copy."""
    pieces = 1 if size < _SMALL_PRODUCT else 4
    edges = [size * piece // pieces for piece in range(pieces + 1)]
    return [slice(*pair) for pair in itertools.pairwise(edges)]


def lower_times(lower: Float[Array, "M M"], right: Float[Array, "M N"]) -> Float[Array, "M N"]:
    """L A for a lower triangle L, skipping its zeros."""

    def by_spans(lower, right):
        spans = spans_of(lower.shape[0])
        return [jnp.concatenate([lower[rows, : rows.stop] @ right[: rows.stop] for rows in spans])]

    return native.run("lower_times", by_spans, lower, right)[0]


def upper_times(lower: Float[Array, "M M"], right: Float[Array, "M N"]) -> Float[Array, "M N"]:
    """Lᵀ A for a lower triangle L, skipping its zeros."""

    def by_spans(lower, right):
        spans = spans_of(lower.shape[0])
        return [
            jnp.concatenate([lower[rows.start :, rows].T @ right[rows.start :] for rows in spans])
        ]

    return native.run("upper_times", by_spans, lower, right)[0]


def symmetric_product(left: Float[Array, "M N"], right: Float[Array, "M N"]) -> Float[Array, "M M"]:
    """A Bᵀ, if it is known to be symmetric; the upper half is a copy of the lower."""

    def by_spans(left, right):
        if len(spans_of(left.shape[0])) == 1:
            return [left @ right.T]
        lower = lower_half_of_outer(left, right)
        return [lower + jnp.tril(lower, -1).T]

    return native.run("symmetric_product", by_spans, left, right)[0]


def lower_half_of_outer(
    left: Float[Array, "M N"], right: Float[Array, "M N"]
) -> Float[Array, "M M"]:
    """The lower triangle of A Bᵀ."""
    size = left.shape[0]
    parts = [left[rows] @ right[: rows.stop].T for rows in spans_of(size)]
    lower = jnp.concatenate([jnp.pad(p, [(0, 0), (0, size - p.shape[1])]) for p in parts])
    return jnp.tril(lower)


def _if_large(name: str, triangle: Array) -> str | None:
    """The name, or None for a small matrix."""
    return name if triangle.shape[0] >= _LEAST_TRIANGLE else None


def lower_times_lower(left: Float[Array, "M M"], right: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """The product of two lower triangles, which is lower triangular."""
    return native.run(
        _if_large("lower_times_lower", left),
        lambda left, right: [lower_times(left, right)],
        left,
        right,
    )[0]


def upper_times_lower(
    lower: Float[Array, "M M"], right: Float[Array, "M M"]
) -> Float[Array, "M M"]:
    """Lᵀ A for two lower triangles L and A."""
    return native.run(
        _if_large("upper_times_lower", lower),
        lambda lower, right: [upper_times(lower, right)],
        lower,
        right,
    )[0]


def times_lower(left: Float[Array, "M M"], lower: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """A L for any A and a lower triangle L."""
    return native.run(
        _if_large("full_times_lower", left), lambda left, lower: [left @ lower], left, lower
    )[0]


def square_of_lower(lower: Float[Array, "M M"]) -> Float[Array, "M M"]:
    """L Lᵀ for a lower triangle."""
    return native.run(
        _if_large("lower_times_upper", lower),
        lambda lower, upper: [lower_times(lower, upper)],
        lower,
        lower.T,
    )[0]


def lower_half_of_product(
    lower: Float[Array, "M M"], right: Float[Array, "M M"]
) -> Float[Array, "M M"]:
    """The lower triangle of L A, for a lower triangle L and any A."""
    return native.run(
        _if_large("lower_of_lower_times", lower),
        lambda lower, right: [jnp.tril(lower_times(lower, right))],
        lower,
        right,
    )[0]


def lower_congruence(
    lower: Float[Array, "M M"], middle: Float[Array, "M M"]
) -> Float[Array, "M M"]:
    """L A Lᵀ for a lower triangle L and a symmetric A."""
    # (L A)ᵀ = A Lᵀ
    return native.run(
        _if_large("symmetric_lower_times", lower),
        lambda lower, right: [lower_times(lower, right)],
        lower,
        lower_times(lower, middle).T,
    )[0]


def upper_congruence(
    lower: Float[Array, "M M"], middle: Float[Array, "M M"]
) -> Float[Array, "M M"]:
    """Lᵀ A L for a lower triangle L and a symmetric A."""
    return native.run(
        _if_large("symmetric_upper_times", lower),
        lambda lower, right: [upper_times(lower, right)],
        lower,
        times_lower(middle, lower),
    )[0]


def add_jitter(covariance: Float[Array, "M M"], jitter: float) -> Float[Array, "M M"]:
    """K + jitter·mean(diag K)·I, relative to the scale of the kernel.

    The smallest eigenvalue is then at least jitter·mean(diag K), far above float64 rounding, so the
    Cholesky factorisation of finite numbers cannot fail.

    Args:
        covariance: K.
        jitter: relative to the mean of its diagonal.
    """
    size = jnp.mean(diagonal(covariance))
    return covariance + jitter * size * jnp.eye(covariance.shape[0], dtype=covariance.dtype)
