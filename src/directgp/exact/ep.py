"""Expectation propagation for either link, with or without (probit only) a utility factor.

    q(v) ∝ N(v; 0, I) Π_i exp(ν_i f_i − ½ τ_i f_i²) · exp(rᵀv − ½ vᵀΛv),    f_i = a_iᵀ v

The mass Z(m, s) = E[σ(f)], f ~ N(m, s), has a closed form for the probit; for the logistic it is
the trapezoidal rule over q(f) σ(f), which converges geometrically, and so do its derivatives.

Sites are refined one after the other, which converges where updates in parallel can oscillate.
Probit sites have τ ≥ 0, so a cavity variance s/(1 − τs) is always positive; ratios N(z)/Φ(z) are
taken in log space. The last factor stands for the utility (loss-calibrated EP, which `lossem`
section 5 leaves open): its moments under a Gaussian cavity are exact, since U_M is a mixture of
probits; tilted moments are those of a real distribution, so q always has a proper covariance.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import cho_solve
from jax.scipy.special import log_ndtr, logsumexp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.exact.laplace import without_derivative
from directgp.exact.posterior import Posterior
from directgp.exact.target import Target
from directgp.exact.utility import Utility
from directgp.likelihoods.bernoulli import Bernoulli, BernoulliProbit

_LOG_ROOT_2PI = 0.9189385332046727
_LEAST_SHARE = 1e-12
_POINTS = 400
_REACH = 7.5


class Sites(NamedTuple):
    """Natural parameters: τ, ν of every observation; Λ, r of the utility."""

    precision: Float[Array, "N"]
    shift: Float[Array, "N"]
    utility_precision: Float[Array, "M M"]
    utility_shift: Float[Array, "M"]


class Propagated(NamedTuple):
    """q with its utility factor, q without it (its cavity), and the sites to start again from."""

    posterior: Posterior
    untilted: Posterior
    sites: Sites


def ep(
    target: Target,
    start: Sites | None = None,
    *,
    tolerance: float = 1e-9,
    max_sweeps: int = 100,
    damping: float = 1.0,
) -> Propagated:
    """Refine all sites until convergence; log q(y) is the EP evidence.

    Differentiable in the parameters of the target: at the fixed point the evidence is stationary in
    the sites, so its gradient with fixed sites is its gradient.

    Args:
        target: the density to approximate.
        start: initial sites; None starts at the prior.
        tolerance: the largest change of a site at convergence.
        max_sweeps: the maximum number of passes over all sites.
        damping: the share of each change that is applied; 1 is no damping.
    """
    if target.utility is not None and type(target.likelihood) is not BernoulliProbit:
        raise DirectGPError(
            f"EP with a utility is for the probit link, got {type(target.likelihood).__name__}; "
            "use BernoulliProbit(), or Laplace for any link"
        )
    fixed = without_derivative(target)
    sites, sweeps, converged = _fixed_point(fixed, start, tolerance, max_sweeps, damping)
    sites = lax.stop_gradient(sites)
    moments = _moments(target.rows, sites)
    cavity = _moments(target.rows, _without_utility(sites))
    evidence = _log_evidence(target, sites, moments, cavity)
    plain = Posterior(cavity.mean, cavity.covariance, evidence, sweeps, converged)
    if target.utility is None:
        return Propagated(plain, plain, sites)
    tilted = Posterior(moments.mean, moments.covariance, evidence, sweeps, converged)
    return Propagated(tilted, plain, sites)


class _Moments(NamedTuple):
    mean: Array
    covariance: Array
    log_normaliser: Array


def _moments(rows: Array, sites: Sites) -> _Moments:
    """Q from its sites, and log ∫ N(v; 0, I) Π sites dv."""
    size = rows.shape[1]
    precision = jnp.eye(size, dtype=rows.dtype) + sites.utility_precision
    factor = jnp.linalg.cholesky(precision + (rows.T * sites.precision) @ rows)
    shift = rows.T @ sites.shift + sites.utility_shift
    mean = cho_solve((factor, True), shift)
    covariance = cho_solve((factor, True), jnp.eye(size, dtype=rows.dtype))
    log_normaliser = 0.5 * shift @ mean - jnp.sum(jnp.log(jnp.diag(factor)))
    return _Moments(mean, covariance, log_normaliser)


def _without_utility(sites: Sites) -> Sites:
    return sites._replace(
        utility_precision=jnp.zeros_like(sites.utility_precision),
        utility_shift=jnp.zeros_like(sites.utility_shift),
    )


def _fixed_point(
    target: Target, start, tolerance, max_sweeps, damping
) -> tuple[Sites, Array, Array]:
    rows = target.rows
    count, size = rows.shape
    zeros = Sites(
        jnp.zeros(count, rows.dtype),
        jnp.zeros(count, rows.dtype),
        jnp.zeros((size, size), rows.dtype),
        jnp.zeros(size, rows.dtype),
    )

    def unfinished(state):
        _, change, sweeps = state
        return (change > tolerance) & (sweeps < max_sweeps)

    def improve(state):
        old, _, sweeps = state
        new = _sweep(target.likelihood, rows, old, damping)
        if target.utility is not None:
            new = _refine_utility(target.utility, rows, new)
        scale = 1.0 + jnp.abs(old.precision) + jnp.abs(old.shift)
        moved = jnp.abs(new.precision - old.precision) + jnp.abs(new.shift - old.shift)
        tilted = jnp.abs(new.utility_shift - old.utility_shift)
        return new, jnp.maximum(jnp.max(moved / scale), jnp.max(tilted)), sweeps + 1.0

    begin = zeros if start is None else start
    first = (begin, jnp.full((), jnp.inf, rows.dtype), jnp.zeros((), rows.dtype))
    sites, change, sweeps = lax.while_loop(unfinished, improve, first)
    return sites, sweeps, change <= tolerance


def _sweep(likelihood: Bernoulli, rows: Array, sites: Sites, damping: float) -> Sites:
    """Refine every observation's site once; q follows each by a rank-one update."""
    start = _moments(rows, sites)

    def refine(i, state):
        mean, covariance, precision, shift = state
        a, tau, nu = rows[i], precision[i], shift[i]
        # Sums, not products: inside a loop XLA fuses them, and M is small.
        direction = jnp.sum(covariance * a, axis=1)
        m, s = jnp.sum(a * mean), jnp.sum(a * direction)
        new_tau, new_nu = matched_site(likelihood, *_cavity(m, s, tau, nu))
        step_tau, step_nu = damping * (new_tau - tau), damping * (new_nu - nu)
        share = 1.0 + step_tau * s
        mean = mean + direction * (step_nu - step_tau * m) / share
        covariance = covariance - jnp.outer(direction, direction) * (step_tau / share)
        return mean, covariance, precision.at[i].add(step_tau), shift.at[i].add(step_nu)

    first = (start.mean, start.covariance, sites.precision, sites.shift)
    _, _, precision, shift = lax.fori_loop(0, rows.shape[0], refine, first)
    return sites._replace(precision=precision, shift=shift)


