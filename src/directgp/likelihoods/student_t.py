"""Student-t likelihood: a location with heavy-tailed noise, for measurements with outliers."""

import math
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import gammaln, logsumexp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood, likelihoods
from directgp.likelihoods.closed_forms import closed_form, location_forms
from directgp.likelihoods.integrands import LogProb
from directgp.likelihoods.targets import as_numbers
from directgp.parameters import float64, frozen, is_learned, positive, unwrap, with_value
from directgp.predictive import StudentTMixture

_NOISE_POINTS = 28
_EVIDENCE_POINTS = 96
_OUTCOME_POINTS = 35
_LOG_BEYOND = 10.0
"""−log of the tail probability beyond the outermost nodes."""

_LEAST_LEARNED_DF = 2.1
"""Lower limit of a learned df; the variance is 21 scale² there."""


@likelihoods.register("student-t")
class StudentT(Likelihood):
    """p(y | f) = t_df((y − f)/scale)/scale, with `scale` and `df` learned or fixed (`dlm` Table 1).

        log p = log Γ((df+1)/2) − log Γ(df/2) − ½ log(df π) − log scale
                − ½(df + 1) log(1 + (y − f)²/(df scale²))

    `df` stays above 1, so that the mean exists; the variance is infinite for df ≤ 2. A learned `df`
    that starts above 2.1 stays above 2.1, so that predictive variances are finite.

    >>> likelihood = StudentT(scale=0.5, df=4.0, learn_df=False)
    >>> p = likelihood.predictive(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), np.zeros(1))
    >>> p.variance.round(4).tolist()                         # 1 + 0.5² · 4/(4 − 2)
    [1.5]
    """

    standardise_targets: ClassVar[bool] = True
    scale: Any
    df: Any

    def __init__(
        self,
        scale: float = 0.3,
        df: float = 4.0,
        learn_scale: bool = True,
        learn_df: bool = True,
        minimum: float = 1e-3,
    ):
        if not df > 1:
            raise DirectGPError(f"df of StudentT must be above 1, got {df}; use e.g. 4")
        self.scale = _learned(positive(scale, minimum), learn_scale)
        least = _LEAST_LEARNED_DF if learn_df and df > _LEAST_LEARNED_DF else 1.0
        self.df = _learned(positive(df, least), learn_df)

    @property
    def num_latents(self) -> int:
        return 1

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        scale, df = unwrap(self.scale), unwrap(self.df)
        z = (y - f[..., 0]) / scale
        return _log_peak(scale, df) - 0.5 * (df + 1.0) * jnp.log1p(z**2 / df)

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return f[..., 0]

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """scale² df/(df − 2), ∞ for df ≤ 2."""
        scale, df = unwrap(self.scale), unwrap(self.df)
        excess = jnp.where(df > 2.0, df - 2.0, 1.0)
        return jnp.full(f.shape[:-1], jnp.where(df > 2.0, scale**2 * df / excess, jnp.inf))

    def latent_noise(self, f: Float[Array, "*B P"]) -> Float[Array, "*B P"]:
        """1/(Fisher information) = scale² (df + 3)/(df + 1), finite for every df."""
        scale, df = unwrap(self.scale), unwrap(self.df)
        return jnp.full(f.shape, scale**2 * (df + 3.0) / (df + 1.0))

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        return y[..., None]

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.full(y.shape, _log_peak(unwrap(self.scale), unwrap(self.df)))

    @property
    def has_learned_noise(self) -> bool:
        return is_learned(self.scale)

    def with_more_noise(self, amount: Any) -> "StudentT | None":
        """The scale √(scale² + `amount`)."""
        if not self.has_learned_noise:
            return None
        scale = with_value(self.scale, jnp.sqrt(unwrap(self.scale) ** 2 + amount))
        return eqx.tree_at(lambda likelihood: likelihood.scale, self, scale)

    def in_units(self, scale: Any) -> dict[str, Any]:
        noise_scale = np.asarray(unwrap(self.scale)) * scale
        return {"noise_scale": noise_scale.tolist(), "df": float(unwrap(self.df))}

    def noise_mixture(self) -> tuple[Float[Array, "K"], Float[Array, "K"]]:
        """t_df = N(0, 1/τ) with τ ~ Gamma(df/2, df/2), on an even grid in log τ.

        Only the weights are differentiated with respect to df, not the grid. Large variances
        contribute to a score by the square of their probability, which sets the lower end.
        """
        scale, df = unwrap(self.scale), unwrap(self.df)
        shape = 0.5 * lax.stop_gradient(df)
        low = -jnp.minimum(10.0 / jnp.sqrt(shape), 12.0)
        high = jnp.minimum(jnp.sqrt(90.0 / shape), jnp.log1p(45.0 / shape) + 1.0)
        log_precision = low + (high - low) * jnp.linspace(0.0, 1.0, _NOISE_POINTS)
        log_density = 0.5 * df * (log_precision - jnp.exp(log_precision))
        return log_density - logsumexp(log_density), scale**2 * jnp.exp(-log_precision)

    def log_power_integral(self, f: Float[Array, "*B P"], power: float) -> Float[Array, "*B"]:
        """Log I = power log t(0) + log(scale √df) + log B(½, ½(power (df + 1) − 1))."""
        scale, df = unwrap(self.scale), unwrap(self.df)
        rest = 0.5 * (power * (df + 1.0) - 1.0)
        log_beta = gammaln(0.5) + gammaln(rest) - gammaln(rest + 0.5)
        spread = jnp.log(scale) + 0.5 * jnp.log(df)
        return jnp.full(f.shape[:-1], power * _log_peak(scale, df) + spread + log_beta)

    def outcome_rule(
        self, mean: Float[Array, "S N P"], variance: Float[Array, "S N P"]
    ) -> tuple[Float[Array, "K S N"], Float[Array, "K S N"]]:
        """Nodes μ_s + a sinh u on a uniform grid of u, weighted by their density under component s.

        With a² = df (v_s + scale²) the tail beyond u is about cosh(u)^−df for every df, and the
        trapezoidal rule converges geometrically. Only the weights are differentiated.
        """
        fixed, m, v = lax.stop_gradient((unwrap(self), mean[..., 0], variance[..., 0]))
        beyond = jnp.expm1(_LOG_BEYOND / fixed.df)
        reach = jnp.log1p(beyond + jnp.sqrt(beyond * (beyond + 2.0)))  # arcosh(e^{10/df})
        u = reach * jnp.linspace(-1.0, 1.0, _OUTCOME_POINTS)[:, None, None]
        y = m + jnp.sqrt(fixed.df * (v + fixed.scale**2)) * jnp.sinh(u)
        log_density = jax.vmap(lambda at: _log_evidence(LogProb(self), at, mean, variance))(y)
        log_weights = log_density + jnp.log(jnp.cosh(u))
        return y, log_weights - logsumexp(log_weights, axis=0)

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """The median, which is robust to outliers."""
        return np.array([np.median(y)])

    @float64
    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> StudentTMixture:
        scale, df = float(unwrap(self.scale)), float(unwrap(self.df))
        return StudentTMixture(mean[..., 0], variance[..., 0], log_weights, scale, df)

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return as_numbers(y, "finite numbers")


