"""Stationary kernels k(x, z) = variance · profile(r²), r² = Σ_d ((x_d − z_d)/lengthscale_d)².

A kernel defines its profile as a function of r², and the derivative of the profile in closed form,
because autodiff through √r² is NaN where points coincide. The derivative of the kernel matrix is
written once for all of them, in `stationary_matrix.py`.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float

from directgp.kernels.base import Kernel, Units, check_one_each, kernels
from directgp.kernels.stationary_matrix import Profile, stationary_gram, stationary_matrix
from directgp.parameters import part, positive, unwrap

_TINY = 1e-12


class Stationary(Kernel):
    """A variance and length-scales, one for each input (ARD) or one for all."""

    ignores_zero_columns: ClassVar[bool] = True

    variance: Any
    lengthscale: Any = part(columns=True)

    def __init__(self, variance: Any = 1.0, lengthscale: Any = 1.0):
        self.variance = positive(variance)
        self.lengthscale = positive(lengthscale)

    @staticmethod
    @abstractmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """k/variance as a function of r², equal to 1 at 0."""

    @staticmethod
    @abstractmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """D profile / d r², finite at 0.

        Args:
            squared: r².
            value: profile(r²).
        """

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return self.matrix(x[None], z[None])[0, 0]

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        kernel = paramax.unwrap(self)
        lengthscale = jnp.broadcast_to(kernel.lengthscale, X.shape[-1:])
        profile = _PROFILES.get(type(self)) or Profile(self.profile, self.slope)
        if X is Z:
            return stationary_gram(profile, X, kernel.variance, lengthscale)
        if X.shape[0] > Z.shape[0]:
            return jnp.transpose(stationary_matrix(profile, Z, X, kernel.variance, lengthscale))
        return stationary_matrix(profile, X, Z, kernel.variance, lengthscale)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        return jnp.full(X.shape[0], paramax.unwrap(self.variance), X.dtype)

    def without_variance(self) -> tuple[Any, Kernel]:
        own = type(self)
        if own.matrix is not Stationary.matrix or own.diagonal is not Stationary.diagonal:
            return 1.0, self  # a subclass may have terms without the variance
        return unwrap(self.variance), eqx.tree_at(lambda kernel: kernel.variance, self, 1.0)

    @classmethod
    def start(cls, num_columns: int, distance: float) -> Kernel:
        return cls(variance=1.0, lengthscale=np.full(num_columns, distance))

    def check_columns(self, count: int) -> None:
        check_one_each(self, "length-scales", self.lengthscale, count)

    def in_units(self, units: Units) -> dict[str, Any]:
        return {
            "kernel": self.label,
            "variance": float(unwrap(self.variance)) * units.target**2,
            "lengthscale": units.by_name(np.asarray(unwrap(self.lengthscale)) * units.inputs),
        }


@kernels.register("rbf")
class RBF(Stationary):
    """k = variance · exp(−r²/2): infinitely smooth functions.

    >>> import jax
    >>> with jax.enable_x64(True):
    ...     k = RBF(variance=2.0, lengthscale=[1.0, 1.0])
    ...     round(float(k.matrix(jax.numpy.zeros((1, 2)), jax.numpy.zeros((1, 2)))[0, 0]), 6)
    2.0
    """

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.exp(-0.5 * squared)

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return -0.5 * value


@kernels.register("matern12")
class Matern12(Stationary):
    """k = variance · e^{−r}: continuous, rough functions."""

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.exp(-jnp.sqrt(squared))

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return -0.5 * value / jnp.sqrt(jnp.maximum(squared, _TINY))


@kernels.register("matern32")
class Matern32(Stationary):
    """k = variance · (1 + √3 r) e^{−√3 r}: once differentiable functions."""

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        root = jnp.sqrt(3.0 * squared)
        return (1.0 + root) * jnp.exp(-root)

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return -1.5 * jnp.exp(-jnp.sqrt(3.0 * squared))


@kernels.register("matern52")
class Matern52(Stationary):
    """k = variance · (1 + √5 r + 5r²/3) e^{−√5 r}: twice differentiable functions."""

    @staticmethod
    def profile(squared: Float[Array, "*B"]) -> Float[Array, "*B"]:
        root = jnp.sqrt(5.0 * squared)
        return (1.0 + root + root**2 / 3.0) * jnp.exp(-root)

    @staticmethod
    def slope(squared: Float[Array, "*B"], value: Float[Array, "*B"]) -> Float[Array, "*B"]:
        root = jnp.sqrt(5.0 * squared)
        return -5.0 / 6.0 * (1.0 + root) * jnp.exp(-root)


_PROFILES = {
    RBF: Profile(RBF.profile, RBF.slope, "kernel_rbf", slope_of_value=-0.5),
    Matern12: Profile(Matern12.profile, Matern12.slope, "kernel_matern12"),
    Matern32: Profile(Matern32.profile, Matern32.slope, "kernel_matern32"),
    Matern52: Profile(Matern52.profile, Matern52.slope, "kernel_matern52"),
}
"""Kernels whose profile is implemented in machine code; a subclass may have another profile."""
