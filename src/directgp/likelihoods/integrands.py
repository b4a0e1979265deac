"""Integrands g(y, f): functions of an observation and its latent values, given a likelihood.

They are classes, so that closed forms can be registered for them. Losses choose integrands;
expectations integrate them over f.
"""

from abc import abstractmethod

import equinox as eqx
from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood


class Integrand(eqx.Module):
    """g(y, f); the last axis of f holds the P latent values of one observation.

    y has the leading axes of f, and a last axis of outputs if one observation is a vector.
    """

    likelihood: Likelihood

    @abstractmethod
    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """The value of g at every observation."""


class LogProb(Integrand):
    """log p(y | f)."""

    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.likelihood.log_prob(y, f)


class ConditionalMean(Integrand):
    """E[y | f]; y itself is not used."""

    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.likelihood.conditional_mean(f)


class SquaredError(Integrand):
    """½(y − E[y | f])²."""

    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return 0.5 * (y - self.likelihood.conditional_mean(f)) ** 2


class LogPower(Integrand):
    """(power − 1) log p(y | f): the data term of the robust β loss (`gvi` eq. 15)."""

    power: float = eqx.field(static=True)

    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return (self.power - 1.0) * self.likelihood.log_prob(y, f)


class LogPowerIntegral(Integrand):
    """log I(f) = log ∫ p(y | f)^power dy; y itself is not used."""

    power: float = eqx.field(static=True)

    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.likelihood.log_power_integral(f, self.power)


class LogNormalisedPower(Integrand):
    """(power − 1) (log p(y | f) − log I(f) / power): the robust γ loss in log form."""

    power: float = eqx.field(static=True)

    def __call__(self, y: Float[Array, "..."], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        integral = self.likelihood.log_power_integral(f, self.power)
        return (self.power - 1.0) * (self.likelihood.log_prob(y, f) - integral / self.power)