def _cavity(m, s, tau, nu):
    """Mean and variance of f without its own site."""
    share = jnp.maximum(1.0 - tau * s, _LEAST_SHARE)
    return (m - nu * s) / share, s / share


def matched_site(likelihood: Bernoulli, m, s):
    """The site whose product with N(m, s) has the moments of N(m, s) σ(f); τ ≥ 0.

    Args:
        likelihood: with its link σ.
        m: mean of the cavity.
        s: variance of the cavity.

    Returns:
        τ and ν.
    """
    slope, bend = _mass_derivatives(likelihood, m, s)
    left = 1.0 - bend * s
    return bend / left, (slope + m * bend) / left


def _mass_derivatives(likelihood: Bernoulli, m, s):
    """∂ log Z/∂m and −∂² log Z/∂m², the latter in [0, 1/s)."""
    if type(likelihood) is BernoulliProbit:
        root = jnp.sqrt(1.0 + s)
        z = m / root
        ratio = jnp.exp(-0.5 * z**2 - _LOG_ROOT_2PI - log_ndtr(z))
        # r(z + r) lies in (0, 1); far out in the left tail its two terms cancel.
        return ratio / root, jnp.clip(ratio * (z + ratio), 0.0, 1.0) / (1.0 + s)
    slope, by_variance = jax.grad(log_mass, argnums=(1, 2))(likelihood, m, s)
    # Z solves the heat equation, ∂²Z/∂m² = 2 ∂Z/∂s.
    return slope, jnp.clip(slope**2 - 2.0 * by_variance, 0.0, (1.0 - _LEAST_SHARE) / s)


