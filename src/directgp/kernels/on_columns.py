"""`OnColumns`: a kernel of some of the input columns."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.kernels.base import Kernel, Units


class OnColumns(Kernel):
    """A kernel of the given input columns only: ``OnColumns(Linear(), (0, 3))``."""

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

    @property
    def label(self) -> str:
        return self.part.label

    def in_units(self, units: Units) -> dict[str, Any]:
        names = tuple(units.names[column] for column in self.columns)
        return self.part.in_units(Units(names, units.inputs[[*self.columns]], units.target))
