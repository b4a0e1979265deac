"""Gauss–Hermite quadrature centred on the peak of the integrand, which plain nodes may miss."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import logsumexp

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation
from directgp.expectations.envelopes import (
    TiltedPeak,
    log_likelihood,
    log_normal,
    tilted_peak,
)
from directgp.expectations.gauss_hermite import GaussHermite
from directgp.likelihoods.integrands import LogPower, LogProb


class CentredQuadrature(Expectation):
    """Log E_q[p(y | f)^c] with nodes around the mode f* of q(f) p(y | f)^c, c = 1 or a power.

        log Σ_k w_k q(f_k) p(y | f_k)^c / N(f_k | f*, s²),   f_k = f* + s ξ_k

    A p(y | f) with one peak that is not log-concave can give the product two modes: there are
    then two centres j, and the sum over both divides by Σ_j N(f | f*_j, s_j²), which shares every
    f smoothly between them.

    A count of 500 under q = N(0, 1) has all its mass where plain Gauss–Hermite has no node;
    here the nodes go there. The nodes carry no derivative (the integral does not depend on
    where they are); q and the likelihood's parameters do. `mean` is plain Gauss–Hermite.
    """

    points: int = eqx.field(static=True, default=20)

    def __check_init__(self):
        if self.points < 1:
            raise DirectGPError(f"CentredQuadrature needs at least 1 point, got {self.points}")

    def _mean(self, integrand, y, mean, variance, key):
        return GaussHermite(self.points).mean(integrand, y, mean, variance, key)

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        likelihood = integrand.likelihood
        if type(integrand) not in (LogProb, LogPower) or likelihood.num_latents != 1:
            raise DirectGPError(
                f"CentredQuadrature needs a power of p(y | f) of one latent value, got "
                f"{type(integrand).__name__} of {type(likelihood).__name__} with "
                f"{likelihood.num_latents}; use GaussHermite() or MonteCarlo(samples)"
            )
        power = integrand.power - 1.0 if isinstance(integrand, LogPower) else 1.0
        mean, variance = mean[..., 0], variance[..., 0]
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.points)
        steps = jnp.asarray(nodes, mean.dtype)[:, None, None]
        log_weights = jnp.asarray(np.log(weights / weights.sum()), mean.dtype)[:, None, None]
        peaks = _peaks(likelihood, y, mean, variance, power)
        f = jnp.concatenate([peak.mode + peak.width * steps for peak in peaks])
        shares = jnp.stack([log_normal(f, peak.mode, peak.width**2) for peak in peaks])
        log_terms = (
            jnp.tile(log_weights, (len(peaks), 1, 1))
            + log_normal(f, mean, variance)
            + power * log_likelihood(likelihood, y)(f)
            - logsumexp(shares, axis=0)
        )
        return logsumexp(log_terms, axis=0)


def _peaks(likelihood, y, mean, variance, power: float) -> list[TiltedPeak]:
    """The modes and their widths as numbers without a derivative: one, or two candidates.

    q(f) p(y | f)^c is, but for the power c, p(y | f) under a q of variance c·v: the same modes, and
    widths that are √c times as large.
    """
    arrays, rest = eqx.partition((likelihood, y, mean, power * variance), eqx.is_inexact_array)
    fixed = eqx.combine(lax.stop_gradient(arrays), rest)
    ends = (False,) if likelihood.log_concave else (False, True)
    peaks = [tilted_peak(*fixed, from_far=end) for end in ends]
    return [TiltedPeak(peak.mode, peak.width / power**0.5) for peak in peaks]