def log_mass(likelihood: Bernoulli, m, s):
    """Log Z = log E[σ(f)], f ~ N(m, s).

    Args:
        likelihood: with its link σ.
        m: means, of any shape.
        s: variances.
    """
    if type(likelihood) is BernoulliProbit:
        return log_ndtr(m / jnp.sqrt(1.0 + s))
    # q(f) σ(f) lies between q and q moved by s, never beyond 0: its slope there is at most 1.
    fixed_m, fixed_s = lax.stop_gradient((m, s))
    low = fixed_m - _REACH * jnp.sqrt(fixed_s)
    high = jnp.maximum(fixed_m, jnp.minimum(fixed_m + fixed_s, 0.0)) + _REACH * jnp.sqrt(fixed_s)
    step = (high - low) / (_POINTS - 1)
    f = low + step * jnp.arange(_POINTS, dtype=low.dtype).reshape(-1, *(1,) * low.ndim)
    log_density = -0.5 * (f - m) ** 2 / s - 0.5 * jnp.log(s) - _LOG_ROOT_2PI
    return logsumexp(likelihood.log_sigmoid(f) + log_density, axis=0) + jnp.log(step)


def _refine_utility(utility: Utility, rows: Array, sites: Sites) -> Sites:
    """Match mean and covariance of cavity · U_M exactly: Λ = −H (I + V H)⁻¹, r = Λ m' + g."""
    cavity = _moments(rows, _without_utility(sites))
    gain = utility.expand(cavity.mean, cavity.covariance)
    mean = cavity.mean + cavity.covariance @ gain.gradient
    eye = jnp.eye(rows.shape[1], dtype=rows.dtype)
    precision = -jnp.linalg.solve((eye + cavity.covariance @ gain.hessian).T, gain.hessian).T
    precision = 0.5 * (precision + precision.T)
    return sites._replace(
        utility_precision=precision, utility_shift=precision @ mean + gain.gradient
    )


def _log_evidence(target: Target, sites: Sites, q: _Moments, cavity: _Moments) -> Array:
    """Log ∫ prior · sites + Σ_i log (Z_i / Z̃_i), Z the mass of a cavity times its true factor."""
    m = target.rows @ q.mean
    s = jnp.sum((target.rows @ q.covariance) * target.rows, axis=1)
    m, s = _cavity(m, s, sites.precision, sites.shift)
    true_mass = log_mass(target.likelihood, m, s)
    tau, nu = sites.precision, sites.shift
    square = (2.0 * m * nu + nu**2 * s - m**2 * tau) / (1.0 + tau * s)
    site_mass = 0.5 * square - 0.5 * jnp.log1p(tau * s)
    total = q.log_normaliser + jnp.sum(true_mass - site_mass)
    if target.utility is None:
        return total
    tilted_mass = q.log_normaliser - cavity.log_normaliser
    return total + target.utility.log(cavity.mean, cavity.covariance) - tilted_mass
