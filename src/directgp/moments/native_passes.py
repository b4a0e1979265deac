"""Moments by `directgp.native`, where it serves: one latent function with a full covariance."""

import jax.numpy as jnp
from jaxtyping import Array, Float

import directgp.native as native
from directgp.moments.shared import Moments


def serves(matrix: Array, cross: Float[Array, "M N"]) -> bool:
    """One full matrix [1 M M] for all columns."""
    return matrix.ndim == 3 and matrix.shape[0] == 1 and native.serves(matrix, cross)


def forward(
    form: str,
    matrix: Float[Array, "1 M M"],
    mean: Float[Array, "1 M"],
    cross: Float[Array, "M N"],
    inverse: Float[Array, "M M"] | None = None,
) -> tuple[Moments, Float[Array, "1 M N"], Float[Array, "M N"]]:
    """μ and the change of the variance, X and the features A (K itself if projected)."""

    def in_jax(*arguments):
        *inverse, matrix, mean, cross = arguments
        features = [lower @ cross for lower in inverse]
        A = (features or [cross])[0]
        X, left = matrix @ A, A if form == "whitened" else cross
        return [*features, X, mean @ A, jnp.sum(left * X, axis=0)]

    before = () if inverse is None else (inverse,)
    arguments = *before, matrix[0], mean[0], cross
    *features, product, means, changes = native.call(f"forward_{form}", in_jax, *arguments)
    return Moments(means[None], changes[None]), product[None], (features or [cross])[0]


def backward(
    form: str,
    features: Float[Array, "M N"],
    product: Float[Array, "1 M N"],
    weights: Float[Array, "1 M"],
    cotangent: Moments,
    inverse: Float[Array, "M M"] | None = None,
) -> tuple[Float[Array, "1 M M"], Float[Array, "1 M"], Float[Array, "M N"]]:
    """(A∘v̄)Aᵀ, A μ̄ and the cotangent of K."""

    def in_jax(*arguments):
        *inverse, A, X, weights, mean_bar, change_bar = arguments
        cross_bar = 2.0 * X * change_bar + weights[:, None] * mean_bar
        for lower in inverse:
            cross_bar = lower.T @ cross_bar
        return [(A * change_bar) @ A.T, A @ mean_bar, cross_bar]

    before = () if inverse is None else (inverse,)
    bars = cotangent.mean[0], cotangent.variance_change[0]
    arguments = *before, features, product[0], weights[0], *bars
    gram, sums, cross_bar = native.call(f"backward_{form}", in_jax, *arguments)
    return gram[None], sums[None], cross_bar


def quadratic(
    lower: Float[Array, "1 M M"], mean: Float[Array, "1 M"], cross: Float[Array, "M N"]
) -> Moments:
    """μ = meanᵀK and Σ_m K∘(lower K) for a lower triangle."""

    def in_jax(lower, mean, cross):
        return [mean @ cross, jnp.sum(cross * (lower @ cross), axis=0)]

    means, changes = native.call("quadratic", in_jax, lower[0], mean[0], cross)
    return Moments(means[None], changes[None])
