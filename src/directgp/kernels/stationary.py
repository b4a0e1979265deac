"""Stationary kernels k(x, z) = variance · profile(r²), r² = Σ_d ((x_d − z_d)/lengthscale_d)².

A kernel gives its profile as a function of r², and the slope of that profile in closed form
(autodiff through √r² is NaN for coinciding points). One hand-written derivative then serves them
all (`math.md` section 3): with W = K̄ ∘ variance · slope, every gradient comes from W X, the row
and the column sums of W, and no [N M D] array exists.
"""

from abc import abstractmethod
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float

from directgp.kernels.base import Kernel, check_one_each, squared_distance
from directgp.parameters import positive, unwrap

_TINY = 1e-12


class Stationary(Kernel):
    """Variance and length-scales, one for each input (ARD) or one for all."""

    variance: Any
    lengthscale: Any

    @staticmethod
    @abstractmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """The kernel over its variance as a function of r², equal to 1 at 0."""

    @staticmethod
    @abstractmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """The derivative d profile / d r², given r² and value = profile(r²); finite at 0."""

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return self.matrix(x[None], z[None])[0, 0]

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        kernel = paramax.unwrap(self)
        lengthscale = jnp.broadcast_to(kernel.lengthscale, X.shape[-1:])
        return _matrix(type(self), X, Z, kernel.variance, lengthscale)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        return jnp.full(X.shape[0], paramax.unwrap(self.variance), X.dtype)

    def without_variance(self) -> tuple[Any, Kernel]:
        own = type(self)
        if own.matrix is not Stationary.matrix or own.diagonal is not Stationary.diagonal:
            return 1.0, self  # a subclass that may have added something
        return unwrap(self.variance), eqx.tree_at(lambda kernel: kernel.variance, self, 1.0)

    @classmethod
    def start(cls, num_columns: int, distance: float) -> Kernel:
        return cls(variance=1.0, lengthscale=np.full(num_columns, distance))

    def check_columns(self, count: int) -> None:
        check_one_each(self, "length-scales", self.lengthscale, count)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _matrix(
    kernel: type[Stationary], X: Array, Z: Array, variance: Array | float, lengthscale: Array
):
    return _matrix_forward(kernel, X, Z, variance, lengthscale)[0]


def _matrix_forward(kernel, X, Z, variance, lengthscale):
    X_scaled, Z_scaled = X / lengthscale, Z / lengthscale
    squared = squared_distance(X_scaled, Z_scaled)
    value = variance * kernel.profile(squared)
    # The slope is made here, where it shares the root and the exponential with the profile, and
    # from the value where it can be, so that one [N M] array is kept and not two.
    slope = variance * kernel.slope(squared, value / variance)
    return value, (X_scaled, Z_scaled, slope, value, variance, lengthscale)


def _matrix_backward(kernel, residuals, value_bar):
    X, Z, slope, value, variance, lengthscale = residuals
    W = value_bar * slope
    # A row of ones gives the sums of W's rows in the same pass; transposed, because a product with
    # long rows takes half the time of one with long columns. The sums of W's columns come apart, so
    # that Xᵀ W, needed by no one whose Z are data, is not made for them.
    sums = jnp.concatenate([Z.T, jnp.ones_like(Z.T[:1])]) @ W.T
    WZ, row = sums[:-1], sums[-1]
    column = (jnp.ones((1, X.shape[0]), X.dtype) @ W)[0]
    WX = X.T @ W
    X_bar = 2.0 * (row * X.T - WZ).T
    Z_bar = 2.0 * (column * Z.T - WX).T
    spread = (row @ X**2) + (column @ Z**2) - 2.0 * jnp.sum(X.T * WZ, axis=1)
    return (
        X_bar / lengthscale,
        Z_bar / lengthscale,
        jnp.sum(jnp.sum(value_bar * value, axis=1)) / variance,
        -2.0 * spread / lengthscale,
    )


_matrix.defvjp(_matrix_forward, _matrix_backward)


class RBF(Stationary):
    """k = variance · exp(−r²/2): infinitely smooth functions.

    >>> import jax
    >>> with jax.enable_x64(True):
    ...     k = RBF(variance=2.0, lengthscale=[1.0, 1.0])
    ...     round(float(k.matrix(jax.numpy.zeros((1, 2)), jax.numpy.zeros((1, 2)))[0, 0]), 6)
    2.0
    """

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.exp(-0.5 * squared)

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return -0.5 * value


class Matern12(Stationary):
    """k = variance · e^{−r}: continuous, rough functions."""

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.exp(-jnp.sqrt(squared))

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return -0.5 * value / jnp.sqrt(jnp.maximum(squared, _TINY))


class Matern32(Stationary):
    """k = variance · (1 + √3 r) e^{−√3 r}: once differentiable functions."""

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        root = jnp.sqrt(3.0 * squared)
        return (1.0 + root) * jnp.exp(-root)

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return -1.5 * jnp.exp(-jnp.sqrt(3.0 * squared))


class Matern52(Stationary):
    """k = variance · (1 + √5 r + 5r²/3) e^{−√5 r}: twice differentiable functions."""

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        root = jnp.sqrt(5.0 * squared)
        return (1.0 + root + root**2 / 3.0) * jnp.exp(-root)

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        root = jnp.sqrt(5.0 * squared)
        return -5.0 / 6.0 * (1.0 + root) * jnp.exp(-root)
