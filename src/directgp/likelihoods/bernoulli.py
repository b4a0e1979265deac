"""Bernoulli likelihoods: y ∈ {0, 1} with p(y = 1 | f) = Φ(f) (probit) or σ(f) (logistic)."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special

from directgp.likelihoods.base import Likelihood, likelihoods
from directgp.likelihoods.closed_forms import closed_form
from directgp.likelihoods.integrands import ConditionalMean, LogProb
from directgp.likelihoods.normal import log_ndtr
from directgp.likelihoods.targets import check_labels
from directgp.predictive import ClassProbabilities
from directgp.predictive.mixture import read_mixture
from directgp.predictive.quadrature import log_mean_exp


class Bernoulli(Likelihood):
    """p(y | f) = p(1 | ±f), with + for y = 1 and − for y = 0, because both links are symmetric.

    Subclasses define log p(1 | f) and its expectation over a Gaussian f.
    """

    standardise_targets: ClassVar[bool] = False
    support: ClassVar[Literal["real", "counts", "classes"]] = "classes"

    @abstractmethod
    def log_sigmoid(self, f: Float[Array, "*B"]) -> Float[Array, "*B"]:
        """Log p(y = 1 | f)."""

    @abstractmethod
    def log_mean_sigmoid(
        self, mean: Float[np.ndarray, "S N"], variance: Float[np.ndarray, "S N"]
    ) -> Float[np.ndarray, "S N"]:
        """Log E[p(y = 1 | f)], f ~ N(mean, variance), in NumPy.

        Args:
            mean: of f.
            variance: of f.
        """

    @abstractmethod
    def inverse(self, probability: float) -> float:
        """The f at which p(y = 1 | f) is `probability`."""

    @property
    def num_latents(self) -> int:
        return 1

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return self.log_sigmoid(_sign(y) * f[..., 0])

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        return jnp.exp(self.log_sigmoid(f[..., 0]))

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """p(1 − p), accurate also where 1 − p rounds to 0."""
        return jnp.exp(self.log_sigmoid(f[..., 0]) + self.log_sigmoid(-f[..., 0]))

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        """±∞: the likelihood is monotone in f."""
        return (_sign(y) * jnp.inf)[..., None]

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.zeros_like(y)

    @property
    def log_concave(self) -> bool:
        return True

    @property
    def outcomes(self) -> Float[np.ndarray, "C"]:
        return np.arange(2.0)

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """The f of the class frequency, with half a row of each class added."""
        return np.array([self.inverse((float(np.sum(y)) + 0.5) / (y.size + 1.0))])

    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> ClassProbabilities:
        m, v, w = read_mixture(mean[..., 0], variance[..., 0], log_weights)
        both = [self.log_mean_sigmoid(-m, v), self.log_mean_sigmoid(m, v)]
        return ClassProbabilities(special.logsumexp(np.stack(both, axis=-1) + w[..., None], axis=0))

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return check_labels(y, 2)


@likelihoods.register("bernoulli")
class BernoulliProbit(Bernoulli):
    """p(y = 1 | f) = Φ(f), which has closed-form expectations over a Gaussian f (`dlm` section 5).

    >>> mean, variance = np.full((1, 1, 1), 2.0), np.full((1, 1, 1), 3.0)
    >>> p = BernoulliProbit().predictive(mean, variance, np.zeros(1))
    >>> p.probabilities.round(4).tolist()                    # Φ(2/√(1 + 3))
    [[0.1587, 0.8413]]
    """

    def log_sigmoid(self, f: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return log_ndtr(f)

    def log_mean_sigmoid(
        self, mean: Float[np.ndarray, "S N"], variance: Float[np.ndarray, "S N"]
    ) -> Float[np.ndarray, "S N"]:
        """Log Φ(μ/√(1 + v))."""
        return special.log_ndtr(mean / np.sqrt(1.0 + variance))

    def inverse(self, probability: float) -> float:
        return float(special.ndtri(probability))


@likelihoods.register("bernoulli-logit")
class BernoulliLogit(Bernoulli):
    """p(y = 1 | f) = σ(f) = 1/(1 + e^{−f}), which penalises misclassified rows less than probit.

    >>> p = BernoulliLogit().predictive(np.full((1, 1, 1), 50.0), np.zeros((1, 1, 1)), np.zeros(1))
    >>> p.log_prob(0).round(6).tolist()
    [-50.0]
    """

    def log_sigmoid(self, f: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jax.nn.log_sigmoid(f)

    def log_mean_sigmoid(
        self, mean: Float[np.ndarray, "S N"], variance: Float[np.ndarray, "S N"]
    ) -> Float[np.ndarray, "S N"]:
        """By quadrature in log space, because no closed form is known."""
        parts = log_mean_exp(
            lambda _, f: special.log_expit(f), mean.ravel(), np.sqrt(variance).ravel()
        )
        return parts.reshape(mean.shape)

    def inverse(self, probability: float) -> float:
        return float(special.logit(probability))


def _sign(y: Array) -> Array:
    return 2.0 * y - 1.0


@closed_form(LogProb, BernoulliProbit, "log_mean_exp")
def _log_evidence(integrand, y, mean, variance):
    """Log E_q[Φ(±f)] = log Φ(±μ/√(1 + v))."""
    return log_ndtr(_sign(y) * mean[..., 0] / jnp.sqrt(1.0 + variance[..., 0]))


@closed_form(ConditionalMean, BernoulliProbit, "mean")
def _predictive_mean(integrand, y, mean, variance):
    """E_q[Φ(f)] = Φ(μ/√(1 + v))."""
    return jnp.exp(log_ndtr(mean[..., 0] / jnp.sqrt(1.0 + variance[..., 0])))
