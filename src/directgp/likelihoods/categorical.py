"""Categorical likelihood: one of K classes, p(y = k | f) = softmax(f)_k over K latent functions."""

from typing import Any, ClassVar, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood, likelihoods
from directgp.likelihoods.targets import check_labels
from directgp.predictive import ClassProbabilities
from directgp.predictive.mixture import read_mixture
from directgp.predictive.softmax import log_expected_softmax

_FEW_CLASSES = 20


@likelihoods.register("categorical")
class Categorical(Likelihood):
    """p(y = k | f) = e^{f_k} / Σ_j e^{f_j} for y ∈ {0, …, K − 1}, K latent functions.

    `conditional_mean` is the expected class number, which has a meaning for ordered classes.

    >>> p = Categorical(3).predictive(np.zeros((1, 1, 3)), np.ones((1, 1, 3)), np.zeros(1))
    >>> p.probabilities.round(2).tolist()
    [[0.33, 0.33, 0.33]]
    """

    standardise_targets: ClassVar[bool] = False
    support: ClassVar[Literal["real", "counts", "classes"]] = "classes"
    num_classes: int = eqx.field(static=True, default=3)

    def __check_init__(self):
        if not isinstance(self.num_classes, int | np.integer) or self.num_classes < 2:
            raise DirectGPError(
                f"Categorical needs a whole number of classes, at least 2, got {self.num_classes}"
            )

    @property
    def num_latents(self) -> int:
        return self.num_classes

    @property
    def outcomes(self) -> Float[np.ndarray, "C"]:
        return np.arange(float(self.num_classes))

    def for_targets(self, y: Any) -> "Categorical":
        """The likelihood with as many classes as the largest label in y requires.

        Labels are 0, 1, …, K − 1. Labels with most of these numbers missing are refused, because
        they are probably not class numbers.
        """
        labels = np.asarray(y)
        usable = labels.size > 0 and labels.dtype.kind in "biuf" and np.isfinite(labels).all()
        if not usable:
            return self
        classes, present = max(2, int(labels.max()) + 1), len(np.unique(labels))
        if classes > 2 * present + _FEW_CLASSES:
            raise DirectGPError(
                f"y must hold class numbers 0, 1, 2, …, got {labels.max():g} as one of {present} "
                "different labels; recode them (np.unique(y, return_inverse=True)), "
                "or use GPClassifier, which does"
            )
        return Categorical(classes)

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
        """0 for the class itself and −∞ for the others, one of many limits with probability 1."""
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
        """E_q[softmax(f)] in log space, at quasi-random points (`predictive.softmax`)."""
        if mean.shape[1] == 0:
            return ClassProbabilities(np.zeros((0, self.num_classes)))
        flat = (mean.shape[0], -1)
        m, v, w = read_mixture(mean.reshape(flat), variance.reshape(flat), log_weights)
        return ClassProbabilities(
            log_expected_softmax(m.reshape(mean.shape), v.reshape(mean.shape), w)
        )

    def check_targets(self, y: Any) -> Float[np.ndarray, "N"]:
        return check_labels(y, self.num_classes)

    def _classes(self, like: Array) -> Array:
        return jnp.arange(self.num_classes, dtype=like.dtype)
