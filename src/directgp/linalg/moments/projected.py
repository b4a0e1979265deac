"""The projected form: B = L⁻ᵀ C L⁻¹ once, then two N·M² products per step, for float64."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.linalg import native
from directgp.linalg.moments.shared import (
    Moments,
    apply_excess,
    batch_cotangents,
    column_sums,
    excess_covariance,
    factor_cotangents,
    half_lower,
    lift_each,
    scale_cotangents,
)
from directgp.linalg.triangular import (
    inverse_cholesky,
    lower_congruence,
    lower_times,
    upper_congruence,
)


class Projected(NamedTuple):
    """B [P M M] and α [P M]."""

    matrix: Array
    weights: Array


@jax.custom_vjp
def project(covariance: Array, mean: Array, scale: Array) -> Projected:
    """B_p = L⁻ᵀ C_p L⁻¹ and α_p = L⁻ᵀ m_p for every latent function p.

    Args:
        covariance: K_uu.
        mean: m of the whitened posterior.
        scale: S of the whitened posterior, or standard deviations.
    """
    return _project_forward(covariance, mean, scale)[0]


def _project_forward(covariance, mean, scale):
    inverse_factor, excess = inverse_cholesky(covariance), excess_covariance(scale)
    matrix = _lifted_both_ways(inverse_factor, excess)
    result = Projected(matrix, mean @ inverse_factor)
    return result, (inverse_factor, mean, scale, excess)


def _lifted_both_ways(inverse_factor, excess):
    """L⁻ᵀ C_p L⁻¹ for every latent function p."""
    if excess.ndim == 2:
        return lift_each(inverse_factor, apply_excess(excess, inverse_factor))
    return jnp.stack([upper_congruence(inverse_factor, own) for own in excess])


def _project_backward(residuals, cotangent):
    inverse_factor, mean, scale, excess = residuals
    # B̄ is symmetric, because it comes from `projected_moments` only.
    gram = jnp.stack([lower_congruence(inverse_factor, own) for own in cotangent.matrix])
    mean_bar = cotangent.weights @ inverse_factor.T
    scale_bar, inner = scale_cotangents(scale, excess, gram)
    return factor_cotangents(inverse_factor, mean, inner, mean_bar), mean_bar, scale_bar


project.defvjp(_project_forward, _project_backward)


@jax.custom_vjp
def projected_moments(projected: Projected, cross: Float[Array, "M N"]) -> Moments:
    """μ = αᵀK and Σ_m K∘(BK): one N·M² product forward, one backward.

    If no derivative is needed, twice the lower half of B gives the same sum at half the cost.

    Args:
        projected: from `project`.
        cross: K = k(Z, X).
    """
    halves = 2.0 * jax.vmap(half_lower)(projected.matrix)
    return Moments(*native.run("quadratic", _moments_by_halves, halves, projected.weights, cross))


def _moments_by_halves(halves, weights, cross):
    changes = [column_sums(lower_times(half, cross)[None], cross) for half in halves]
    return weights @ cross, jnp.concatenate(changes)


def _products(matrix, weights, cross):
    """X = BK and the moments."""
    product = apply_excess(matrix, cross)
    return product, weights @ cross, column_sums(product, cross)


def _projected_forward(projected, cross):
    matrix, weights = projected
    product, *moments = native.run("forward_projected", _products, matrix, weights, cross)
    return Moments(*moments), (product, weights, cross)


def _projected_backward(residuals, cotangent):
    product, weights, cross = residuals
    matrix_bar, weights_bar, cross_bar = native.run(
        "backward_projected", batch_cotangents, cross, product, weights, *cotangent
    )
    return Projected(matrix_bar, weights_bar), cross_bar


projected_moments.defvjp(_projected_forward, _projected_backward)
