"""What a kernel is: a positive-definite similarity k(x, z) of two rows."""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_FEW_COLUMNS = 4


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
    """|x_i − z_j|², never below zero: by one product, or column by column where they are few.

    An [N M D] array never exists: the sum over few columns is one fused loop, four times faster
    than a product that contracts them.
    """
    if X.shape[-1] <= _FEW_COLUMNS:
        terms = [(X[:, None, d] - Z[None, :, d]) ** 2 for d in range(X.shape[-1])]
        return sum(terms[1:], start=terms[0])
    X_norm, Z_norm = jnp.sum(X**2, axis=-1), jnp.sum(Z**2, axis=-1)
    return jnp.maximum(X_norm[:, None] + Z_norm[None] - 2.0 * (X @ Z.T), 0.0)
