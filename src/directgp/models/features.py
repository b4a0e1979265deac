"""Deep kernel learning: a neural network before any model, trained jointly with it.

    f(x) = g(φ(x)),   g ~ any model here, φ a network            (Wilson et al. 2016; `dspp` 5.5)

Inducing inputs are in the feature space, so any model can be used unchanged.
"""

import itertools
from abc import abstractmethod
from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.errors import DirectGPError
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model
from directgp.models.wrapped import Wrapped
from directgp.parameters import float64, lent, unwrap
from directgp.registry import Registry

feature_maps = Registry("features")
"""Functions (rows X, widths, seed) that make the initial feature map, by name."""


class FeatureMap(eqx.Module):
    """φ, which maps rows of inputs to rows of features."""

    @abstractmethod
    def __call__(self, X: Float[Array, "N D"]) -> Float[Array, "N W"]:
        """The features of every row, computed row by row."""


class MLP(FeatureMap):
    """φ(x) = W_L relu(… relu(x W_1 + b_1) …) + b_L; features start with mean 0 and variance 1."""

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, "_"], ...]

    @classmethod
    @float64
    def start(cls, X: Float[np.ndarray, "N D"], widths: Sequence[int], seed: int) -> "MLP":
        """He's initialisation, scaled so that the features of the rows X are standardised.

        Args:
            X: inputs.
            widths: of the layers; the last one is the number of features.
            seed: of the weights.
        """
        if not widths or min(widths) < 1:
            raise DirectGPError(
                f"a feature network needs widths ≥ 1, got {widths}; use (64, 64, 8)"
            )
        rng = np.random.default_rng(seed)
        sizes = list(itertools.pairwise([X.shape[1], *widths]))
        weights = [rng.normal(size=size) * np.sqrt(2.0 / size[0]) for size in sizes]
        biases = [np.zeros(size[1]) for size in sizes]
        hidden = X[:5000]
        for matrix in weights[:-1]:
            hidden = np.maximum(hidden @ matrix, 0.0)
        features = hidden @ weights[-1]
        spread = np.where(features.std(axis=0) > 0, features.std(axis=0), 1.0)
        weights[-1] = weights[-1] / spread
        biases[-1] = -features.mean(axis=0) / spread
        return cls(tuple(map(jnp.asarray, weights)), tuple(map(jnp.asarray, biases)))

    def __call__(self, X: Float[Array, "N D"]) -> Float[Array, "N W"]:
        *inner, (last_matrix, last_bias) = zip(self.weights, self.biases, strict=True)
        for matrix, bias in inner:
            X = jax.nn.relu(X @ matrix + bias)
        return X @ last_matrix + last_bias


feature_maps.register("mlp")(MLP.start)


class OnFeatures(Wrapped):
    """A model with the features φ(x) as inputs."""

    features: FeatureMap
    model: Model

    @property
    def inner(self) -> Model:
        return self.model

    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        return ConditionedOnFeatures(unwrap(self.features), self.model.condition(precision, form))

    def with_fresh_posterior(self, mean_field: bool) -> Model:
        return OnFeatures(lent(self.features), self.model.with_fresh_posterior(mean_field))

    def for_prediction(self) -> Model:
        return OnFeatures(self.features, self.model.for_prediction())

    @property
    def components(self) -> int:
        return self.model.components


class ConditionedOnFeatures(Conditioned):
    """A model on features after its factorisations."""

    features: FeatureMap
    model: Conditioned

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        return self.model.marginals(self.features(X), key)

    @property
    def components(self) -> int:
        return self.model.components
