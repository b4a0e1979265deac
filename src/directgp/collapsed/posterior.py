"""The closed-form q(u) that minimises a quadratic objective, by one pass over the rows."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float

from directgp.collapsed.rows import (
    Basis,
    Evidence,
    RowNoise,
    evidence,
    sum_over_rows,
)
from directgp.divergences.base import WhitenedGaussian
from directgp.errors import DirectGPError, WrongType
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.gaussian import Gaussian
from directgp.linalg.blocks import BLOCK
from directgp.models.base import Model
from directgp.models.sparse_gp import SparseGP
from directgp.objective import Batch
from directgp.parameters import float64, on_device, unwrap


def check_parts(model: Model, likelihood: Likelihood) -> None:
    """Raise an error unless this is a sparse GP with Gaussian noise.

    Args:
        model: any model.
        likelihood: any likelihood.
    """
    if not isinstance(model, SparseGP) or not isinstance(likelihood, Gaussian):
        raise WrongType(
            "a collapsed form needs a SparseGP and a Gaussian likelihood, got "
            f"{type(model).__name__} and {type(likelihood).__name__}; train with Objective(...)"
        )


def solve(
    total: Evidence, beta: Float[Array, ""], mean_field: bool = False
) -> tuple[Float[Array, "1 M"], Array]:
    """(mean, scale) of the q(v) that minimises Σ_i ω_i E_q[½(r_i − a_iᵀv)²] + β KL(q ‖ N(0, I)).

        q(v) = N(P⁻¹ b/β, P⁻¹),   P = I + Σ_i ω_i a_i a_iᵀ / β,   b = Σ_i ω_i a_i r_i

    P ⪰ I, so its Cholesky factorisation cannot fail. P is factored with reversed rows and columns,
    so that the inverse factor, after reversing again, is lower triangular.

    Args:
        total: sufficient statistics of all rows.
        beta: the weight of the divergence.
        mean_field: whether the covariance is diagonal; its variances are then 1 / P_jj.

    Returns:
        The mean, and a lower-triangular scale or standard deviations.
    """
    size = total.shift.shape[0]
    matrix = jnp.eye(size, dtype=total.shift.dtype) + total.precision / beta
    factor = jnp.linalg.cholesky(matrix[::-1, ::-1])
    mean = cho_solve((factor, True), total.shift[::-1] / beta)[::-1]
    if mean_field:
        return mean[None], (1.0 / jnp.sqrt(jnp.diagonal(matrix)))[None]
    inverse = solve_triangular(factor, jnp.eye(size, dtype=factor.dtype), lower=True)
    return mean[None], inverse.T[::-1, ::-1][None]


def collect(basis: Basis, noise: RowNoise, batch: Batch, scale: Float[Array, ""]) -> Evidence:
    """The sufficient statistics of all rows.

    Args:
        basis: the whitened basis of the model.
        noise: the variance that the objective assumes at each row.
        batch: the rows.
        scale: the number of rows that each one stands for.
    """
    total = sum_over_rows(partial(evidence, basis, noise), batch)
    return jax.tree.map(lambda part: scale * part, total)


def _gaussian_noise(likelihood: Gaussian) -> RowNoise:
    return lambda unexplained: jnp.full_like(unexplained, unwrap(likelihood.noise))


@float64
def optimal_posterior(
    model: SparseGP,
    likelihood: Gaussian,
    batch: Batch,
    *,
    beta: float | Float[Array, ""],
    mean_field: bool = False,
) -> WhitenedGaussian:
    """The q(u) that minimises Objective(Gibbs(LogLoss()), KL(), …) at these hyperparameters.

    Titsias' optimal q(u) with noise β·σ². The posterior of the model is ignored; replace it by
    ``equinox.tree_at(lambda m: m.posterior, model, posterior)``.

    Args:
        model: kernel, mean and inducing inputs.
        likelihood: the noise.
        batch: all training rows.
        beta: weight of the KL term.
        mean_field: whether the covariance is diagonal.
    """
    check_parts(model, likelihood)
    beta = jnp.asarray(beta, jnp.float64)
    mean, scale = _optimal(model, likelihood, batch, beta, mean_field)
    return WhitenedGaussian.from_moments(mean, scale)


@eqx.filter_jit
def _optimal(model, likelihood, batch, beta, mean_field):
    total = collect(Basis(model), _gaussian_noise(likelihood), batch, jnp.ones(()))
    return solve(total, beta, mean_field)


@float64
def optimal_posterior_streaming(
    model: SparseGP,
    likelihood: Gaussian,
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"] | None = None,
    *,
    beta: float | Float[Array, ""],
    mean_field: bool = False,
    block: int = 4 * BLOCK,
) -> WhitenedGaussian:
    """`optimal_posterior` for arrays larger than memory, one block at a time.

    The arrays may be memory-mapped and of any float type; each row is read once, and memory is
    O(block · M).

    Args:
        model: kernel, mean and inducing inputs.
        likelihood: the noise.
        X: inputs.
        y: targets.
        weight: of the rows; None is 1 for all.
        beta: weight of the KL term.
        mean_field: whether the covariance is diagonal.
        block: the number of rows in memory.
    """
    check_parts(model, likelihood)
    if len(y) == 0:
        raise DirectGPError("optimal_posterior_streaming needs at least one row, got none")
    basis = eqx.filter_jit(Basis)(model)
    total = None
    for first in range(0, len(y), block):
        rows = slice(first, first + block)
        columns = X[rows], y[rows], np.ones(len(y[rows])) if weight is None else weight[rows]
        total = _add_evidence(
            total, basis, likelihood, Batch(*(on_device(c, np.float64) for c in columns))
        )
    assert total is not None
    mean, scale = solve(total, jnp.asarray(beta, jnp.float64), mean_field)
    return WhitenedGaussian.from_moments(mean, scale)


@eqx.filter_jit
def _add_evidence(total, basis, likelihood, rows):
    more = evidence(basis, _gaussian_noise(likelihood), rows)
    return more if total is None else jax.tree.map(jnp.add, total, more)
