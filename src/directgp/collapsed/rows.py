"""Sums over rows for the collapsed objectives, in blocks, without [N N] or [N M D] arrays."""

from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, PyTree

from directgp.linalg.blocks import BLOCK, to_blocks
from directgp.linalg.triangular import add_jitter, inverse_cholesky
from directgp.models.sparse_gp import JITTER, SparseGP
from directgp.objective import Batch
from directgp.parameters import unwrap


class Features(NamedTuple):
    """A block of rows in the whitened basis: f_i = a_iᵀ v + residual."""

    inner: Float[Array, "M N"]
    """a_i = L⁻¹ k(Z, x_i), one column per row."""
    unexplained: Float[Array, "N"]
    """k(x_i, x_i) − |a_i|² = Var[f_i | u], never below zero."""
    target: Float[Array, "N"]
    """y_i − mean(x_i)."""


class Basis(eqx.Module):
    """The whitened basis of a sparse GP: L Lᵀ = K_uu with the jitter `SparseGP` uses."""

    model: SparseGP
    inverse_factor: Float[Array, "M M"]

    def __init__(self, model: SparseGP):
        Z = unwrap(model.inducing)
        covariance = add_jitter(model.kernel.matrix(Z, Z), JITTER)
        self.model, self.inverse_factor = model, inverse_cholesky(covariance)

    def features(self, X: Float[Array, "N D"], y: Float[Array, "N"]) -> Features:
        """a_i, Var[f_i | u] and y_i − mean(x_i) of every row.

        Args:
            X: inputs.
            y: targets.
        """
        cross = self.model.kernel.matrix(unwrap(self.model.inducing), X)
        inner = self.inverse_factor @ cross
        unexplained = self.model.kernel.diagonal(X) - jnp.sum(inner**2, axis=0)
        target = y - self.model.mean_function(X)[:, 0]
        return Features(inner, jnp.maximum(unexplained, 0.0), target)


class Evidence(NamedTuple):
    """Sufficient statistics of the rows for v: Σ ω_i a_i a_iᵀ and Σ ω_i a_i (y_i − mean_i)."""

    precision: Float[Array, "M M"]
    shift: Float[Array, "M"]


RowNoise = Callable[[Float[Array, "N"]], Float[Array, "N"]]
"""Maps Var[f_i | u] of every row to the variance of y_i given a_iᵀ v in the objective."""


def evidence(basis: Basis, noise: RowNoise, rows: Batch) -> Evidence:
    """The sufficient statistics of a block, with ω_i = weight_i / noise_i.

    Args:
        basis: the whitened basis of the model.
        noise: the variance that the objective assumes at each row.
        rows: of the block.
    """
    inner, unexplained, target = basis.features(rows.X, rows.y)
    weighted = inner * (rows.weight / noise(unexplained))
    return Evidence(weighted @ inner.T, weighted @ target)


def sum_over_rows(function: Callable[[Batch], PyTree], batch: Batch) -> PyTree:
    """Σ_blocks function(rows of the block), without derivatives.

    Args:
        function: a sum over rows with the weight as a factor, because the last block is padded with
            rows of weight zero.
        batch: all rows.
    """
    if batch.y.shape[0] <= BLOCK:
        return function(batch)
    blocks = to_blocks(batch)
    shapes = jax.eval_shape(function, jax.tree.map(lambda column: column[0], blocks))
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def add(total: PyTree, rows: Batch):
        return jax.tree.map(jnp.add, total, function(rows)), None

    return lax.scan(add, zero, blocks)[0]
