"""Prior mean functions."""

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.parameters import float64, on_device, unwrap


class MeanFunction(eqx.Module):
    """The prior mean of f at every row."""

    ignores_zero_columns: ClassVar[bool] = False
    """Whether input columns of zeros have no effect; see `Model`."""

    @abstractmethod
    def __call__(self, X: Float[Array, "N D"]) -> Float[Array, "N P"]:
        """The mean at every row, [N P] or [N 1]."""


class ZeroMean(MeanFunction):
    """f has prior mean 0, for standardised targets."""

    ignores_zero_columns: ClassVar[bool] = True

    def __call__(self, X: Float[Array, "N D"]) -> Float[Array, "N P"]:
        return jnp.zeros((X.shape[0], 1), X.dtype)


class ConstantMean(MeanFunction):
    """Every latent function has a constant prior mean, which is learned."""

    ignores_zero_columns: ClassVar[bool] = True
    value: Any

    @float64
    def __init__(self, value: Any = 0.0):
        self.value = jnp.atleast_1d(on_device(value, np.float64))

    def __call__(self, X: Float[Array, "N D"]) -> Float[Array, "N P"]:
        value = unwrap(self.value).astype(X.dtype)
        return jnp.broadcast_to(value, (X.shape[0], value.shape[0]))


class LinearMean(MeanFunction):
    """mean(x) = x W + b, the prior mean of inner layers, close to the identity or a projection.

    W and b are learned unless they are `frozen`.
    """

    weights: Any
    bias: Any

    @float64
    def __init__(self, weights: Any, bias: Any = None):
        self.weights = on_device(weights, np.float64)
        width = self.weights.shape[1]
        self.bias = jnp.zeros(width) if bias is None else on_device(bias, np.float64)

    def __call__(self, X: Float[Array, "N D"]) -> Float[Array, "N P"]:
        return X @ unwrap(self.weights).astype(X.dtype) + unwrap(self.bias).astype(X.dtype)
