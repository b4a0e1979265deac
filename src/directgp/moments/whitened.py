"""The whitened form: A = L⁻¹K, four N·M² products a step without large numbers."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.moments import native_passes
from directgp.moments.shared import (
    Moments,
    apply_excess,
    column_sums,
    excess_covariance,
    factor_cotangents,
    features_cotangent,
    kept,
    scale_cotangents,
    weighted_gram,
    weighted_rows,
)
from directgp.parameters import diagonal
from directgp.triangular import inverse_cholesky, lower_times, symmetric_product, upper_times


class Whitened(NamedTuple):
    """What the whitened form needs: L⁻¹ [M M], C [P M M] (or its diagonal [P M]), m [P M]."""

    inverse_factor: Array
    excess: Array
    mean: Array


@jax.custom_vjp
def whiten(covariance: Array, mean: Array, scale: Array) -> Whitened:
    """Factor K_uu for `whitened_moments`, the only legitimate consumer of the result.

    What `whitened_moments` sends back for C and m determines the cotangent of L⁻¹ too (see
    the docstring of `moments`). With a diagonal C, G does not fit into the cotangent of C, so
    Σ_p 2 C_p G_p travels in the otherwise unused place of L⁻¹; with a full C that is zero.
    """
    return Whitened(inverse_cholesky(covariance), excess_covariance(scale), mean)


def _whiten_forward(covariance, mean, scale):
    result = whiten(covariance, mean, scale)
    return result, (result, scale)


def whiten_backward(residuals, cotangent):
    """Cotangents of K_uu, m and S; those of `lift` too."""
    result, scale = residuals
    if scale.ndim == 2:
        scale_bar, inner = 2.0 * scale * cotangent.excess, cotangent.inverse_factor
    else:
        scale_bar, inner = scale_cotangents(scale, result.excess, cotangent.excess)
    covariance_bar = factor_cotangents(result.inverse_factor, result.mean, inner, cotangent.mean)
    return covariance_bar, cotangent.mean, scale_bar


whiten.defvjp(_whiten_forward, whiten_backward)


@jax.custom_vjp
def whitened_moments(whitened: Whitened, cross: Float[Array, "M N"]) -> Moments:
    """A = L⁻¹K, μ = mᵀA and Σ_m A∘(CA): two N·M² products forward, two backward.

    With a diagonal C it is one forward and two backward, for any number of latent functions.
    """
    return _whitened_forward(whitened, cross)[0]


def _whitened_forward(whitened, cross):
    if native_passes.serves(whitened.excess, cross):
        result, product, features = native_passes.forward(
            "whitened", whitened.excess, whitened.mean, cross, whitened.inverse_factor
        )
        return result, (product, whitened, features)
    features = lower_times(whitened.inverse_factor, cross)
    if whitened.excess.ndim == 2:
        change = whitened.excess @ features**2
        return Moments(whitened.mean @ features, change), (None, whitened, features)
    product = apply_excess(whitened.excess, features)
    result = Moments(whitened.mean @ features, column_sums(product, features))
    return result, (product, whitened, features)


def _whitened_backward(residuals, cotangent):
    product, whitened, features = residuals
    if native_passes.serves(whitened.excess, features):
        gram, sums, cross_bar = native_passes.backward(
            "whitened", features, product, whitened.mean, cotangent, whitened.inverse_factor
        )
        return full_cotangent(whitened, gram, sums), cross_bar
    cotangent = kept(cotangent)
    # By agreement with `whiten`: the place of L⁻¹ carries Σ_p 2 C_p G_p when C is diagonal.
    if whitened.excess.ndim == 2:
        excess_bar, mean_bar, features_bar, inner = _diagonal_cotangents(
            whitened.excess, whitened.mean, features, cotangent
        )
        whitened_bar = Whitened(inner, excess_bar, mean_bar)
    else:
        whitened_bar = whitened_cotangent(whitened, features, cotangent)
        features_bar = features_cotangent(product, whitened.mean, cotangent)
    return whitened_bar, upper_times(whitened.inverse_factor, features_bar)


def whitened_cotangent(whitened: Whitened, features: Array, cotangent: Moments) -> Whitened:
    """What `whiten` and `lift` need to know, for a full C."""
    return full_cotangent(
        whitened,
        weighted_gram(features, cotangent.variance_change),
        weighted_rows(features, cotangent.mean),
    )


def full_cotangent(whitened: Whitened, gram: Array, sums: Array) -> Whitened:
    """G and m̄, and nothing for L⁻¹, by agreement with `whiten`."""
    return Whitened(jnp.zeros_like(whitened.inverse_factor), gram, sums)


def _diagonal_cotangents(excess, weights, features, cotangent: Moments):
    """Cotangents of C, m and A for diagonal C, and Σ_p 2 C_p G_p: one N·M² product for all p."""
    mean_bar, change_bar = cotangent
    if excess.shape[0] == 1:
        return _diagonal_cotangents_of_one(excess[0], weights[0], features, mean_bar, change_bar)
    weighted = 2.0 * features * (excess.T @ change_bar)
    features_bar = weighted + weights.T @ mean_bar
    excess_bar = weighted_rows(features**2, change_bar)
    weights_bar = weighted_rows(features, mean_bar)
    return excess_bar, weights_bar, features_bar, weighted @ features.T


def _diagonal_cotangents_of_one(excess, weights, features, mean_bar, change_bar):
    """The same for one latent function: outer products fuse, and C̄ is the diagonal of G."""
    scaled = features * change_bar
    features_bar = 2.0 * excess[:, None] * scaled + weights[:, None] * mean_bar
    gram = symmetric_product(scaled, features)
    weights_bar = weighted_rows(features, mean_bar)
    return diagonal(gram)[None], weights_bar, features_bar, 2.0 * excess[:, None] * gram


whitened_moments.defvjp(_whitened_forward, _whitened_backward)
