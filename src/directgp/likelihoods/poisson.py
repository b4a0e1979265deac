"""Poisson likelihoods: counts with p(y | f) = λ^y e^{−λ} / y!, λ = exp(f) or softplus(f)."""

from typing import ClassVar

import numpy as np
from jax.scipy.special import gammaln, xlogy
from jaxtyping import Array, Float
from scipy import special

from directgp.likelihoods.base import likelihoods
from directgp.likelihoods.closed_forms import closed_form
from directgp.likelihoods.counts import (
    LARGEST_RATE,
    TAIL,
    CountLikelihood,
    CountsOfRate,
    exp_rate_forms,
)
from directgp.likelihoods.integrands import LogProb
from directgp.likelihoods.rates import HOST, ExpRate, Rate, SoftplusRate, bounded_exp
from directgp.predictive import CountFamily
from directgp.predictive.count_cdf import stirling_error


class Poisson(CountLikelihood):
    """p(y | f) = λ^y e^{−λ} / y! with λ = rate(f); subclasses choose the rate (`dlm` Table 1)."""

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        log_rate, rate = self.rate.log_rate(f[..., 0]), self.rate.rate(f[..., 0])
        return y * log_rate - rate - gammaln(y + 1.0)

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.rate.rate(f[..., 0])

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return xlogy(y, y) - y - gammaln(y + 1.0)

    @property
    def log_concave(self) -> bool:
        return True

    def family(self) -> CountFamily:
        return PoissonCounts(self.rate)


@likelihoods.register("poisson")
class PoissonExp(Poisson):
    """Counts with λ = exp(f).

    >>> p = PoissonExp().predictive(np.full((1, 1, 1), 1.0), np.full((1, 1, 1), 0.5), np.zeros(1))
    >>> p.mean.round(4).tolist(), p.variance.round(4).tolist()    # exp(1 + 0.5/2)
    ([3.4903], [11.3934])
    """

    rate: ClassVar[Rate] = ExpRate()


@likelihoods.register("poisson-softplus")
class PoissonSoftplus(Poisson):
    """Counts with λ = log(1 + exp(f)), linear for large f, which extrapolates less extremely."""

    rate: ClassVar[Rate] = SoftplusRate()


class PoissonCounts(CountsOfRate):
    """Poisson counts given f, in NumPy."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate

    def log_mass(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return (
            y * self._rate.log_rate(f, HOST) - self._rate.rate(f, HOST) - special.gammaln(y + 1.0)
        )

    def cdf(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return special.gammaincc(y + 1.0, self._rate.rate(f, HOST))

    def survival(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return special.gammainc(y + 1.0, self._rate.rate(f, HOST))

    def step(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rates = special.gammaincinv(y + 1.0, TAIL), special.gammainccinv(y + 1.0, TAIL)
        return self._rate.latent(rates[0], HOST), self._rate.latent(rates[1], HOST)

    def threshold_log_density(
        self, y: np.ndarray, x: np.ndarray, relative: bool = False
    ) -> np.ndarray:
        """Of log G − log(y + 1), G ~ Gamma(y + 1): −a (e^x − 1 − x) + const, a = y + 1."""
        shape = y + 1.0
        log_density = -shape * (np.expm1(x) - x)
        if relative:
            return log_density
        return log_density + 0.5 * np.log(shape / (2.0 * np.pi)) - stirling_error(shape)

    def threshold_std(self, y: np.ndarray) -> np.ndarray:
        return 1.0 / np.sqrt(y + 1.0)

    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[y] = E[λ] and Var[y] = E[λ] + Var[λ]."""
        rate, spread = self._rate.moments(mean, variance)
        return rate, rate + spread

    def draw(self, f: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        return generator.poisson(np.minimum(self._rate.rate(f, HOST), LARGEST_RATE))


@closed_form(LogProb, PoissonExp, "mean")
def _expected_log_prob(integrand, y, mean, variance):
    """E_q[log p(y | f)] = y μ − exp(μ + v/2) − log y!."""
    rate = bounded_exp(mean[..., 0] + 0.5 * variance[..., 0])
    return y * mean[..., 0] - rate - gammaln(y + 1.0)


exp_rate_forms(PoissonExp)
