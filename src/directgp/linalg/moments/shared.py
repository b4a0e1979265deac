"""Functions shared by the forms of the moments: products over latent functions, cotangents.

A are the features [M N], C_p = S_p S_pᵀ − I, and a bar denotes a cotangent; see `moments`.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from directgp.linalg.triangular import (
    lower_half_of_product,
    lower_times_lower,
    square_of_lower,
    symmetric_product,
    upper_times,
    upper_times_lower,
)
from directgp.parameters import diagonal


class Moments(NamedTuple):
    """μ [P N], and the variance minus k(x, x) [P N]."""

    mean: Array
    variance_change: Array


def half_lower(matrix: Array) -> Array:
    """Φ: the lower triangle with half the diagonal."""
    return jnp.tril(matrix) - 0.5 * matrix * jnp.eye(matrix.shape[0], dtype=matrix.dtype)


def excess_covariance(scale: Array) -> Array:
    """C_p = S_p S_pᵀ − I for triangular S [P M M]; s_p² − 1, its diagonal, for s [P M]."""
    if scale.ndim == 2:
        return scale**2 - 1.0
    square = jnp.stack([square_of_lower(own) for own in scale])
    return square - jnp.eye(scale.shape[-1], dtype=scale.dtype)


def batched(left: Array, right: Array) -> Array:
    """The products of two stacks of matrices; one plain product for stacks of length 1."""
    if left.shape[0] == 1 and right.shape[0] == 1:
        return (left[0] @ right[0])[None]
    return left @ right


def lift_each(inverse_factor: Array, matrices: Array) -> Array:
    """L⁻ᵀ X_p for every latent function p: [P M M]."""
    if matrices.shape[0] == 1:
        return upper_times(inverse_factor, matrices[0])[None]
    return inverse_factor.T @ matrices


def apply_excess(excess: Array, features: Array) -> Array:
    """C_p A for every latent function p as one product: [P M N]."""
    if excess.ndim == 2:
        return excess[:, :, None] * features[None]
    if excess.shape[0] == 1:
        return (excess[0] @ features)[None]
    stacked = excess.reshape(-1, excess.shape[-1]) @ features
    return stacked.reshape(excess.shape[0], excess.shape[1], features.shape[1])


def weighted_gram(features: Array, weights: Array) -> Array:
    """(A ∘ w_p) Aᵀ for every p as one product: [P M M]."""
    num_latents, num_features = weights.shape[0], features.shape[0]
    if num_latents == 1:
        return symmetric_product(features * weights, features)[None]
    stacked = (features[None] * weights[:, None]).reshape(-1, features.shape[1])
    return (stacked @ features.T).reshape(num_latents, num_features, num_features)


def weighted_rows(features: Array, weights: Array) -> Array:
    """w_p Aᵀ for every p: [P M].

    A is on the left, because XLA copies Aᵀ for a thin matrix times Aᵀ, which is several times
    slower.
    """
    return (features @ weights.T).T


def column_sums(product: Array, features: Array) -> Array:
    """Σ_m A∘X_p for every latent function p: [P N]."""
    if product.shape[0] == 1:
        return jnp.sum(product[0] * features, axis=0)[None]
    return jnp.sum(product * features[None], axis=1)


def kept(cotangent: Moments) -> Moments:
    """The same cotangent, computed once.

    XLA fuses the cheap computation of these N numbers into loops over M·N numbers and repeats it M
    times, with divisions in float64. It does not fuse a matrix product, even with the identity.
    """
    both = jnp.stack(cotangent)
    same = jnp.eye(2, dtype=both.dtype)
    made = jnp.matmul(same, both.reshape(2, -1), precision="highest")
    return Moments(*made.reshape(both.shape))


def features_cotangent(product: Array, weights: Array, cotangent: Moments) -> Array:
    """2 Σ_p X_p∘v̄_p + Σ_p α_p μ̄_pᵀ, with X_p the product of the forward pass: [M N]."""
    mean_bar, change_bar = cotangent
    if weights.shape[0] == 1:
        return 2.0 * product[0] * change_bar + weights.T * mean_bar
    return 2.0 * jnp.sum(product * change_bar[:, None], axis=0) + weights.T @ mean_bar


def batch_cotangents(features, product, weights, mean_bar, change_bar):
    """(A∘v̄)Aᵀ [P M M], A μ̄ [P M] and the cotangent of the features.

    Args:
        features: A.
        product: X_p = C_p A (or its equivalent) of the forward pass.
        weights: α_p or m_p.
        mean_bar: μ̄.
        change_bar: v̄.
    """
    cotangent = kept(Moments(mean_bar, change_bar))
    gram = weighted_gram(features, cotangent.variance_change)
    sums = weighted_rows(features, cotangent.mean)
    return gram, sums, features_cotangent(product, weights, cotangent)


def factor_cotangents(inverse_factor, mean, inner, mean_bar):
    """Cotangent of K_uu from the lower half of Σ_p 2 C_p G_p and m̄ [P M] (see `moments`).

    K_uu is symmetric, so only the symmetric part of its cotangent matters, and −L⁻ᵀ Φ(X) L⁻¹ is not
    symmetrised.

    Args:
        inverse_factor: L⁻¹.
        mean: m [P M].
        inner: the lower half of Σ_p 2 C_p G_p.
        mean_bar: m̄ [P M].
    """
    # For one latent function by broadcasting: XLA would compute it by a slow matrix product.
    outer = mean.T * mean_bar if len(mean) == 1 else mean.T @ mean_bar
    inner = (inner + outer).astype(inverse_factor.dtype)
    half = lower_times_lower(half_lower(inner), inverse_factor)
    return -upper_times_lower(inverse_factor, half)


def scale_cotangents(scale, excess, gram):
    """Cotangent of S and the lower half of Σ_p 2 C_p G_p.

    Args:
        scale: S [P M M], or standard deviations [P M].
        excess: C.
        gram: G = C̄ [P M M], both halves.
    """
    if scale.ndim == 2:
        inner = 2.0 * jnp.sum(excess[:, :, None] * gram, axis=0)
        return 2.0 * scale * diagonal(gram), inner
    # C G = S (Sᵀ G) − G, and G S = (Sᵀ G)ᵀ because G is symmetric.
    products = [upper_times(own, bar) for own, bar in zip(scale, gram, strict=True)]
    inner = [
        2.0 * (lower_half_of_product(own, product) - bar)
        for own, product, bar in zip(scale, products, gram, strict=True)
    ]
    scale_bar = jnp.stack([jnp.tril(2.0 * product.T) for product in products])
    return scale_bar, sum(inner[1:], inner[0])
