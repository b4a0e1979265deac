"""The few M×M identities behind sparse Gaussian processes, with hand-written derivatives.

Ways to get the moments of q(f) at a batch from K = k(Z, X) and a whitened posterior
q(v) = N(m, S Sᵀ), u = L v, L Lᵀ = K_uu (`math.md` section 3, C = S Sᵀ − I):

* **projected**: B = L⁻ᵀ C L⁻¹ and α = L⁻ᵀ m once, then μ = αᵀK and v = k(x,x) + Σ K∘(BK):
  two N·M² products a step, forward and backward together. Entries of B reach 1/jitter, so
  this form is for float64.
* **whitened**: A = L⁻¹K, then μ = mᵀA and v = k(x,x) + Σ A∘(CA): four N·M² products, but no
  large numbers, so those products may be done in float32.
* **lifted**: A = L⁻¹K and P = L⁻ᵀC A, then μ = mᵀA and v = k(x,x) + Σ K∘P: three N·M² products,
  because P serves the backward pass too, K̄ = 2 P∘v̄ + L⁻ᵀm μ̄ᵀ. The numbers are large as the root
  of B's; in float32 that is enough where there is some noise, not where there is next to none.

* **rotated**: F = QᵀL⁻¹K with C = Q diag(d) Qᵀ, μ = (Qᵀm)ᵀF and v = k(x,x) + Σ d∘F²: one product,
  no large numbers, for fast prediction (no derivative of its own).

All but the last share one backward pass through the Cholesky factor: with G the cotangent of C and
m̄ the cotangent of m, X = 2 C G + m m̄ᵀ and K̄_uu = −sym(L⁻ᵀ Φ(X) L⁻¹), where Φ keeps the lower
triangle with half the diagonal. P latent functions share Z and K (leading axis P).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.parameters import diagonal
from directgp.triangular import (
    inverse_cholesky,
    lower_times,
    symmetric_product,
    upper_times,
)


def _half_lower(matrix: Array) -> Array:
    """Φ: the lower triangle with half the diagonal."""
    return jnp.tril(matrix) - 0.5 * matrix * jnp.eye(matrix.shape[0], dtype=matrix.dtype)


def _excess_covariance(scale: Array) -> Array:
    """C_p = S_p S_pᵀ − I for triangular S [P M M]; s_p² − 1, its diagonal, for s [P M]."""
    if scale.ndim == 2:
        return scale**2 - 1.0
    return _batched(scale, scale.mT) - jnp.eye(scale.shape[-1], dtype=scale.dtype)


def _batched(left: Array, right: Array) -> Array:
    """Products of stacks; one plain product when the stack has a single member."""
    if left.shape[0] == 1 and right.shape[0] == 1:
        return (left[0] @ right[0])[None]
    return left @ right


def _lift(inverse_factor: Array, matrices: Array) -> Array:
    """L⁻ᵀ X_p for every latent function p: [P M M]."""
    if matrices.shape[0] == 1:
        return upper_times(inverse_factor, matrices[0])[None]
    return inverse_factor.T @ matrices


def _apply_excess(excess: Array, features: Array) -> Array:
    """C_p A for every latent function p as one product: [P M N]."""
    if excess.ndim == 2:
        return excess[:, :, None] * features[None]
    if excess.shape[0] == 1:
        return (excess[0] @ features)[None]
    stacked = excess.reshape(-1, excess.shape[-1]) @ features
    return stacked.reshape(excess.shape[0], excess.shape[1], features.shape[1])


def _weighted_gram(features: Array, weights: Array) -> Array:
    """(A ∘ w_p) Aᵀ for every p as one product: [P M M]."""
    num_latents, num_features = weights.shape[0], features.shape[0]
    if num_latents == 1:
        return symmetric_product(features * weights, features)[None]
    stacked = (features[None] * weights[:, None]).reshape(-1, features.shape[1])
    return (stacked @ features.T).reshape(num_latents, num_features, num_features)


def _weighted_rows(features: Array, weights: Array) -> Array:
    """w_p Aᵀ for every p: [P M].

    With A on the left: a thin matrix times Aᵀ makes XLA copy Aᵀ, which takes several times longer.
    """
    return (features @ weights.T).T


# ---------------------------------------------------------------- the factorisation


class Whitened(NamedTuple):
    """What the whitened form needs: L⁻¹ [M M], C [P M M] (or its diagonal [P M]), m [P M]."""

    inverse_factor: Array
    excess: Array
    mean: Array


class Lifted(NamedTuple):
    """What the lifted form needs beside L⁻¹, C and m: L⁻ᵀC [P M M] and L⁻ᵀm [P M]."""

    whitened: Whitened
    matrix: Array
    weights: Array


class Projected(NamedTuple):
    """What the projected form needs: B [P M M] and α [P M]."""

    matrix: Array
    weights: Array


def _factor_cotangents(inverse_factor, mean, inner, mean_bar):
    """Cotangent of K_uu from Σ_p 2 C_p G_p and m̄ [P M] (see the module docstring)."""
    inner = (inner + mean.T @ mean_bar).astype(inverse_factor.dtype)
    half = upper_times(inverse_factor, lower_times(_half_lower(inner), inverse_factor))
    return -0.5 * (half + half.T)


def _scale_cotangents(scale, excess, gram):
    """Cotangent of S and Σ_p 2 C_p G_p, both from the full G = C̄ [P M M]."""
    if scale.ndim == 2:
        inner = 2.0 * jnp.sum(excess[:, :, None] * gram, axis=0)
        return 2.0 * scale * diagonal(gram), inner
    inner = 2.0 * jnp.sum(_batched(excess, gram), axis=0)
    return jnp.tril(2.0 * _batched(gram, scale)), inner


@jax.custom_vjp
def whiten(covariance: Array, mean: Array, scale: Array) -> Whitened:
    """Factor K_uu for `whitened_moments`, the only legitimate consumer of the result.

    What `whitened_moments` sends back for C and m determines the cotangent of L⁻¹ too (see
    the module docstring). With a diagonal C, G does not fit into the cotangent of C, so
    Σ_p 2 C_p G_p travels in the otherwise unused place of L⁻¹; with a full C that is zero.
    """
    return Whitened(inverse_cholesky(covariance), _excess_covariance(scale), mean)


def _whiten_forward(covariance, mean, scale):
    result = whiten(covariance, mean, scale)
    return result, (result, scale)


def _whiten_backward(residuals, cotangent):
    result, scale = residuals
    if scale.ndim == 2:
        scale_bar, inner = 2.0 * scale * cotangent.excess, cotangent.inverse_factor
    else:
        scale_bar, inner = _scale_cotangents(scale, result.excess, cotangent.excess)
    covariance_bar = _factor_cotangents(result.inverse_factor, result.mean, inner, cotangent.mean)
    return covariance_bar, cotangent.mean, scale_bar


whiten.defvjp(_whiten_forward, _whiten_backward)


@jax.custom_vjp
def lift(covariance: Array, mean: Array, scale: Array) -> Lifted:
    """Factor K_uu for `lifted_moments`, the only legitimate consumer of the result.

    It sends back for C and m what `whitened_moments` does, and nothing for the other two parts.
    """
    if scale.ndim == 2:
        raise ValueError("the lifted form is for a full covariance; use form='whitened'")
    whitened = whiten(covariance, mean, scale)
    # No more precise than C is: with C in float32, these products too.
    root = whitened.inverse_factor.astype(whitened.excess.dtype)
    return Lifted(whitened, _lift(root, whitened.excess), mean @ root)


def _lift_forward(covariance, mean, scale):
    result = lift(covariance, mean, scale)
    return result, (result.whitened, scale)


def _lift_backward(residuals, cotangent):
    return _whiten_backward(residuals, cotangent.whitened)


lift.defvjp(_lift_forward, _lift_backward)


@jax.custom_vjp
def project(covariance: Array, mean: Array, scale: Array) -> Projected:
    """B_p = L⁻ᵀ C_p L⁻¹ and α_p = L⁻ᵀ m_p for every latent function p."""
    return _project_forward(covariance, mean, scale)[0]


def _project_forward(covariance, mean, scale):
    inverse_factor, excess = inverse_cholesky(covariance), _excess_covariance(scale)
    matrix = _lift(inverse_factor, _apply_excess(excess, inverse_factor))
    result = Projected(matrix, mean @ inverse_factor)
    return result, (inverse_factor, mean, scale, excess)


def _project_backward(residuals, cotangent):
    inverse_factor, mean, scale, excess = residuals
    matrix_bar = cotangent.matrix
    gram = _batched(_batched(inverse_factor[None], matrix_bar), inverse_factor.T[None])
    mean_bar = cotangent.weights @ inverse_factor.T
    scale_bar, inner = _scale_cotangents(scale, excess, gram)
    return _factor_cotangents(inverse_factor, mean, inner, mean_bar), mean_bar, scale_bar


project.defvjp(_project_forward, _project_backward)


class Rotated(NamedTuple):
    """What the rotated form needs: QᵀL⁻¹ [P M M], the eigenvalues of C and Qᵀm, both [P M].

    With a diagonal C all latent functions share one factor [1 M M].
    """

    factor: Array
    excess: Array
    mean: Array


def rotate(covariance: Array, mean: Array, scale: Array) -> Rotated:
    """C_p = Q_p diag(d_p) Q_pᵀ, so that a batch needs a single product, safe in float32.

    For prediction: the eigenvectors cost more than a training step, but only once.
    """
    inverse_factor, excess = inverse_cholesky(covariance), _excess_covariance(scale)
    if scale.ndim == 2:
        return Rotated(inverse_factor[None], excess, mean)
    values, vectors = jnp.linalg.eigh(excess)
    turned = jnp.einsum("pij,pi->pj", vectors, mean)
    return Rotated(_batched(vectors.mT, inverse_factor[None]), values, turned)


# ---------------------------------------------------------------- the moments of a batch


class Moments(NamedTuple):
    """μ [P N] and what must be added to k(x, x) to give the variance, [P N]."""

    mean: Array
    variance_change: Array


def _column_sums(product: Array, features: Array) -> Array:
    """Σ_m A∘X_p for every latent function p: [P N]."""
    if product.shape[0] == 1:
        return jnp.sum(product[0] * features, axis=0)[None]
    return jnp.sum(product * features[None], axis=1)


def _kept(cotangent: Moments) -> Moments:
    """The same numbers, made once.

    XLA takes what makes N numbers cheaply into loops over M·N of them and makes each M times, by
    divisions in float64; a product, even with the identity, it leaves alone.
    """
    both = jnp.concatenate(cotangent)
    same = jnp.eye(both.shape[0], dtype=both.dtype)
    return Moments(*jnp.split(jnp.matmul(same, both, precision="highest"), 2))


def _features_bar(product: Array, weights: Array, cotangent: Moments) -> Array:
    """2 Σ_p X_p∘v̄_p + Σ_p α_p μ̄_pᵀ, with X_p the product of the forward pass: [M N]."""
    mean_bar, change_bar = cotangent
    if weights.shape[0] == 1:
        return 2.0 * product[0] * change_bar + weights.T * mean_bar
    return 2.0 * jnp.sum(product * change_bar[:, None], axis=0) + weights.T @ mean_bar


@jax.custom_vjp
def projected_moments(projected: Projected, cross: Float[Array, "M N"]) -> Moments:
    """μ = αᵀK and Σ_m K∘(BK): one N·M² product forward, one backward.

    Without a derivative to prepare, twice the lower half of B gives the same sum for less.
    """
    halves = 2.0 * jax.vmap(_half_lower)(projected.matrix)
    changes = [_column_sums(lower_times(half, cross)[None], cross) for half in halves]
    return Moments(projected.weights @ cross, jnp.concatenate(changes))


def _projected_forward(projected, cross):
    product = _apply_excess(projected.matrix, cross)
    result = Moments(projected.weights @ cross, _column_sums(product, cross))
    return result, (product, projected.weights, cross)


def _projected_backward(residuals, cotangent):
    product, weights, cross = residuals
    cotangent = _kept(cotangent)
    matrix_bar = _weighted_gram(cross, cotangent.variance_change)
    weights_bar = _weighted_rows(cross, cotangent.mean)
    return Projected(matrix_bar, weights_bar), _features_bar(product, weights, cotangent)


projected_moments.defvjp(_projected_forward, _projected_backward)


@jax.custom_vjp
def whitened_moments(whitened: Whitened, cross: Float[Array, "M N"]) -> Moments:
    """A = L⁻¹K, μ = mᵀA and Σ_m A∘(CA): two N·M² products forward, two backward.

    With a diagonal C it is one forward and two backward, for any number of latent functions.
    """
    return _whitened_forward(whitened, cross)[0]


def _whitened_forward(whitened, cross):
    features = lower_times(whitened.inverse_factor, cross)
    if whitened.excess.ndim == 2:
        change = whitened.excess @ features**2
        return Moments(whitened.mean @ features, change), (None, whitened, features)
    product = _apply_excess(whitened.excess, features)
    result = Moments(whitened.mean @ features, _column_sums(product, features))
    return result, (product, whitened, features)


def _whitened_backward(residuals, cotangent):
    product, whitened, features = residuals
    cotangent = _kept(cotangent)
    # By agreement with `whiten`: the place of L⁻¹ carries Σ_p 2 C_p G_p when C is diagonal.
    if whitened.excess.ndim == 2:
        excess_bar, mean_bar, features_bar, inner = _diagonal_cotangents(
            whitened.excess, whitened.mean, features, cotangent
        )
        whitened_bar = Whitened(inner, excess_bar, mean_bar)
    else:
        whitened_bar = _whitened_bar(whitened, features, cotangent)
        features_bar = _features_bar(product, whitened.mean, cotangent)
    return whitened_bar, upper_times(whitened.inverse_factor, features_bar)


def _whitened_bar(whitened: Whitened, features: Array, cotangent: Moments) -> Whitened:
    """What `whiten` and `lift` need to know, for a full C."""
    return Whitened(
        jnp.zeros_like(whitened.inverse_factor),
        _weighted_gram(features, cotangent.variance_change),
        _weighted_rows(features, cotangent.mean),
    )


def _diagonal_cotangents(excess, weights, features, cotangent: Moments):
    """Cotangents of C, m and A for diagonal C, and Σ_p 2 C_p G_p: one N·M² product for all p."""
    mean_bar, change_bar = cotangent
    if excess.shape[0] == 1:
        return _diagonal_cotangents_of_one(excess[0], weights[0], features, mean_bar, change_bar)
    weighted = 2.0 * features * (excess.T @ change_bar)
    features_bar = weighted + weights.T @ mean_bar
    excess_bar = _weighted_rows(features**2, change_bar)
    weights_bar = _weighted_rows(features, mean_bar)
    return excess_bar, weights_bar, features_bar, weighted @ features.T


def _diagonal_cotangents_of_one(excess, weights, features, mean_bar, change_bar):
    """The same for one latent function: outer products fuse, and C̄ is the diagonal of G."""
    scaled = features * change_bar
    features_bar = 2.0 * excess[:, None] * scaled + weights[:, None] * mean_bar
    gram = symmetric_product(scaled, features)
    weights_bar = _weighted_rows(features, mean_bar)
    return diagonal(gram)[None], weights_bar, features_bar, 2.0 * excess[:, None] * gram


whitened_moments.defvjp(_whitened_forward, _whitened_backward)


@jax.custom_vjp
def lifted_moments(lifted: Lifted, cross: Float[Array, "M N"]) -> Moments:
    """A = L⁻¹K, μ = mᵀA and Σ_m K∘(L⁻ᵀC A): two N·M² products forward, one backward."""
    return _lifted_forward(lifted, cross)[0]


def _lifted_forward(lifted, cross):
    features = lower_times(lifted.whitened.inverse_factor, cross)
    product = _apply_excess(lifted.matrix, features)
    result = Moments(lifted.whitened.mean @ features, _column_sums(product, cross))
    return result, (product, lifted, features)


def _lifted_backward(residuals, cotangent):
    product, lifted, features = residuals
    cotangent = _kept(cotangent)
    # By agreement with `lift`: the cotangents of L⁻ᵀC and L⁻ᵀm follow from those of C and m.
    lifted_bar = Lifted(
        _whitened_bar(lifted.whitened, features, cotangent),
        jnp.zeros_like(lifted.matrix),
        jnp.zeros_like(lifted.weights),
    )
    return lifted_bar, _features_bar(product, lifted.weights, cotangent)


lifted_moments.defvjp(_lifted_forward, _lifted_backward)


def rotated_moments(rotated: Rotated, cross: Float[Array, "M N"]) -> Moments:
    """F = QᵀL⁻¹K, μ = (Qᵀm)ᵀF and Σ_m d∘F²: one N·M² product, no large numbers."""
    if rotated.factor.shape[0] == 1:
        features = rotated.factor[0] @ cross
        return Moments(rotated.mean @ features, rotated.excess @ features**2)
    means, changes = [], []
    for factor, excess, mean in zip(*rotated, strict=True):
        features = factor @ cross
        means.append(mean @ features)
        changes.append(excess @ features**2)
    return Moments(jnp.stack(means), jnp.stack(changes))


MOMENTS = {
    "projected": (project, projected_moments),
    "whitened": (whiten, whitened_moments),
    "lifted": (lift, lifted_moments),
    "rotated": (rotate, rotated_moments),
}
"""Every form: how to factor K_uu once, and how to get the moments of a batch from that."""
