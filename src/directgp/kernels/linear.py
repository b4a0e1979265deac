"""The linear kernel: Bayesian linear regression as a Gaussian process."""

from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import paramax
from jaxtyping import Array, Float

from directgp.kernels.base import Kernel, Units, check_one_each, kernels
from directgp.parameters import part, positive, unwrap


@kernels.register("linear")
class Linear(Kernel):
    """k(x, z) = Σ_d variance_d x_d z_d + bias: linear functions; one variance per input, or one."""

    ignores_zero_columns: ClassVar[bool] = True

    variance: Any = part(columns=True)
    bias: Any = part()

    def __init__(self, variance: Any = 1.0, bias: Any = 1.0):
        self.variance = positive(variance)
        self.bias = positive(bias)

    def evaluate(self, x: Float[Array, "D"], z: Float[Array, "D"]) -> Float[Array, ""]:
        kernel = paramax.unwrap(self)
        return jnp.sum(kernel.variance * x * z) + kernel.bias

    def matrix(self, X: Float[Array, "N D"], Z: Float[Array, "M D"]) -> Float[Array, "N M"]:
        kernel = paramax.unwrap(self)
        return (X * kernel.variance) @ Z.T + kernel.bias

    def diagonal(self, X: Float[Array, "N D"]) -> Float[Array, "N"]:
        kernel = paramax.unwrap(self)
        return jnp.sum(kernel.variance * X**2, axis=-1) + kernel.bias

    @classmethod
    def start(cls, num_columns: int, distance: float) -> Kernel:
        return cls(np.full(num_columns, 1.0 / num_columns))

    def check_columns(self, count: int) -> None:
        check_one_each(self, "variances", self.variance, count)

    def in_units(self, units: Units) -> dict[str, Any]:
        slope = np.sqrt(np.asarray(unwrap(self.variance))) * units.target / units.inputs
        return {
            "kernel": self.label,
            "slope_std": units.by_name(slope),
            "level_std": float(np.sqrt(unwrap(self.bias))) * units.target,
        }
