"""Base classes of count likelihoods with a rate: Poisson and negative binomial."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import closed_form
from directgp.likelihoods.integrands import ConditionalMean, SquaredError
from directgp.likelihoods.rates import HOST, Rate, bounded_exp
from directgp.likelihoods.targets import check_counts, smoothed_mean
from directgp.parameters import float64
from directgp.predictive import CountFamily, CountMixture

TAIL = 1e-14
"""Tail probability at the thresholds of `CountFamily.step`."""
LARGEST_RATE = 1e18
"""NumPy cannot draw from a Poisson with a larger rate."""


class CountLikelihood(Likelihood):
    """p(y | f) of a count with E[y | f] = λ = rate(f); subclasses choose the rate function."""

    standardise_targets: ClassVar[bool] = False
    support: ClassVar[Literal["real", "counts", "classes"]] = "counts"
    rate: ClassVar[Rate]

    @abstractmethod
    def family(self) -> CountFamily:
        """p(y | f) in NumPy, with the parameters of this likelihood."""

    @property
    def num_latents(self) -> int:
        return 1

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.rate.rate(f[..., 0])

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        """Where λ = y; −∞ for a count of 0."""
        return self.rate.latent(y)[..., None]

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """The f of the mean count, finite also for zeros only."""
        return np.array([float(self.rate.latent(np.float64(smoothed_mean(y)), HOST))])

    @float64
    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> CountMixture:
        return CountMixture(mean[..., 0], variance[..., 0], log_weights, self.family())

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return check_counts(y)


class CountsOfRate(CountFamily):
    """Counts given f in NumPy, with E[y | f] = rate(f)."""

    _rate: Rate

    def rate(self, f: np.ndarray) -> np.ndarray:
        return self._rate.rate(f, HOST)

    def log_rate(self, f: np.ndarray) -> np.ndarray:
        return self._rate.log_rate(f, HOST)

    def latent(self, rate: np.ndarray) -> np.ndarray:
        return self._rate.latent(rate, HOST)


def exp_rate_forms(likelihood: type) -> None:
    """Register E_q[e^f] and E_q[½(y − e^f)²] for a count likelihood with E[y | f] = e^f.

        E_q[e^f] = exp(μ + v/2),   Var_q[e^f] = (e^v − 1) exp(2μ + v)

    Args:
        likelihood: a subclass of `CountLikelihood` with an `ExpRate`.
    """

    @closed_form(ConditionalMean, likelihood, "mean")
    def predictive_mean(integrand, y, mean, variance):
        return bounded_exp(mean[..., 0] + 0.5 * variance[..., 0])

    @closed_form(SquaredError, likelihood, "mean")
    def expected_squared_error(integrand, y, mean, variance):
        m, v = mean[..., 0], variance[..., 0]
        spread = -jnp.expm1(-v) * bounded_exp(2.0 * (m + v))
        return 0.5 * ((y - bounded_exp(m + 0.5 * v)) ** 2 + spread)
