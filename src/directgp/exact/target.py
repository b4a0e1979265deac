"""Densities to approximate by a Gaussian: p(v) Π_i p(y_i | v), optionally times a utility."""

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.exact.utility import Utility
from directgp.likelihoods.bernoulli import Bernoulli


class Derivatives(NamedTuple):
    """Value, gradient and Hessian of −log target."""

    value: Float[Array, ""]
    gradient: Float[Array, "M"]
    hessian: Float[Array, "M M"]


class LogDensity(eqx.Module):
    """Interface of a density over v, a vector of `size` numbers, for Laplace's approximation."""

    @property
    @abstractmethod
    def log_concave(self) -> bool:
        """Whether its Hessian is positive definite everywhere."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The length of v."""

    @property
    @abstractmethod
    def dtype(self) -> Any:
        """The dtype of v."""

    @property
    @abstractmethod
    def certain(self) -> "LogDensity":
        """A log-concave factor, whose curvature is used where that of the density is indefinite."""

    @abstractmethod
    def value(self, v: Float[Array, "M"]) -> Float[Array, ""]:
        """−log p̃(v), without the constant of the prior."""

    @abstractmethod
    def derivatives(self, v: Float[Array, "M"]) -> Derivatives:
        """`value` with its gradient and its Hessian."""


class Target(LogDensity):
    """p̃(v) ∝ N(v; 0, I) Π_i σ(a_iᵀ v) · U_M(v, h)   (`lossem` eq. 11; U = 1 without a utility).

    `rows` are the signed features a_i = ±φ(x_i); for the probit link they are divided by
    √(1 + r(x_i)), which integrates the residual of a sparse GP out exactly.
    """

    rows: Float[Array, "N M"]
    likelihood: Bernoulli
    utility: Utility | None = None

    @property
    def log_concave(self) -> bool:
        return self.utility is None

    @property
    def size(self) -> int:
        return self.rows.shape[1]

    @property
    def dtype(self) -> Any:
        return self.rows.dtype

    @property
    def certain(self) -> "Target":
        return Target(self.rows, self.likelihood)

    def value(self, v: Float[Array, "M"]) -> Float[Array, ""]:
        fit = jnp.sum(self.likelihood.log_sigmoid(self.rows @ v))
        gain = 0.0 if self.utility is None else self.utility.log(v)
        return 0.5 * v @ v - fit - gain

    def derivatives(self, v: Float[Array, "M"]) -> Derivatives:
        """−log p̃, its gradient (`lossem` eq. 27, in whitened coordinates) and its Hessian."""
        link = self.likelihood.log_sigmoid
        f = self.rows @ v
        slope = jax.vmap(jax.grad(link))(f)
        # Clipped, because terms cancel in the tails; links are log-concave.
        curvature = jnp.maximum(-jax.vmap(jax.grad(jax.grad(link)))(f), 0.0)
        value = 0.5 * v @ v - jnp.sum(link(f))
        gradient = v - self.rows.T @ slope
        hessian = jnp.eye(v.shape[0], dtype=v.dtype) + (self.rows.T * curvature) @ self.rows
        if self.utility is not None:
            gain = self.utility.expand(v)
            value = value - gain.log
            gradient = gradient - gain.gradient
            hessian = hessian - gain.hessian
        return Derivatives(value, gradient, hessian)
