"""Robust losses: scores with bounded influence of outliers (`gvi` section 4.1).

With c = power − 1 and I = ∫ p(y)^power dy, up to constants for which power → 1 gives the log loss:

    β:  (1 − p(y)^c) / c + (I − 1) / power                          (`gvi` eq. 15)
    γ:  (power / c) · (1 − p(y)^c · I^{−c/power})                    (`gvi` eq. 16, sign corrected)

y may be a vector, as in `gvi` Theorem 1 (`likelihoods.vector`).

Gibbs is the expectation over f of the score of p(y | f), as in `gvi`. Direct scores the predictive
distribution E_q[p(y | f)]. Both are bounded in y, so the influence of an outlier goes to 0.
"""

import math
from abc import abstractmethod
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.count_sums import count_nodes, count_range
from directgp.likelihoods.integrands import (
    LogNormalisedPower,
    LogPower,
    LogPowerIntegral,
    LogProb,
)
from directgp.losses.base import Direct, Gibbs, Integrals, Loss, Need, Score, losses, scores
from directgp.losses.log import LogLoss
from directgp.marginals import Marginals
from directgp.parameters import without_gradient
from directgp.registry import Registry

_LATENT_REACH = 6.0
"""Standard deviations of f that determine the range of counts."""

robust_scores = Registry("robust loss")
"""Score classes by the name of the option `robust`."""


class RobustScore(Score):
    """Base class of both families: a power above 1, and the direct loss."""

    power: eqx.AbstractVar[float]

    direct_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)

    def __check_init__(self):
        if not 1.0 < self.power < math.inf:
            raise DirectGPError(
                f"power of {type(self).__name__} must be > 1, got {self.power}; "
                "use 1.03–1.1 for mild robustness"
            )

    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        log_density = integrals.log_mean_exp(LogProb(likelihood))
        return self.of_logs(log_density, _log_power_integral(likelihood, integrals, self.power))

    @abstractmethod
    def of_logs(
        self, log_density: Float[Array, "N"], log_integral: Float[Array, "N"]
    ) -> Float[Array, "N"]:
        """The score as a function of log p(y) and log I.

        Args:
            log_density: log p(y).
            log_integral: log I.
        """


@scores.register("robust-beta")
@robust_scores.register("beta")
class BetaLoss(RobustScore):
    """The β (density power) score; `power` is β in `gvi`, not the weight of the divergence.

    >>> BetaLoss(1.0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: power of BetaLoss must be > 1, got 1.0; use 1.03–1.1 ...
    """

    power: float = eqx.field(static=True, default=1.1)
    gibbs_needs: ClassVar[tuple[Need, ...]] = (
        (LogPower, "log_mean_exp"),
        (LogPowerIntegral, "log_mean_exp"),
    )

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        log_power = integrals.log_mean_exp(LogPower(likelihood, self.power))
        log_integral = integrals.log_mean_exp(LogPowerIntegral(likelihood, self.power))
        return -jnp.expm1(log_power) / (self.power - 1.0) + jnp.expm1(log_integral) / self.power

    def of_logs(
        self, log_density: Float[Array, "N"], log_integral: Float[Array, "N"]
    ) -> Float[Array, "N"]:
        c = self.power - 1.0
        return -jnp.expm1(c * log_density) / c + jnp.expm1(log_integral) / self.power


@scores.register("robust-gamma")
@robust_scores.register("gamma")
class GammaLoss(RobustScore):
    """The γ score, which is invariant to the scale of p; `power` is γ in `gvi`.

    The integral I is a factor of it, so everything is computed as logarithms.
    """

    power: float = eqx.field(static=True, default=1.05)
    gibbs_needs: ClassVar[tuple[Need, ...]] = ((LogNormalisedPower, "log_mean_exp"),)

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        log_mean = integrals.log_mean_exp(LogNormalisedPower(likelihood, self.power))
        return -self.power / (self.power - 1.0) * jnp.expm1(log_mean)

    def of_logs(
        self, log_density: Float[Array, "N"], log_integral: Float[Array, "N"]
    ) -> Float[Array, "N"]:
        c = self.power - 1.0
        return -self.power / c * jnp.expm1(c * (log_density - log_integral / self.power))


losses.register("gibbs-robust-beta")(lambda: Gibbs(BetaLoss()))
losses.register("direct-robust-beta")(lambda: Direct(BetaLoss()))
losses.register("gibbs-robust-gamma")(lambda: Gibbs(GammaLoss()))
losses.register("direct-robust-gamma")(lambda: Direct(GammaLoss()))


def _log_power_integral(
    likelihood: Likelihood, integrals: Integrals, power: float
) -> Float[Array, "N"]:
    """Log ∫ p̂(y)^power dy, p̂ the predictive distribution.

    A sum over classes; otherwise a quadrature at nodes of the likelihood or at a subset of counts,
    for mixtures component by component (`_log_mixture_power`). In closed form for one Gaussian
    component of several outputs.
    """
    q = integrals.marginals
    if q.log_weights.shape[0] == 1:
        closed_form = likelihood.log_power_of_component(q.mean, q.variance, power)
        if closed_form is not None:
            return closed_form[0]
    if likelihood.outcomes is not None:

        def log_mass(y: Float[Array, "N"]) -> Float[Array, "N"]:
            at_y = Integrals(y, q, integrals.expectation, integrals.key)
            return at_y.log_mean_exp(LogProb(likelihood))

        rows = integrals.y.shape[0]
        values = jnp.tile(jnp.asarray(likelihood.outcomes)[:, None], (1, rows))
        return logsumexp(power * jax.vmap(log_mass)(values), axis=0)
    return _log_mixture_power(likelihood, integrals, power)


