"""The lifted form: A = L⁻¹K and P = L⁻ᵀC A, three N·M² products a step.

What it sends back is what the whitened form does, so it is built on that.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.moments import native_passes
from directgp.moments.shared import (
    Moments,
    apply_excess,
    column_sums,
    features_cotangent,
    kept,
    lift_each,
)
from directgp.moments.whitened import (
    Whitened,
    full_cotangent,
    whiten,
    whiten_backward,
    whitened_cotangent,
)
from directgp.triangular import lower_times


class Lifted(NamedTuple):
    """What the lifted form needs beside L⁻¹, C and m: L⁻ᵀC [P M M] and L⁻ᵀm [P M]."""

    whitened: Whitened
    matrix: Array
    weights: Array


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
    return Lifted(whitened, lift_each(root, whitened.excess), mean @ root)


def _lift_forward(covariance, mean, scale):
    result = lift(covariance, mean, scale)
    return result, (result.whitened, scale)


def _lift_backward(residuals, cotangent):
    return whiten_backward(residuals, cotangent.whitened)


lift.defvjp(_lift_forward, _lift_backward)


@jax.custom_vjp
def lifted_moments(lifted: Lifted, cross: Float[Array, "M N"]) -> Moments:
    """A = L⁻¹K, μ = mᵀA and Σ_m K∘(L⁻ᵀC A): two N·M² products forward, one backward."""
    return _lifted_forward(lifted, cross)[0]


def _lifted_forward(lifted, cross):
    if native_passes.serves(lifted.matrix, cross):
        _, _, mean = whitened = lifted.whitened
        result, product, features = native_passes.forward(
            "lifted", lifted.matrix, mean, cross, whitened.inverse_factor
        )
        return result, (product, lifted, features)
    features = lower_times(lifted.whitened.inverse_factor, cross)
    product = apply_excess(lifted.matrix, features)
    result = Moments(lifted.whitened.mean @ features, column_sums(product, cross))
    return result, (product, lifted, features)


def _lifted_backward(residuals, cotangent):
    product, lifted, features = residuals
    if native_passes.serves(lifted.matrix, features):
        gram, sums, cross_bar = native_passes.backward(
            "lifted", features, product, lifted.weights, cotangent
        )
        whitened_bar = full_cotangent(lifted.whitened, gram, sums)
    else:
        cotangent = kept(cotangent)
        whitened_bar = whitened_cotangent(lifted.whitened, features, cotangent)
        cross_bar = features_cotangent(product, lifted.weights, cotangent)
    # By agreement with `lift`: the cotangents of L⁻ᵀC and L⁻ᵀm follow from those of C and m.
    nothing = jnp.zeros_like(lifted.matrix), jnp.zeros_like(lifted.weights)
    return Lifted(whitened_bar, *nothing), cross_bar


lifted_moments.defvjp(_lifted_forward, _lifted_backward)
