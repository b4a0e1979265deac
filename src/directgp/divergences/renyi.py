"""Rényi's α-divergence in the parameterisation of `gvi` (eq. 22–23, corrected in `math.md`)."""

import math

import equinox as eqx
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from directgp.divergences.base import Divergence, WhitenedGaussian, divergences
from directgp.errors import DirectGPError
from directgp.parameters import diagonal


@divergences.register("renyi")
class Renyi(Divergence):
    """D_AR(q ‖ p) = 1/(α(α−1)) · log ∫ q^α p^{1−α}: KL(q ‖ p) as α → 1, KL(p ‖ q) as α → 0.

    Against p = N(0, I), with V = S Sᵀ and T = α I + (1 − α) V:

        D_AR = 1/(2α(1−α)) · Σ_p [ log |T_p| − (1 − α) log |V_p| + α(1 − α) m_pᵀ T_p⁻¹ m_p ]

    For α > 1 it is finite only if T is positive definite, V < α/(α−1) I.
    """

    alpha: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        if not 0.0 < self.alpha < math.inf or self.alpha == 1.0:
            raise DirectGPError(
                f"alpha of Renyi must be > 0 and not 1, got {self.alpha}; use KL() for 1"
            )

    def __call__(self, posterior: WhitenedGaussian) -> Float[Array, ""]:
        alpha = self.alpha
        mean, scale = posterior.moments()
        moments = _diagonal_moments if scale.ndim == 2 else _full_moments
        log_mixed, log_own, form = moments(mean, scale, alpha)
        total = log_mixed - (1.0 - alpha) * log_own + alpha * (1.0 - alpha) * form
        value = total / (2.0 * alpha * (1.0 - alpha))
        return jnp.where(jnp.isnan(value), jnp.inf, value)


def _diagonal_moments(mean: Array, scale: Array, alpha: float):
    """Σ log |T|, Σ log |V| and Σ mᵀT⁻¹m for standard deviations [P M]."""
    mixed = alpha + (1.0 - alpha) * scale**2
    return jnp.sum(jnp.log(mixed)), 2.0 * jnp.sum(jnp.log(scale)), jnp.sum(mean**2 / mixed)


def _full_moments(mean: Array, scale: Array, alpha: float):
    """The same sums for lower-triangular scales [P M M]."""
    eye = jnp.eye(scale.shape[-1], dtype=scale.dtype)
    factor = jnp.linalg.cholesky(alpha * eye + (1.0 - alpha) * scale @ scale.mT)
    solved = solve_triangular(factor, mean[..., None], lower=True)
    log_mixed = 2.0 * jnp.sum(jnp.log(diagonal(factor)))
    return log_mixed, 2.0 * jnp.sum(jnp.log(diagonal(scale))), jnp.sum(solved**2)
