"""Stationary kernels k(x, z) = variance · profile(r²), r² = Σ_d ((x_d − z_d)/lengthscale_d)².

Each profile is a function of r², with its slope given by hand: autodiff through √r² is NaN
for coinciding points, the closed form is not.
"""

from abc import abstractmethod
from typing import Any

import jax
import jax.numpy as jnp
import paramax
from jaxtyping import Array, Float

from directgp.kernels.base import Kernel, squared_distance
from directgp.parameters import positive

_TINY = 1e-12


class Stationary(Kernel):
    """Variance and length-scales, one for each input (ARD) or one for all."""

    variance: Any
    lengthscale: Any

    @staticmethod
    @abstractmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """k as a function of r², equal to 1 at 0."""

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        kernel = paramax.unwrap(self)
        return kernel.variance * self.profile(jnp.sum(((x - z) / kernel.lengthscale) ** 2))

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        kernel = paramax.unwrap(self)
        squared = squared_distance(X / kernel.lengthscale, Z / kernel.lengthscale)
        return kernel.variance * self.profile(squared)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        return jnp.full(X.shape[0], paramax.unwrap(self.variance), X.dtype)


def _with_slope(profile, slope):
    """`profile` whose derivative is `slope(r², profile(r²))`."""

    @jax.custom_jvp
    def function(squared):
        return profile(squared)

    @function.defjvp
    def _tangent(primals, tangents):
        value = function(primals[0])
        return value, slope(primals[0], value) * tangents[0]

    return function


def _root(squared):
    return jnp.sqrt(jnp.maximum(squared, _TINY))


_rbf = _with_slope(lambda s: jnp.exp(-0.5 * s), lambda s, value: -0.5 * value)
_matern12 = _with_slope(
    lambda s: jnp.exp(-_root(s)), lambda s, value: -0.5 * value / _root(s)
)
_matern32 = _with_slope(
    lambda s: (1.0 + _root(3.0 * s)) * jnp.exp(-_root(3.0 * s)),
    lambda s, value: -1.5 * jnp.exp(-_root(3.0 * s)),
)
_matern52 = _with_slope(
    lambda s: (1.0 + _root(5.0 * s) + 5.0 / 3.0 * s) * jnp.exp(-_root(5.0 * s)),
    lambda s, value: -5.0 / 6.0 * (1.0 + _root(5.0 * s)) * jnp.exp(-_root(5.0 * s)),
)


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
        return _rbf(squared)


class Matern12(Stationary):
    """k = variance · e^{−r}: continuous, rough functions."""

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return _matern12(squared)


class Matern32(Stationary):
    """k = variance · (1 + √3 r) e^{−√3 r}: once differentiable functions."""

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return _matern32(squared)


class Matern52(Stationary):
    """k = variance · (1 + √5 r + 5r²/3) e^{−√5 r}: twice differentiable functions."""

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return _matern52(squared)
