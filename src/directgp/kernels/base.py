"""Base class of kernels, positive-definite functions k(x, z) of two rows, and their algebra."""

import math
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError, WrongType
from directgp.parameters import positive, unwrap
from directgp.registry import Registry

_FEW_COLUMNS = 4


class Units(NamedTuple):
    """Factors from standardised units to those of the user: of each input and of the target."""

    names: tuple[str, ...]
    """Of the input columns."""
    inputs: Float[np.ndarray, "D"]
    target: float

    def by_name(self, values: Float[np.ndarray, "*D"]) -> dict[str, float]:
        """One number for each input column, by its name."""
        every = np.broadcast_to(values, len(self.names))
        return {name: float(value) for name, value in zip(self.names, every, strict=True)}


class Kernel(eqx.Module):
    """Write `evaluate` for one pair of rows; matrices are mapped here.

    Override `matrix` and `diagonal` only where a closed form is faster. Kernels add and
    multiply: ``RBF(...) + 2.0 * Linear(...)``.
    """

    __array_ufunc__: ClassVar[None] = None
    """NumPy scalars times a kernel call `Kernel.__rmul__`."""

    ignores_zero_columns: ClassVar[bool] = False
    """Whether input columns of zeros have no effect; such a kernel declares its fields with one
    number per column by `parameters.part(columns=True)`."""

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
        """(variance, k₁) with k = variance · k₁; by default 1 and the kernel itself.

        Multiplying the moments of f by the variance takes N operations, multiplying k takes M·N.
        """
        return 1.0, self

    @classmethod
    def start(cls, num_columns: int, distance: float) -> "Kernel":
        """The initial kernel for standardised inputs, when a kernel is chosen by name.

        Args:
            num_columns: the number of input columns.
            distance: the median distance between two rows.
        """
        return cls()

    def check_columns(self, count: int) -> None:
        """Raise an error if the kernel is not defined for inputs with `count` columns."""

    @property
    def label(self) -> str:
        """The kernel in short: "RBF + Linear"."""
        return type(self).__name__

    def in_units(self, units: Units) -> dict[str, Any]:
        """The hyperparameters in the units of the user, by name; by default the label only."""
        return {"kernel": self.label}

    def __add__(self, other: Any) -> "Kernel":
        if not isinstance(other, Kernel):
            raise WrongType(
                f"a kernel adds to a kernel, got {_named(other)}; for a level that is learned use "
                "mean='constant' or add Linear(), which has a bias"
            )
        return Sum((self, other))

    def __mul__(self, other: Any) -> "Kernel":
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


class Composed(Kernel):
    """A kernel made of several kernels of the same inputs."""

    parts: eqx.AbstractVar[tuple[Kernel, ...]]

    def check_columns(self, count: int) -> None:
        for part in self.parts:
            part.check_columns(count)


class Sum(Composed):
    """k = k₁ + k₂ + …: the covariance of a sum of independent functions.

    >>> from directgp.kernels import RBF, Linear
    >>> (RBF() + 2.0 * Linear()).label
    'RBF + Linear'
    """

    parts: tuple[Kernel, ...]

    @property
    def label(self) -> str:
        return " + ".join(part.label for part in self.parts)

    def in_units(self, units: Units) -> dict[str, Any]:
        return {"kernel": self.label, "parts": [part.in_units(units) for part in self.parts]}

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return sum((part.evaluate(x, z) for part in self.parts), jnp.zeros((), x.dtype))

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        first, *others = (part.matrix(X, Z) for part in self.parts)
        return sum(others, first)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        first, *others = (part.diagonal(X) for part in self.parts)
        return sum(others, first)


class Product(Composed):
    """k = k₁ · k₂ · …: rows are similar only if they are similar under every factor."""

    parts: tuple[Kernel, ...]

    @property
    def label(self) -> str:
        return " · ".join(f"({p.label})" if " + " in p.label else p.label for p in self.parts)

    def in_units(self, units: Units) -> dict[str, Any]:
        first, *others = self.parts  # the units of the target belong to one factor, the first
        factors = [part.in_units(units._replace(target=1.0)) for part in others]
        return {"kernel": self.label, "parts": [first.in_units(units), *factors]}

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return math.prod((part.evaluate(x, z) for part in self.parts), start=jnp.ones((), x.dtype))

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        first, *others = (part.matrix(X, Z) for part in self.parts)
        return math.prod(others, start=first)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        first, *others = (part.diagonal(X) for part in self.parts)
        return math.prod(others, start=first)


class Scaled(Kernel):
    """k = variance · k₁: a kernel with a variance of its own, which is learned."""

    part: Kernel
    variance: Any

    def __init__(self, part: Kernel, variance: Any = 1.0):
        self.part = part
        self.variance = positive(variance)

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return unwrap(self.variance) * self.part.evaluate(x, z)

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        return unwrap(self.variance) * self.part.matrix(X, Z)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        return unwrap(self.variance) * self.part.diagonal(X)

    def without_variance(self) -> tuple[Any, Kernel]:
        variance, part = self.part.without_variance()
        return unwrap(self.variance) * variance, part

    def check_columns(self, count: int) -> None:
        self.part.check_columns(count)

    @property
    def label(self) -> str:
        return self.part.label

    def in_units(self, units: Units) -> dict[str, Any]:
        factor = float(np.sqrt(unwrap(self.variance)))
        return self.part.in_units(units._replace(target=factor * units.target))


def _refuse_other_libraries(part: Any) -> Any:
    """Refuse a kernel of tinygp or GPJax that is passed without its adapter."""
    libraries = {kind.__module__.partition(".")[0] for kind in type(part).__mro__}
    for library in libraries & {"tinygp", "gpjax"}:
        raise DirectGPError(
            f"a {type(part).__name__} of {library} is not a kernel of directgp; "
            f"write from_{library}(kernel)"
        )
    return part


kernels = Registry("kernel", Kernel, _refuse_other_libraries)


def _named(other: Any) -> str:
    return repr(other) if isinstance(other, int | float) else f"a {type(other).__name__}"


def check_one_each(kernel: Kernel, name: str, values: Any, count: int) -> None:
    """Refuse ARD parameters that are neither one number for all columns nor one for each.

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
    """|x_i − z_j|² ≥ 0 without an [N M D] array: by one matrix product, or a loop over few columns.

    The sum over few columns is one fused loop, four times faster than the product.

    Args:
        X: rows.
        Z: other rows.
    """
    if X.shape[-1] <= _FEW_COLUMNS:
        # The products make XLA store the columns: otherwise the computation of an input, such as
        # the sampling of the layer below, would be fused into the loop and repeated for every pair.
        same = jnp.eye(X.shape[-1], dtype=X.dtype)
        left, right = (jnp.matmul(*pair, precision="highest") for pair in ((X, same), (same, Z.T)))
        terms = [(left[:, None, d] - right[None, d]) ** 2 for d in range(X.shape[-1])]
        return sum(terms[1:], start=terms[0])
    # The norms are further columns, so that one product gives the whole sum.
    X_norm, Z_norm = jnp.sum(X**2, axis=-1, keepdims=True), jnp.sum(Z**2, axis=-1, keepdims=True)
    left = jnp.concatenate([-2.0 * X, X_norm, jnp.ones_like(X_norm)], axis=1)
    right = jnp.concatenate([Z, jnp.ones_like(Z_norm), Z_norm], axis=1)
    return jnp.maximum(jnp.matmul(left, right.T, precision="highest"), 0.0)
