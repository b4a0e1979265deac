"""Sums, products and multiples of kernels, and kernels on selected input columns."""

import math
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.kernels.base import Kernel
from directgp.parameters import positive, unwrap


class Composed(Kernel):
    """Several kernels of the same inputs."""

    parts: eqx.AbstractVar[tuple[Kernel, ...]]

    def check_columns(self, count: int) -> None:
        for part in self.parts:
            part.check_columns(count)


class Sum(Composed):
    """k = k₁ + k₂ + …: a sum of independent functions."""

    parts: tuple[Kernel, ...]

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return sum((part.evaluate(x, z) for part in self.parts), jnp.zeros((), x.dtype))

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        first, *others = (part.matrix(X, Z) for part in self.parts)
        return sum(others, first)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        first, *others = (part.diagonal(X) for part in self.parts)
        return sum(others, first)


class Product(Composed):
    """k = k₁ · k₂ · …: functions that are similar only where every part says so."""

    parts: tuple[Kernel, ...]

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        return math.prod((part.evaluate(x, z) for part in self.parts), start=jnp.ones((), x.dtype))

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        first, *others = (part.matrix(X, Z) for part in self.parts)
        return math.prod(others, start=first)

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        first, *others = (part.diagonal(X) for part in self.parts)
        return math.prod(others, start=first)


class OnColumns(Kernel):
    """A kernel that sees only the given input columns: ``OnColumns(Linear(), (0, 3))``."""

    part: Kernel
    columns: tuple[int, ...] = eqx.field(static=True)

    def __init__(self, part: Kernel, columns: Sequence[int]):
        self.part = part
        self.columns = tuple(int(column) for column in columns)

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        chosen = jnp.asarray(self.columns)
        return self.part.evaluate(x[chosen], z[chosen])

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        chosen = jnp.asarray(self.columns)
        return self.part.matrix(X[:, chosen], Z[:, chosen])

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        return self.part.diagonal(X[:, jnp.asarray(self.columns)])

    def check_columns(self, count: int) -> None:
        beyond = [column for column in self.columns if not -count <= column < count]
        if beyond:
            raise DirectGPError(
                f"OnColumns names column {beyond[0]} but its inputs have columns 0 to {count - 1}; "
                "count them from 0"
            )
        self.part.check_columns(len(self.columns))


class Scaled(Kernel):
    """k = variance · k₁: gives a size to a kernel that has none of its own."""

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
