"""Base classes of count likelihoods with a rate: Poisson and negative binomial."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.rates import HOST, Rate
from directgp.likelihoods.targets import check_counts, smoothed_mean
from directgp.parameters import float64
from directgp.predictive import CountFamily, CountMixture

TAIL = 1e-14
"""The probability that the thresholds of `CountFamily.step` leave out."""
LARGEST_RATE = 1e18
"""numpy draws no Poisson above this."""


class CountLikelihood(Likelihood):
    """p(y | f) of a count with E[y | f] = λ = rate(f); final classes say which rate."""

    standardise_targets: ClassVar[bool] = False
    support: ClassVar[Literal["real", "counts", "classes"]] = "counts"
    rate: ClassVar[Rate]

    @abstractmethod
    def family(self) -> CountFamily:
        """p(y | f) on the host, with the parameters of this likelihood."""

    @property
    def num_latents(self) -> int:
        return 1

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.rate.rate(f[..., 0])

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        """Where λ = y; −∞ for a count of 0."""
        return self.rate.latent(y)[..., None]

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """The f of the mean count, never −∞."""
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
    """Counts given f on the host, by their rate."""

    _rate: Rate

    def rate(self, f: np.ndarray) -> np.ndarray:
        return self._rate.rate(f, HOST)

    def log_rate(self, f: np.ndarray) -> np.ndarray:
        return self._rate.log_rate(f, HOST)

    def latent(self, rate: np.ndarray) -> np.ndarray:
        return self._rate.latent(rate, HOST)