def _log_mixture_power(
    likelihood: Likelihood, integrals: Integrals, power: float
) -> Float[Array, "N"]:
    """Log ∫ (Σ_s w_s p_s(y))^power dy, with separate nodes for every component.

    The nodes of a wide component would miss the peak of a narrow one. With components sorted from
    the widest to the narrowest and P_j = Σ_{s ≤ j} w_s p_s,

        ∫ p̂^power dy = Σ_j E_{y ~ p_j}[(P_j^power − P_{j−1}^power) / p_j]

    where each ratio varies at most as fast as p_j: its limit is power·w_j P_{j−1}^c where p_j
    vanishes, and it is w_j^power p_j^c where the other components vanish.
    """
    q = integrals.marginals
    counted = likelihood.support == "counts"
    spread = _count_spread(likelihood, q) if counted else jnp.sum(q.variance, axis=-1)
    order = jnp.argsort(-lax.stop_gradient(spread), axis=0)
    mean, variance = (
        jnp.take_along_axis(part, order[..., None], axis=0) for part in (q.mean, q.variance)
    )
    log_weights = q.log_weights[order]
    rule = _count_rule if counted else type(likelihood).outcome_rule
    nodes, log_rule = rule(likelihood, mean, variance)
    log_rule = jnp.broadcast_to(log_rule, nodes.shape[:3])

    def log_densities(y: Float[Array, "N *T"]) -> Float[Array, "S N"]:
        integrand = LogProb(likelihood)
        return integrals.expectation.log_mean_exp(integrand, y, mean, variance, integrals.key)

    def log_term(nodes, log_rule, component):
        """One term of the sum over j, from the nodes [K N] or [K N T] of component j."""
        densities = jax.vmap(log_densities)(nodes)
        weighed = densities + log_weights
        wider = jnp.arange(weighed.shape[1])[:, None] <= component
        log_sum = logsumexp(jnp.where(wider, weighed, -jnp.inf), axis=1)
        log_share = weighed[:, component] - log_sum
        rise = power * log_sum + _log_rise(log_share, power)
        # Rules for real y integrate over p_j, rules for counts sum over all y.
        relative = 0.0 if counted else densities[:, component]
        return logsumexp(log_rule + rise - relative, axis=0)

    components = jnp.arange(mean.shape[0])
    terms = jax.vmap(log_term, in_axes=(1, 1, 0))(nodes, log_rule, components)
    return logsumexp(terms, axis=0)


def _count_spread(likelihood: Likelihood, q: Marginals) -> Float[Array, "S N"]:
    """Approximate variance of the count under each component."""
    step = jnp.sqrt(q.variance)
    ends = likelihood.conditional_mean(q.mean + step), likelihood.conditional_mean(q.mean - step)
    return likelihood.conditional_variance(q.mean) + 0.25 * (ends[0] - ends[1]) ** 2


def _count_rule(
    likelihood: Likelihood, mean: Float[Array, "S N P"], variance: Float[Array, "S N P"]
) -> tuple[Float[Array, "K S N"], Float[Array, "K S N"]]:
    """Counts and log-weights for sums over the range of counts of every component."""
    fixed, mean, variance = without_gradient((likelihood, mean, variance))
    reach = _LATENT_REACH * jnp.sqrt(variance)
    low, high = (
        count_range(fixed.conditional_mean(f), fixed.conditional_variance(f))
        for f in (mean - reach, mean + reach)
    )
    return count_nodes(low[0], high[1])


def _log_rise(log_share: Float[Array, "*B"], power: float) -> Float[Array, "*B"]:
    """Log(1 − (1 − share)^power), with finite gradients at shares of 1 and close to 0."""
    tiny = log_share < -18.0
    share = jnp.exp(jnp.where(tiny, -18.0, jnp.minimum(log_share, -1e-12)))
    plain = jnp.log(-jnp.expm1(power * jnp.log1p(-share)))
    return jnp.where(tiny, math.log(power) + log_share, plain)


def made_robust(loss: Loss, name: str | None, power: float | int | None = None) -> Loss:
    """The same Gibbs or Direct loss with a robust score instead of the log score.

    Args:
        loss: a Gibbs or Direct log loss.
        name: "beta", "gamma", or None to return the loss unchanged.
        power: the power of the score, above 1; None is its default.
    """
    if name is None:
        if power is not None:
            raise DirectGPError(f"a robust power ({power}) needs a robust loss; add robust='gamma'")
        return loss
    score = robust_scores.lookup(name)
    if not isinstance(loss.score, LogLoss):
        raise DirectGPError(
            f"robust={name!r} replaces the log loss and cannot be combined with "
            f"{type(loss.score).__name__}; leave out the other loss, or leave out robust"
        )
    return loss.with_score(score() if power is None else score(power))
