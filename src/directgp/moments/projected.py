"""The projected form: B = L⁻ᵀ C L⁻¹ once, then two N·M² products a step, for float64."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.moments import native_passes
from directgp.moments.shared import (
    Moments,
    apply_excess,
    batched,
    column_sums,
    excess_covariance,
    factor_cotangents,
    features_cotangent,
    half_lower,
    kept,
    lift_each,
    scale_cotangents,
    weighted_gram,
    weighted_rows,
)
from directgp.triangular import inverse_cholesky, lower_times


class Projected(NamedTuple):
    """What the projected form needs: B [P M M] and α [P M]."""

    matrix: Array
    weights: Array


@jax.custom_vjp
def project(covariance: Array, mean: Array, scale: Array) -> Projected:
    """B_p = L⁻ᵀ C_p L⁻¹ and α_p = L⁻ᵀ m_p for every latent function p."""
    return _project_forward(covariance, mean, scale)[0]


def _project_forward(covariance, mean, scale):
    inverse_factor, excess = inverse_cholesky(covariance), excess_covariance(scale)
    matrix = lift_each(inverse_factor, apply_excess(excess, inverse_factor))
    result = Projected(matrix, mean @ inverse_factor)
    return result, (inverse_factor, mean, scale, excess)


def _project_backward(residuals, cotangent):
    inverse_factor, mean, scale, excess = residuals
    matrix_bar = cotangent.matrix
    gram = batched(batched(inverse_factor[None], matrix_bar), inverse_factor.T[None])
    mean_bar = cotangent.weights @ inverse_factor.T
    scale_bar, inner = scale_cotangents(scale, excess, gram)
    return factor_cotangents(inverse_factor, mean, inner, mean_bar), mean_bar, scale_bar


project.defvjp(_project_forward, _project_backward)


@jax.custom_vjp
def projected_moments(projected: Projected, cross: Float[Array, "M N"]) -> Moments:
    """μ = αᵀK and Σ_m K∘(BK): one N·M² product forward, one backward.

    Without a derivative to prepare, twice the lower half of B gives the same sum for less.
    """
    halves = 2.0 * jax.vmap(half_lower)(projected.matrix)
    if native_passes.serves(halves, cross):
        return native_passes.quadratic(halves, projected.weights, cross)
    changes = [column_sums(lower_times(half, cross)[None], cross) for half in halves]
    return Moments(projected.weights @ cross, jnp.concatenate(changes))


def _projected_forward(projected, cross):
    if native_passes.serves(projected.matrix, cross):
        result, product, _ = native_passes.forward(
            "projected", projected.matrix, projected.weights, cross
        )
        return result, (product, projected.weights, cross)
    product = apply_excess(projected.matrix, cross)
    result = Moments(projected.weights @ cross, column_sums(product, cross))
    return result, (product, projected.weights, cross)


def _projected_backward(residuals, cotangent):
    product, weights, cross = residuals
    if native_passes.serves(product, cross):
        matrix_bar, weights_bar, cross_bar = native_passes.backward(
            "projected", cross, product, weights, cotangent
        )
        return Projected(matrix_bar, weights_bar), cross_bar
    cotangent = kept(cotangent)
    matrix_bar = weighted_gram(cross, cotangent.variance_change)
    weights_bar = weighted_rows(cross, cotangent.mean)
    return Projected(matrix_bar, weights_bar), features_cotangent(product, weights, cotangent)


projected_moments.defvjp(_projected_forward, _projected_backward)
