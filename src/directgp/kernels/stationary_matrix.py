"""The matrix of a stationary kernel, with one hand-written derivative for all of them.

k = variance · profile(r²), r² = Σ_d ((x_d − z_d)/lengthscale_d)². With W = K̄ ∘ variance · slope,
where slope = d profile / d r² (`math.md` section 3), the cotangents

    x̄ = 2 Σ_n W (x − z) / lengthscale,   lengthscale̅ = −2 Σ W (x − z)² / lengthscale   (x, z scaled)

are computed from products with W and its sums, without an [N M D] array.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.kernels.base import squared_distance
from directgp.linalg import native


class Profile(NamedTuple):
    """k/variance as a function of r², and its derivative, the slope."""

    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]
    native: str | None = None
    """The name of the pass of `linalg.native` that computes both, if there is one."""
    slope_of_value: float | None = None
    """slope/value if that is a constant; one [N M] array is then stored instead of two."""

    def both(self, X: Array, columns: Array) -> list[Array]:
        """The value at all pairs, and the slope if it has to be stored."""
        squared = squared_distance(X, columns.T)
        value = self.value(squared)
        if self.slope_of_value is not None:
            return [value]
        # Computed here, where it shares the root and the exponential with the profile.
        return [value, self.slope(squared, value)]

    def slope_of(self, kept: Array) -> Array:
        """The slope, from the stored array."""
        return kept if self.slope_of_value is None else self.slope_of_value * kept


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def stationary_matrix(
    profile: Profile,
    X: Float[Array, "N D"],
    Z: Float[Array, "M D"],
    variance: Array | float,
    lengthscale: Float[Array, "D"],
) -> Float[Array, "N M"]:
    """Variance · profile(r²) at all pairs.

    Args:
        profile: the function of r², with its derivative.
        X: rows.
        Z: other rows.
        variance: of the kernel.
        lengthscale: of each column.
    """
    return _forward(profile, X, Z, variance, lengthscale)[0]


def _forward(profile, X, Z, variance, lengthscale):
    X, columns = X / lengthscale, Z.T / lengthscale[:, None]
    made = native.run(profile.native, profile.both, X, columns)
    value, slope = variance * made[0], made[-1]
    return value, (X, columns, slope, value, variance, lengthscale)


def _backward(profile, residuals, value_bar):
    X, columns, slope, value, variance, lengthscale = residuals
    Z = columns.T
    W = variance * value_bar * profile.slope_of(slope)
    value_bar = value_bar.astype(slope.dtype)
    sums = native.run("kernel_backward", _row_sums, value_bar, slope, X, columns)
    linear, square = (variance * profile.slope_of(own) for own in sums)
    X_bar, spread = 2.0 * linear, jnp.sum(square, axis=0)
    # XLA removes this if the gradient with respect to Z is not used.
    column = (jnp.ones((1, X.shape[0]), X.dtype) @ W)[0]
    Z_bar = 2.0 * (column * Z.T - X.T @ W).T
    return (
        X_bar / lengthscale,
        Z_bar / lengthscale,
        jnp.sum(jnp.sum(value_bar * value, axis=1)) / variance,
        -2.0 * spread / lengthscale,
    )


def _row_sums(value_bar, slope, X, columns):
    """Σ_m W (x − z) and Σ_m W (x − z)² of every row, both [N D], W = value_bar∘slope."""
    W, D = value_bar * slope, columns.shape[0]
    # A row of ones gives the row sums of W by the same product; transposed, because a product with
    # long rows takes half the time of one with long columns.
    right = jnp.concatenate([columns, columns**2, jnp.ones_like(columns[:1])])
    sums = right @ W.T
    WZ, WZZ, row = sums[:D], sums[D:-1], sums[-1]
    return [(row * X.T - WZ).T, (row * X.T**2 - 2.0 * X.T * WZ + WZZ).T]


stationary_matrix.defvjp(_forward, _backward)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def stationary_gram(
    profile: Profile,
    X: Float[Array, "N D"],
    variance: Array | float,
    lengthscale: Float[Array, "D"],
) -> Float[Array, "N N"]:
    """`stationary_matrix` of X and X, whose derivative is symmetric and costs half.

    Args:
        profile: the function of r², with its derivative.
        X: rows.
        variance: of the kernel.
        lengthscale: of each column.
    """
    return _gram_forward(profile, X, variance, lengthscale)[0]


def _gram_forward(profile, X, variance, lengthscale):
    return _forward(profile, X, X, variance, lengthscale)


def _gram_backward(profile, residuals, value_bar):
    X, columns, slope, value, variance, lengthscale = residuals
    both = (value_bar + value_bar.T).astype(slope.dtype)
    sums = native.run("kernel_backward", _row_sums, both, slope, X, columns)
    linear, square = (variance * profile.slope_of(own) for own in sums)
    return (
        2.0 * linear / lengthscale,
        0.5 * jnp.sum(jnp.sum(both * value, axis=1)) / variance,
        -jnp.sum(square, axis=0) / lengthscale,
    )


stationary_gram.defvjp(_gram_forward, _gram_backward)
