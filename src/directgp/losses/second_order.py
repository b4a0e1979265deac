"""Masegosa's second-order loss: the log loss of the ELBO minus a variance term."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogPower, LogProb
from directgp.losses.base import Integrals, Loss, Need, Score, losses
from directgp.losses.log import LogLoss

_SERIES = 1e-3


@losses.register("second-order")
class SecondOrder(Loss):
    """E_q[−log p(y | f)] − h · Var_q[p(y | f)]: above the direct log loss, below the Gibbs one.

    Masegosa (2020), "Learning under model misspecification": with m = max_f p(y | f) and
    μ = E_q[p(y | f)], Taylor's formula for the logarithm (Liao & Berg 2019) gives

        h = 1 / (2 m²)                                        (his Theorem 2)
        h = (log μ − log m) / (m − μ)² + 1 / (μ (m − μ))      (tight=True)

    and −log μ ≤ tight ≤ plain ≤ E_q[−log p(y | f)] for every q, mixtures included. It rewards a
    large variance of p(y | f) under q. With tight=False it contains no logarithm of an expectation:
    Monte Carlo estimates of m, E_q[p] and E_q[p²] are unbiased.
    """

    tight: bool = eqx.field(static=True, default=False)
    score: Score = eqx.field(default_factory=LogLoss)

    def __check_init__(self):
        if not isinstance(self.score, LogLoss):
            raise DirectGPError(
                f"SecondOrder is a log loss and has no form of {type(self.score).__name__}; use "
                "Gibbs or Direct for that score"
            )

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        gibbs = -integrals.mean(LogProb(likelihood))
        own = likelihood.at_rows(integrals.marginals.mean[0])
        largest = own.log_max(integrals.y)
        # r = E[p]/m and s = E[p²]/m², both at most 1; s ≥ r² but for rounding.
        log_r = jnp.minimum(integrals.log_mean_exp(LogProb(likelihood)) - largest, 0.0)
        log_s = integrals.log_mean_exp(LogPower(likelihood, 3.0)) - 2.0 * largest
        log_s = jnp.clip(log_s, 2.0 * log_r, log_r)
        share = -jnp.expm1(2.0 * log_r - log_s)  # Var[p] / E[p²]
        if not self.tight:
            return gibbs - 0.5 * jnp.exp(log_s) * share
        return gibbs - jnp.exp(log_s - log_r) * share * _tight_weight(log_r)

    @property
    def needs(self) -> tuple[Need, ...]:
        return ((LogProb, "mean"), (LogProb, "log_mean_exp"), (LogPower, "log_mean_exp"))


losses.register("second-order-tight")(lambda: SecondOrder(tight=True))


def _tight_weight(log_r: Float[Array, "N"]) -> Float[Array, "N"]:
    """R·m²·h = r log r / (1 − r)² + 1 / (1 − r) of r = μ/m: from 1 at r → 0 to ½ at r = 1."""
    gap = -jnp.expm1(log_r)
    small = gap < _SERIES
    safe_gap = jnp.where(small, 0.5, gap)
    safe_log = jnp.where(small, -jnp.log(2.0), log_r)
    plain = (1.0 - safe_gap) * safe_log / safe_gap**2 + 1.0 / safe_gap
    return jnp.where(small, 0.5 + gap / 6.0 + gap**2 / 12.0, plain)
