"""Gauss–Hermite quadrature centred on the mode of the integrand, which plain nodes may miss."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation, expectations
from directgp.expectations.envelopes import (
    TiltedPeak,
    log_likelihood,
    tilted_peak,
)
from directgp.expectations.gauss_hermite import GaussHermite
from directgp.likelihoods.integrands import LogPower, LogProb
from directgp.likelihoods.normal import log_normal
from directgp.parameters import without_gradient


@expectations.register("centred-quadrature")
class CentredQuadrature(Expectation):
    """Log E_q[p(y | f)^c] with nodes around the mode f* of q(f) p(y | f)^c, c = 1 or a power.

        log Σ_k w_k q(f_k) p(y | f_k)^c / N(f_k | f*, s²),   f_k = f* + s ξ_k

    If p(y | f) is unimodal but not log-concave, the product can have two modes. There are then two
    centres j, and the sum over the nodes of both is divided by Σ_j N(f | f*_j, s_j²), a smooth
    partition of unity.

    For a count of 500 under q = N(0, 1) all mass is where plain Gauss–Hermite has no nodes. The
    nodes are not differentiated, because the integral does not depend on them; q and the parameters
    of the likelihood are. `mean` is plain Gauss–Hermite.
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
    """One or two modes with their widths, constant under differentiation.

    q(f) p(y | f)^c is the c-th power of p(y | f) times a Gaussian of variance c·v, with the same
    modes and with widths smaller by the factor √c.
    """
    fixed = without_gradient((likelihood, y, mean, power * variance))
    ends = (False,) if likelihood.log_concave else (False, True)
    peaks = [tilted_peak(*fixed, from_far=end) for end in ends]
    return [TiltedPeak(peak.mode, peak.width / power**0.5) for peak in peaks]
