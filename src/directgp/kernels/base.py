"""Base class of kernels: positive-definite functions k(x, z) of two rows."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError, WrongType
from directgp.parameters import unwrap

_FEW_COLUMNS = 4


class Kernel(eqx.Module):
    """Write `evaluate` for one pair of rows; matrices are mapped here.

    Override `matrix` and `diagonal` only where a closed form is faster. Kernels add and
    multiply: ``RBF(...) + 2.0 * Linear(...)``.
    """

    __array_ufunc__: ClassVar[None] = None
    """Numbers of numpy leave a product with a kernel to the kernel."""

    ignores_zero_columns: ClassVar[bool] = False
    """Whether input columns that are 0 everywhere change nothing; a kernel that says so declares
    fields with numbers for each column by `parameters.part(columns=True)`."""

    @abstractmethod
    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        """k(x, z) for a single pair of rows."""

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        """k(x_i, z_j) for all pairs."""
        return jax.vmap(lambda x: jax.vmap(lambda z: self.evaluate(x, z))(Z))(X)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        """k(x_i, x_i)."""
        return jax.vmap(lambda x: self.evaluate(x, x))(X)

    def without_variance(self) -> tuple[Any, "Kernel"]:
        """(variance, k₁) with k = variance · k₁; 1 and itself where there is nothing to take out.

        Moments of k₁ are multiplied by the variance at N numbers, those of k at M·N.
        """
        return 1.0, self

    @classmethod
    def start(cls, num_columns: int, distance: float) -> "Kernel":
        """Where training starts: standardised columns, rows that are `distance` from each other.

        Args:
            num_columns: of the inputs.
            distance: the median distance between two rows.
        """
        return cls()

    def check_columns(self, count: int) -> None:
        """A one-line error if the kernel cannot be one of inputs with `count` columns."""

    def __add__(self, other: Any) -> "Kernel":
        from directgp.kernels.compose import Sum

        if not isinstance(other, Kernel):
            raise WrongType(
                f"a kernel adds to a kernel, got {_named(other)}; for a level that is learned use "
                "mean='constant' or add Linear(), which has a bias"
            )
        return Sum((self, other))

    def __mul__(self, other: Any) -> "Kernel":
        from directgp.kernels.compose import Product, Scaled

        if isinstance(other, Kernel):
            return Product((self, other))
        if not (eqx.is_array_like(other) and np.ndim(other) == 0):
            raise WrongType(
                f"a kernel multiplies with a kernel or one number, got {_named(other)}; give every "
                "column its own size by length-scales: RBF(lengthscale=[...])"
            )
        return Scaled(self, other)

    __radd__ = __add__
    __rmul__ = __mul__


def _named(other: Any) -> str:
    return repr(other) if isinstance(other, int | float) else f"a {type(other).__name__}"


def check_one_each(kernel: Kernel, name: str, values: Any, count: int) -> None:
    """Refuse ARD parameters that are neither one for all columns nor one for each.

    Args:
        kernel: for the message.
        name: of the parameter.
        values: its value.
        count: the number of columns.
    """
    shape = np.shape(unwrap(values))
    if shape not in ((), (1,), (count,)):
        raise DirectGPError(
            f"{type(kernel).__name__} has {np.prod(shape)} {name} but its inputs have {count} "
            f"column{'s' if count > 1 else ''}; give one for each column, or one number for all"
        )


def squared_distance(X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
    """|x_i − z_j|², never below zero: by one product, or column by column where they are few.

    An [N M D] array never exists: the sum over few columns is one fused loop, four times faster
    than a product that contracts them.
    """
    if X.shape[-1] <= _FEW_COLUMNS:
        # The products make XLA keep the columns: else whatever made an input, the sampling of a
        # layer below, say, would become part of the loop and be done again for every pair.
        same = jnp.eye(X.shape[-1], dtype=X.dtype)
        left, right = (jnp.matmul(*pair, precision="highest") for pair in ((X, same), (same, Z.T)))
        terms = [(left[:, None, d] - right[None, d]) ** 2 for d in range(X.shape[-1])]
        return sum(terms[1:], start=terms[0])
    # The norms are columns of their own, so that the product leaves nothing to add.
    X_norm, Z_norm = jnp.sum(X**2, axis=-1, keepdims=True), jnp.sum(Z**2, axis=-1, keepdims=True)
    left = jnp.concatenate([-2.0 * X, X_norm, jnp.ones_like(X_norm)], axis=1)
    right = jnp.concatenate([Z, jnp.ones_like(Z_norm), Z_norm], axis=1)
    return jnp.maximum(jnp.matmul(left, right.T, precision="highest"), 0.0)
