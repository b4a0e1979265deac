"""The predictive variance of square-loss DLM, whose objective determines the mean only.

The optimal mean m = P⁻¹ A r / β, P = I + A Aᵀ/β (A = [a_1 … a_n]), is the posterior mean of
every model f ~ GP(mean, c·k) with noise c·β, c > 0, and P⁻¹ is the posterior covariance of v
in all of them. The scale c and the noise c·ρ minimise the leave-one-out log loss. A linear smoother
has closed-form leave-one-out predictions (Rasmussen and Williams 2006, section 5.4.2): with
q_i = a_iᵀP⁻¹a_i and leverage h_i = q_i/β,

    error       e_i = (r_i − a_iᵀm) / (1 − h_i)
    variance    c (t_i + ρ),   t_i = Var[f_i | u] + q_i / (1 − h_i)

and for each ρ the best scale is c = mean_i e_i² / (t_i + ρ). ρ is searched on a grid.

Leave-one-out errors are needed because training residuals, and a noise variance fitted to them, are
far below the test error.
"""

from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.collapsed.posterior import collect, solve
from directgp.collapsed.rows import Basis, sum_over_rows
from directgp.divergences.base import WhitenedGaussian
from directgp.kernels import Scaled
from directgp.likelihoods.gaussian import Gaussian
from directgp.models.sparse_gp import SparseGP
from directgp.objective import Batch

_RATIOS = np.logspace(-8.0, 8.0, 97)
_LEAST_NOISE = 2e-6
_LEAST_SCALE = 1e-10


class CalibratedScale(Scaled):
    """The scale that calibration gave a kernel; a class of its own, so that it can be removed."""


class _LeftOut(NamedTuple):
    """Weighted sums over rows of e_i²/(t_i + ρ), log(t_i + ρ) (for every ρ) and 1."""

    misfit: Float[Array, "R"]
    logarithm: Float[Array, "R"]
    weight: Float[Array, ""]


def calibrated(model: SparseGP, batch: Batch, beta: Float[Array, ""]) -> tuple[SparseGP, Gaussian]:
    """The square-loss model with the scale and noise that minimise the leave-one-out log loss.

    Its kernel is multiplied by c; its predictive mean is that of the square-loss optimum.

    Args:
        model: hyperparameters and inducing inputs.
        batch: the training rows.
        beta: the weight of the divergence.
    """
    mean, scale, size, noise = _solve_and_calibrate(model, batch, beta)
    posterior = WhitenedGaussian.from_moments(mean / jnp.sqrt(size), scale)
    scaled = CalibratedScale(model.kernel, float(size))
    model = eqx.tree_at(lambda m: (m.kernel, m.posterior), model, (scaled, posterior))
    return model, Gaussian(max(float(noise), _LEAST_NOISE))


@eqx.filter_jit
def _solve_and_calibrate(model, batch, beta):
    basis = Basis(model)
    total = collect(basis, jnp.ones_like, batch, jnp.ones(()))
    mean, scale = solve(total, beta)
    typical = jnp.sum(batch.weight * model.kernel.diagonal(batch.X)) / jnp.sum(batch.weight)
    ratios = typical * jnp.asarray(_RATIOS)

    def left_out(rows: Batch) -> _LeftOut:
        inner, unexplained, target = basis.features(rows.X, rows.y)
        known = jnp.sum((scale[0].T @ inner) ** 2, axis=0)
        kept = jnp.maximum(1.0 - rows.weight * known / beta, 1e-8)
        error = (target - mean[0] @ inner) / kept
        variance = (unexplained + known / kept)[:, None] + ratios
        return _LeftOut(
            rows.weight @ (error[:, None] ** 2 / variance),
            rows.weight @ jnp.log(variance),
            jnp.sum(rows.weight),
        )

    sums = sum_over_rows(left_out, batch)
    sizes = jnp.maximum(sums.misfit / sums.weight, _LEAST_SCALE)
    losses = jnp.log(sizes) + sums.logarithm / sums.weight
    best = jnp.argmin(losses)
    return mean, scale, sizes[best], sizes[best] * ratios[best]
