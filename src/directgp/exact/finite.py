"""A Gaussian process as a finite vector v (`lossem` sections 4 and 7.1).

With support points Z, L Lᵀ = k(Z, Z), f(Z) = L v and v ~ N(0, I), every other value is

    f(x) | v ~ N(φ(x)ᵀ v, r(x)),   φ(x) = L⁻¹ k(Z, x),   r(x) = k(x, x) − |φ(x)|²

The support is the training inputs for an exact GP (the paper's θ is L⁻ᵀ v) and a set of inducing
points for a sparse one.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from directgp.kernels.base import Kernel
from directgp.linalg.triangular import add_jitter
from directgp.parameters import unwrap

JITTER = 1e-9


class Features(NamedTuple):
    """φ(x) [N M] and the residual variance r(x) [N] at N rows."""

    values: Float[Array, "N M"]
    residual: Float[Array, "N"]

    @property
    def scaled(self) -> Float[Array, "N M"]:
        """φ(x)/√(1 + r(x)): p(y = 1 | v) is Φ of this times v (`lossem` eq. 24)."""
        return self.values / jnp.sqrt(1.0 + self.residual)[:, None]


class FiniteGP(eqx.Module):
    """f ~ GP(0, kernel), represented by its values at M support points."""

    kernel: Kernel
    support: Float[Array, "M D"]

    def features(self, X: Float[Array, "N D"]) -> Features:
        """φ(x) and r(x) of rows: `lossem` eqs. (16)–(18) in whitened coordinates."""
        kernel = unwrap(self.kernel)
        covariance = add_jitter(kernel.matrix(self.support, self.support), JITTER)
        factor = jnp.linalg.cholesky(covariance)
        values = solve_triangular(factor, kernel.matrix(self.support, X), lower=True).T
        residual = kernel.diagonal(X) - jnp.sum(values**2, axis=1)
        return Features(values, jnp.maximum(residual, 0.0))


def signed(rows: Float[Array, "N M"], y: Float[Array, "N"]) -> Float[Array, "N M"]:
    """±φ, + for y = 1 and − for y = 0, so that all rows can be treated as positive.

    Args:
        rows: features φ.
        y: labels, 0 or 1.
    """
    return (2.0 * y - 1.0)[:, None] * rows