def _learned(parameter: Any, learn: bool) -> Any:
    return parameter if learn else frozen(parameter)


def _log_peak(scale: Array, df: Array) -> Array:
    """Log t_df(0)/scale."""
    gammas = gammaln(0.5 * (df + 1.0)) - gammaln(0.5 * df)
    return gammas - 0.5 * jnp.log(df * math.pi) - jnp.log(scale)


location_forms(StudentT)


@closed_form(LogProb, StudentT, "log_mean_exp")
def _log_evidence(integrand, y, mean, variance):
    """Log E_q[p(y | f)] = log ∫ N(y | μ, v + scale²/τ) Gamma(τ | df/2, df/2) dτ.

    The integrand is smooth in log τ for every q. A uniform grid, from the precision that the
    farthest outlier requires to the upper end of the prior, gives eight digits.
    """
    likelihood = integrand.likelihood
    scale, df = unwrap(likelihood.scale), unwrap(likelihood.df)
    shape, fixed = 0.5 * df, lax.stop_gradient(0.5 * df)
    squared, v = (y - mean[..., 0]) ** 2, variance[..., 0]
    distance = lax.stop_gradient(squared / scale**2)
    outlier = jnp.minimum(jnp.log((2.0 * fixed + 1.0) / (2.0 * fixed + distance)), 0.0)
    low = outlier - jnp.maximum(20.0 / fixed, 8.0 / jnp.sqrt(fixed))
    high = jnp.minimum(jnp.sqrt(90.0 / fixed), jnp.log1p(45.0 / fixed) + 1.0)
    step = (high - low) / (_EVIDENCE_POINTS - 1)
    u = low + step * jnp.arange(_EVIDENCE_POINTS, dtype=low.dtype)[:, None, None]
    log_gamma = shape * jnp.log(shape) - gammaln(shape) + shape * (u - jnp.exp(u))
    total = v + scale**2 * jnp.exp(-u)
    log_normal = -0.5 * (math.log(2.0 * math.pi) + jnp.log(total) + squared / total)
    return logsumexp(log_gamma + log_normal, axis=0) + jnp.log(step)
