"""The whitened form: A = L⁻¹K, four N·M² products per step without large numbers.

The moments are a function of K, C = S Sᵀ − I and m in a fixed basis. Let L⁻¹ = (I + R) L₀⁻¹, where
L₀⁻¹ is the value of L⁻¹ as a constant, so that R = 0 and only its derivative matters. Then

    μ = m′ᵀA,  v = k(x, x) + Σ A∘(C′A),   A = L₀⁻¹K,  m′ = (I + R)ᵀm,  C′ = (I + R)ᵀC(I + R)

and only m′ and C′ depend on K_uu. `whiten` returns L₀⁻¹, C′ and m′ (whose values are L⁻¹, C and m);
`whitened_moments` is differentiated with respect to C′, m′ and K. The cotangents G of C′ and m̄ of
m′ give that of R, X = 2 C G + m m̄ᵀ, and that of K_uu (see `moments`). For a diagonal c, whose C′
is not diagonal, R is a separate argument, v = k(x, x) + Σ c∘((I + R)A)². It is lower triangular, as
L⁻¹ is.
"""

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
    kept,
    scale_cotangents,
    weighted_rows,
)
from directgp.linalg.triangular import (
    inverse_cholesky,
    lower_half_of_outer,
    lower_times,
    upper_times,
)


class Whitened(NamedTuple):
    """L₀⁻¹ [M M], a constant; C′ [P M M], or c [P M] for a diagonal; m′ [P M]."""

    inverse_factor: Array
    excess: Array
    mean: Array
    turn: Array | None = None
    """R [M M], which is 0, for a diagonal c; None for a full C′, which contains it."""


@jax.custom_vjp
def whiten(covariance: Array, mean: Array, scale: Array) -> Whitened:
    """Factor K_uu for `whitened_moments`.

    Args:
        covariance: K_uu.
        mean: m of the whitened posterior.
        scale: S of the whitened posterior, or standard deviations.
    """
    inverse_factor = inverse_cholesky(covariance)
    turn = jnp.zeros_like(inverse_factor) if scale.ndim == 2 else None
    return Whitened(inverse_factor, excess_covariance(scale), mean, turn)


def _whiten_forward(covariance, mean, scale):
    result = whiten(covariance, mean, scale)
    return result, (result, scale)


def whiten_backward(residuals, cotangent):
    """Cotangents of K_uu, m and S, for `whiten` and for `lift`; L₀⁻¹ is a constant.

    Args:
        residuals: of the forward pass.
        cotangent: of its result.
    """
    result, scale = residuals
    if scale.ndim == 2:
        scale_bar, inner = 2.0 * scale * cotangent.excess, cotangent.turn
    else:
        scale_bar, inner = scale_cotangents(scale, result.excess, cotangent.excess)
    covariance_bar = factor_cotangents(result.inverse_factor, result.mean, inner, cotangent.mean)
    return covariance_bar, cotangent.mean, scale_bar


whiten.defvjp(_whiten_forward, whiten_backward)


@jax.custom_vjp
def whitened_moments(whitened: Whitened, cross: Float[Array, "M N"]) -> Moments:
    """A = L₀⁻¹K, μ = m′ᵀA and Σ_m A∘(C′A): two N·M² products forward, two backward.

    A diagonal C needs one forward and two backward, for any number of latent functions.

    Args:
        whitened: from `whiten`.
        cross: K = k(Z, X).
    """
    return _whitened_forward(whitened, cross)[0]


def _products(inverse, excess, mean, cross):
    """A, X = C′A and the moments."""
    features = lower_times(inverse, cross)
    product = apply_excess(excess, features)
    return features, product, mean @ features, column_sums(product, features)


def _cotangents(inverse, features, product, mean, mean_bar, change_bar):
    """G, A μ̄ and the cotangent of K."""
    bars = mean_bar, change_bar
    gram, sums, features_bar = batch_cotangents(features, product, mean, *bars)
    return gram, sums, upper_times(inverse, features_bar)


def _whitened_forward(whitened, cross):
    inverse, excess, mean, turn = whitened
    if turn is not None:
        features, *moments = native.run(
            "forward_diagonal", _diagonal_moments, inverse, excess, mean, cross
        )
        return Moments(*moments), (None, whitened, features)
    features, product, *moments = native.run(
        "forward_whitened", _products, inverse, excess, mean, cross
    )
    return Moments(*moments), (product, whitened, features)


def _whitened_backward(residuals, cotangent):
    product, whitened, features = residuals
    inverse, excess, mean, turn = whitened
    if turn is not None:
        turn_bar, excess_bar, mean_bar, cross_bar = native.run(
            "backward_diagonal", _diagonal_cotangents, inverse, features, excess, mean, *cotangent
        )
        return constant_basis(whitened, excess_bar, mean_bar, jnp.tril(turn_bar)), cross_bar
    gram, sums, cross_bar = native.run(
        "backward_whitened", _cotangents, inverse, features, product, mean, *cotangent
    )
    return constant_basis(whitened, gram, sums), cross_bar


def constant_basis(whitened: Whitened, excess_bar, mean_bar, turn_bar=None) -> Whitened:
    """The cotangent of a `Whitened`, with 0 for the constant L₀⁻¹.

    Args:
        whitened: for its shape.
        excess_bar: of C′.
        mean_bar: of m′.
        turn_bar: of R.
    """
    return Whitened(jnp.zeros_like(whitened.inverse_factor), excess_bar, mean_bar, turn_bar)


def _diagonal_moments(inverse, excess, mean, cross):
    """A and the moments for a diagonal C′."""
    features = lower_times(inverse, cross)
    return features, mean @ features, excess @ features**2


def _diagonal_cotangents(inverse, features, excess, weights, mean_bar, change_bar):
    """Cotangents of R, whose lower half is that of Σ_p 2 C_p G_p, of c, m′ and K."""
    mean_bar, change_bar = kept(Moments(mean_bar, change_bar))
    weighted = 2.0 * features * (excess.T @ change_bar)
    excess_bar = weighted_rows(features**2, change_bar)
    weights_bar = weighted_rows(features, mean_bar)
    cross_bar = upper_times(inverse, weighted + weights.T @ mean_bar)
    return lower_half_of_outer(weighted, features), excess_bar, weights_bar, cross_bar


whitened_moments.defvjp(_whitened_forward, _whitened_backward)
