"""Moments by `directgp.native`, where it serves: one latent function with a full covariance."""

from jaxtyping import Array, Float

import directgp.native as native
from directgp.moments.shared import Moments


def serves(matrix: Array, cross: Float[Array, "M N"]) -> bool:
    """One full matrix [1 M M] for all columns."""
    return matrix.ndim == 3 and matrix.shape[0] == 1 and native.serves(matrix, cross)


def forward(
    form: str, matrix: Array, mean: Array, cross: Float[Array, "M N"], inverse: Array | None = None
) -> tuple[Moments, Array, Array]:
    """μ and the change of the variance, X [1 M N] and the features A (K itself if projected)."""
    M, N = cross.shape
    before = () if inverse is None else (inverse,)
    shapes = [(M, N)] * (1 + len(before)) + [(N,), (N,)]
    arguments = *before, matrix[0], mean[0], cross
    *features, product, means, changes = native.call(f"forward_{form}", shapes, *arguments)
    return Moments(means[None], changes[None]), product[None], (features or [cross])[0]


def backward(
    form: str,
    features: Float[Array, "M N"],
    product: Array,
    weights: Array,
    cotangent: Moments,
    inverse: Array | None = None,
) -> tuple[Array, Array, Array]:
    """(A∘v̄)Aᵀ [1 M M], A μ̄ [1 M] and the cotangent of K [M N]."""
    M, N = features.shape
    before = () if inverse is None else (inverse,)
    bars = cotangent.mean[0], cotangent.variance_change[0]
    arguments = *before, features, product[0], weights[0], *bars
    gram, sums, cross_bar = native.call(f"backward_{form}", [(M, M), (M,), (M, N)], *arguments)
    return gram[None], sums[None], cross_bar


def quadratic(lower: Array, mean: Array, cross: Float[Array, "M N"]) -> Moments:
    """μ = meanᵀK and Σ_m K∘(lower K) for a lower triangle [1 M M]."""
    N = cross.shape[1]
    means, changes = native.call("quadratic", [(N,), (N,)], lower[0], mean[0], cross)
    return Moments(means[None], changes[None])
