"""Black-box α: a log loss between that of the ELBO and the direct one (AEPEP, power EP)."""

import math

import equinox as eqx
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogPower, LogProb
from directgp.losses.base import Integrals, Loss, Need, Score, losses
from directgp.losses.log import LogLoss


@losses.register("black-box-alpha")
class BlackBoxAlpha(Loss):
    """−(1/α) log E_q[p(y | f)^α], the energy of BB-α and AEPEP (`dlm` section 5).

    α → 0 is the Gibbs log loss (the ELBO at β = 1), α = 1 the direct log loss. It is non-increasing
    in α, so for other α in [0, 1] it lies between the two. References: Hernández-Lobato et al.
    (2016), Li & Gal (2017), Villacampa-Calvo & Hernández-Lobato (2020).

    >>> BlackBoxAlpha(0.0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: alpha of BlackBoxAlpha must be > 0, got 0.0; use loss='elbo' ...
    """

    alpha: float = eqx.field(static=True, default=0.5)
    score: Score = eqx.field(default_factory=LogLoss)

    def __check_init__(self):
        if not 0.0 < self.alpha < math.inf:
            raise DirectGPError(
                f"alpha of BlackBoxAlpha must be > 0, got {self.alpha}; use loss='elbo' for 0"
            )
        if not isinstance(self.score, LogLoss):
            raise DirectGPError(
                f"BlackBoxAlpha is a log loss and has no form of {type(self.score).__name__}; "
                "use Gibbs or Direct for that score"
            )

    def __call__(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        if self.alpha == 1.0:
            return -integrals.log_mean_exp(LogProb(likelihood))
        power = LogPower(likelihood, 1.0 + self.alpha)
        return -integrals.log_mean_exp(power) / self.alpha

    @property
    def needs(self) -> tuple[Need, ...]:
        return ((LogProb if self.alpha == 1.0 else LogPower, "log_mean_exp"),)
