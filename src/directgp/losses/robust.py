"""Robust losses: scores under which a gross outlier has hardly any say (`gvi` section 4.1).

With c = power − 1 and I = ∫ p(y)^power dy, shifted by constants so that power → 1 is the log loss:

    β:  (1 − p(y)^c) / c + (I − 1) / power                          (`gvi` eq. 15)
    γ:  (power / c) · (1 − p(y)^c · I^{−c/power})                    (`gvi` eq. 16, sign corrected)

Gibbs averages them over f with p(y | f), as `gvi` does. Direct scores the predictive distribution
E_q[p(y | f)] itself. Both are bounded above in y: an outlier pulls with a force that goes to 0.
"""

import math
from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import (
    LogNormalisedPower,
    LogPower,
    LogPowerIntegral,
    LogProb,
)
from directgp.losses.base import Integrals, Loss, Need, Score
from directgp.losses.log import LogLoss
from directgp.registry import Registry

robust_scores = Registry("robust loss")
"""name → score with its default power, or with the power given."""


class RobustScore(Score):
    """What both families share: a power above 1, and the direct form."""

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
        """The score from log p(y) and log I."""


@robust_scores.register("beta")
class BetaLoss(RobustScore):
    """The β (density power) score; `power` is the paper's β (our β is only the penalty's weight).

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


@robust_scores.register("gamma")
class GammaLoss(RobustScore):
    """The γ score, which depends on the shape of p alone; `power` is the paper's γ.

    Its integral I enters as a factor, so all of it is done in log form.
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


def _log_power_integral(
    likelihood: Likelihood, integrals: Integrals, power: float
) -> Float[Array, "N"]:
    """Log ∫ p̂(y)^power dy = log E_{y ~ p̂}[p̂(y)^(power − 1)], p̂ the predictive distribution.

    A sum over the outcomes of classes; elsewhere the likelihood's own nodes for every component of
    the mixture.
    """
    q = integrals.marginals

    def log_density(y: Float[Array, "N"]) -> Float[Array, "N"]:
        at_y = Integrals(y, q, integrals.expectation, integrals.key)
        return at_y.log_mean_exp(LogProb(likelihood))

    if likelihood.outcomes is not None:
        rows = integrals.y.shape[0]
        values = jnp.tile(jnp.asarray(likelihood.outcomes)[:, None], (1, rows))
        return logsumexp(power * jax.vmap(log_density)(values), axis=0)
    nodes, log_weights = likelihood.outcome_rule(q.mean, q.variance)
    all_nodes = nodes.reshape(-1, nodes.shape[-1])
    weights = (log_weights + q.log_weights[:, None]).reshape(len(all_nodes), -1)
    return logsumexp(weights + (power - 1.0) * jax.vmap(log_density)(all_nodes), axis=0)


def made_robust(loss: Loss, name: str | None, power: float | int | None = None) -> Loss:
    """The loss with a robust score in place of the log score; Gibbs stays Gibbs, Direct Direct.

    `power` is how robust, None for the score's own default; without a name the loss is as it was.
    """
    if name is None:
        if power is not None:
            raise DirectGPError(f"a robust power ({power}) needs a robust loss; add robust='gamma'")
        return loss
    score = robust_scores.lookup(name)
    if not isinstance(loss.score, LogLoss):
        raise DirectGPError(
            f"robust={name!r} takes the place of the log loss and cannot be joined with "
            f"{type(loss.score).__name__}; leave out the other loss, or leave out robust"
        )
    return replace(loss, score=score() if power is None else score(power))
