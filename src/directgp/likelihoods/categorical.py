"""Categorical likelihood: one of K classes, p(y = k | f) = softmax(f)_k over K latent functions."""

from functools import cache
from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy import special
from scipy.stats import qmc

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.targets import check_labels
from directgp.predictive import ClassProbabilities
from directgp.predictive.mixture import read_mixture
from directgp.predictive.quadrature import in_blocks

_LOG2_POINTS = 10


class Categorical(Likelihood):
    """p(y = k | f) = e^{f_k} / Σ_j e^{f_j} for y ∈ {0, …, K − 1}, K latent functions.

    As a number y is the number of its class, which gives `conditional_mean` a meaning for classes
    in an order.

    >>> p = Categorical(3).predictive(np.zeros((1, 1, 3)), np.ones((1, 1, 3)), np.zeros(1))
    >>> p.probabilities.round(2).tolist()
    [[0.33, 0.33, 0.33]]
    """

    standardise_targets: ClassVar[bool] = False
    support: ClassVar[Literal["real", "counts", "classes"]] = "classes"
    num_classes: int = eqx.field(static=True, default=3)

    def __check_init__(self):
        if self.num_classes < 2:
            raise ValueError(f"Categorical needs at least 2 classes, got {self.num_classes}")

    @property
    def num_latents(self) -> int:
        return self.num_classes

    @property
    def outcomes(self) -> Float[np.ndarray, "C"]:
        return np.arange(float(self.num_classes))

    def for_targets(self, y: Any) -> "Categorical":
        """As many classes as the largest label in y says (labels are 0, 1, …, K − 1)."""
        labels = np.asarray(y)
        usable = labels.size > 0 and labels.dtype.kind in "biuf" and np.isfinite(labels).all()
        return Categorical(max(2, int(labels.max()) + 1)) if usable else self

    def log_prob(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        log_probabilities = jax.nn.log_softmax(f, axis=-1)
        index = y.astype(jnp.int32)[..., None]
        return jnp.take_along_axis(log_probabilities, index, axis=-1)[..., 0]

    def conditional_mean(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        """Σ_k k p(k | f); with two classes the probability of class 1."""
        return jax.nn.softmax(f, axis=-1) @ self._classes(f)

    def conditional_variance(self, f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        deviations = self._classes(f) - self.conditional_mean(f)[..., None]
        return jnp.sum(jax.nn.softmax(f, axis=-1) * deviations**2, axis=-1)

    def mode(self, y: Float[Array, "*B"]) -> Float[Array, "*B P"]:
        """0 for the class itself and −∞ for the others: one of many directions to certainty."""
        own = y[..., None] == self._classes(y)
        return jnp.where(own, jnp.zeros((), y.dtype), -jnp.inf)

    def log_max(self, y: Float[Array, "*B"]) -> Float[Array, "*B"]:
        return jnp.zeros_like(y)

    def initial_latent(self, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "P"]:
        """Log class frequencies, with half a row of each class added."""
        counts = np.bincount(y.astype(np.intp), minlength=self.num_classes)
        return np.log((counts + 0.5) / (y.size + 0.5 * self.num_classes))

    def predictive(
        self,
        mean: Float[np.ndarray, "S N P"],
        variance: Float[np.ndarray, "S N P"],
        log_weights: Float[np.ndarray, "S"],
    ) -> ClassProbabilities:
        """E_q[softmax(f)] in log space at 1024 fixed quasi-random points, the same for all rows."""
        if mean.shape[1] == 0:
            return ClassProbabilities(np.zeros((0, self.num_classes)))
        points = _normal_points(self.num_classes)
        flat = (mean.shape[0], -1)
        m, v, w = read_mixture(mean.reshape(flat), variance.reshape(flat), log_weights)
        mean, std = m.reshape(mean.shape), np.sqrt(v).reshape(mean.shape)

        def one_block(rows: np.ndarray) -> np.ndarray:
            f = mean[:, rows] + std[:, rows] * points[:, None, None, :]
            log_terms = special.log_softmax(f, axis=-1) + w[..., None]
            total = np.asarray(special.logsumexp(log_terms, axis=(0, 1)))
            return total.T - np.log(len(points))

        block = max(1, 4_000_000 // (points.size * mean.shape[0]))
        return ClassProbabilities(in_blocks(one_block, mean.shape[1], block).T)

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return check_labels(y, self.num_classes)

    def _classes(self, like: Array) -> Array:
        return jnp.arange(self.num_classes, dtype=like.dtype)


@cache
def _normal_points(dimension: int) -> Float[np.ndarray, "1024 K"]:
    """Sobol points pushed through Φ⁻¹; scrambled with a fixed seed, so the same in each process."""
    uniform = qmc.Sobol(dimension, scramble=True, rng=0).random_base2(_LOG2_POINTS)
    # Scrambled points have 30 bits, so 0 is possible: a cell's middle never is.
    return special.ndtri(uniform + 0.5**31)
