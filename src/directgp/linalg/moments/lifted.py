"""The lifted form: A = L⁻¹K and P = L⁻ᵀC A, three N·M² products per step.

It is the same function of C′ and m′ as the whitened form (see `whitened`) and is differentiated
with respect to them. L₀⁻ᵀC′ and L₀⁻ᵀm′ are precomputed; they save a product and are not
differentiated.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.linalg import native
from directgp.linalg.moments.shared import (
    Moments,
    apply_excess,
    batch_cotangents,
    column_sums,
    lift_each,
)
from directgp.linalg.moments.whitened import Whitened, constant_basis, whiten, whiten_backward
from directgp.linalg.triangular import lower_times


class Lifted(NamedTuple):
    """The whitened form, and two constants: L₀⁻ᵀC′ [P M M] and L₀⁻ᵀm′ [P M]."""

    whitened: Whitened
    matrix: Array
    weights: Array


@jax.custom_vjp
def lift(covariance: Array, mean: Array, scale: Array) -> Lifted:
    """Factor K_uu for `lifted_moments`.

    Args:
        covariance: K_uu.
        mean: m of the whitened posterior.
        scale: S of the whitened posterior, lower triangular.
    """
    if scale.ndim == 2:
        raise DirectGPError("the lifted form is for a full covariance; use form='whitened'")
    whitened = whiten(covariance, mean, scale)
    # In the precision of C, float32 or float64.
    root = whitened.inverse_factor.astype(whitened.excess.dtype)
    return Lifted(whitened, lift_each(root, whitened.excess), mean @ root)


def _lift_forward(covariance, mean, scale):
    result = lift(covariance, mean, scale)
    return result, (result.whitened, scale)


def _lift_backward(residuals, cotangent):
    return whiten_backward(residuals, cotangent.whitened)


lift.defvjp(_lift_forward, _lift_backward)


@jax.custom_vjp
def lifted_moments(lifted: Lifted, cross: Float[Array, "M N"]) -> Moments:
    """μ = m′ᵀA and Σ_m K∘(L₀⁻ᵀC′ A) with A = L₀⁻¹K: two N·M² products, one backward.

    Args:
        lifted: from `lift`.
        cross: K = k(Z, X).
    """
    return _lifted_forward(lifted, cross)[0]


def _products(inverse, matrix, mean, cross):
    """A, P and the moments."""
    features = lower_times(inverse, cross)
    product = apply_excess(matrix, features)
    return features, product, mean @ features, column_sums(product, cross)


def _lifted_forward(lifted, cross):
    inverse, _, mean, _ = lifted.whitened
    features, product, *moments = native.run(
        "forward_lifted", _products, inverse, lifted.matrix, mean, cross
    )
    return Moments(*moments), (product, lifted, features)


def _lifted_backward(residuals, cotangent):
    product, lifted, features = residuals
    gram, sums, cross_bar = native.run(
        "backward_lifted", batch_cotangents, features, product, lifted.weights, *cotangent
    )
    nothing = jnp.zeros_like(lifted.matrix), jnp.zeros_like(lifted.weights)
    return Lifted(constant_basis(lifted.whitened, gram, sums), *nothing), cross_bar


lifted_moments.defvjp(_lifted_forward, _lifted_backward)
