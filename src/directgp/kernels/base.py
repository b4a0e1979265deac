"""What a kernel is: a positive-definite similarity k(x, z) of two rows."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Kernel(eqx.Module):
    """Write `evaluate` for one pair of rows; matrices are mapped here.

    Override `matrix` and `diagonal` only where a closed form is faster. Kernels add and
    multiply: ``RBF(...) + Linear(...)``.
    """

    @abstractmethod
    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        """k(x, z) for a single pair of rows."""

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        """k(x_i, z_j) for all pairs."""
        return jax.vmap(lambda x: jax.vmap(lambda z: self.evaluate(x, z))(Z))(X)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        """k(x_i, x_i)."""
        return jax.vmap(lambda x: self.evaluate(x, x))(X)

    def __add__(self, other: "Kernel") -> "Kernel":
        from directgp.kernels.compose import Sum

        return Sum((self, other))

    def __mul__(self, other: "Kernel") -> "Kernel":
        from directgp.kernels.compose import Product

        return Product((self, other))


def squared_distance(X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
    """|x_i − z_j|² by one product, never an [N M D] array; never below zero."""
    X_norm, Z_norm = jnp.sum(X**2, axis=-1), jnp.sum(Z**2, axis=-1)
    return jnp.maximum(X_norm[:, None] + Z_norm[None] - 2.0 * (X @ Z.T), 0.0)
