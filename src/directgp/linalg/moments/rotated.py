"""The rotated form: F = QᵀL⁻¹K, one N·M² product, for prediction."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.linalg.moments.shared import Moments, batched, excess_covariance
from directgp.linalg.triangular import inverse_cholesky


class Rotated(NamedTuple):
    """QᵀL⁻¹ [P M M], the eigenvalues of C and Qᵀm, both [P M].

    With a diagonal C all latent functions share one factor [1 M M].
    """

    factor: Array
    excess: Array
    mean: Array


def rotate(covariance: Array, mean: Array, scale: Array) -> Rotated:
    """C_p = Q_p diag(d_p) Q_pᵀ, so that a batch needs a single product, accurate in float32.

    The eigenvectors take longer than a training step, so this form is for prediction.

    Args:
        covariance: K_uu.
        mean: m of the whitened posterior.
        scale: S of the whitened posterior, or standard deviations.
    """
    inverse_factor, excess = inverse_cholesky(covariance), excess_covariance(scale)
    if scale.ndim == 2:
        return Rotated(inverse_factor[None], excess, mean)
    values, vectors = jnp.linalg.eigh(excess)
    turned = jnp.einsum("pij,pi->pj", vectors, mean)
    return Rotated(batched(vectors.mT, inverse_factor[None]), values, turned)


def rotated_moments(rotated: Rotated, cross: Float[Array, "M N"]) -> Moments:
    """F = QᵀL⁻¹K, μ = (Qᵀm)ᵀF and Σ_m d∘F²: one N·M² product without large numbers.

    Args:
        rotated: from `rotate`.
        cross: K = k(Z, X).
    """
    if rotated.factor.shape[0] == 1:
        features = rotated.factor[0] @ cross
        return Moments(rotated.mean @ features, rotated.excess @ features**2)
    means, changes = [], []
    for factor, excess, mean in zip(*rotated, strict=True):
        features = factor @ cross
        means.append(mean @ features)
        changes.append(excess @ features**2)
    return Moments(jnp.stack(means), jnp.stack(changes))
