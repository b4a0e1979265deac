"""Deep models: layers of Gaussian processes, and how the marginals of a layer enter the next.

    q(f | x) = ∫ q(f | g_{L−1}) … q(g_2 | g_1) q(g_1 | x) dg  →  Σ_s w_s N(f | μ_L(g_s), v_L(g_s))

The top layer is Gaussian given its input, so any rule that replaces the integral by S inputs
g_s = μ + ξ_s √v gives a mixture of Gaussians. `Samples` (a deep GP, `deep_gp`) draws the ξ_s, a
sigma-point rule (`sigma_point`) learns them.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.divergences.base import WhitenedGaussian
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model


class Propagation(eqx.Module):
    """The rule that makes inputs of the next layer from the S Gaussians per row of a layer."""

    @abstractmethod
    def __call__(
        self,
        layer: int,
        mean: Float[Array, "S N W"],
        deviation: Float[Array, "S N W"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "T N W"]:
        """Inputs of the next layer, T for each row.

        Args:
            layer: the number of the inner layer, counted from 0.
            mean: of the Gaussians.
            deviation: of the Gaussians.
            key: for rules that draw samples.
        """

    @property
    @abstractmethod
    def log_weights(self) -> Float[Array, "T"]:
        """Log-weights of the mixture at the last layer."""

    @property
    def components(self) -> int:
        """The number T of components at the last layer."""
        return self.log_weights.shape[0]

    def for_prediction(self) -> "Propagation":
        """The rule for prediction; by default the same as in training."""
        return self


class DeepGP(Model):
    """A composition of layers, each a model with one Gaussian per row.

    With `skip`, the inputs of every layer after the first are the layer below and x.
    """

    layers: tuple[Model, ...]
    propagation: Propagation
    skip: bool = eqx.field(static=True, default=False)

    @property
    def posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return tuple(posterior for layer in self.layers for posterior in layer.posteriors)

    @property
    def posteriors_by_layer(self) -> tuple[tuple[WhitenedGaussian, ...], ...]:
        return tuple(group for layer in self.layers for group in layer.posteriors_by_layer)

    @property
    def depth(self) -> int:
        return len(self.layers)

    @property
    def top_gps(self) -> tuple[Any, ...]:
        return self.layers[-1].top_gps

    @property
    def top_means(self) -> tuple[Any, ...]:
        return self.layers[-1].top_means

    @property
    def inner_posteriors(self) -> tuple[WhitenedGaussian, ...]:
        return tuple(gp.posterior for layer in self.layers[:-1] for gp in layer.top_gps)

    def condition(self, precision: str = "float64", form: str = "auto") -> Conditioned:
        layers = tuple(layer.condition(precision, form) for layer in self.layers)
        return ConditionedDeep(layers, self.propagation, self.skip)

    def for_prediction(self) -> Model:
        return DeepGP(self.layers, self.propagation.for_prediction(), self.skip)

    @property
    def components(self) -> int:
        return self.propagation.components if len(self.layers) > 1 else 1


class ConditionedDeep(Conditioned):
    """A deep model after the factorisations of its layers."""

    layers: tuple[Conditioned, ...]
    propagation: Propagation
    skip: bool = eqx.field(static=True, default=False)

    def marginals(self, X: Float[Array, "N D"], key: PRNGKeyArray | None = None) -> Marginals:
        inputs = X[None]
        for index, layer in enumerate(self.layers[:-1]):
            mean, variance = _moments_at(layer, inputs)
            own_key = None if key is None else jax.random.fold_in(key, index)
            inputs = self.propagation(index, mean, jnp.sqrt(variance), own_key)
            if self.skip:
                original = jnp.broadcast_to(X, (inputs.shape[0], *X.shape))
                inputs = jnp.concatenate([inputs, original], axis=-1)
        mean, variance = _moments_at(self.layers[-1], inputs)
        only_one = len(self.layers) == 1
        log_weights = jnp.zeros(1, mean.dtype) if only_one else self.propagation.log_weights
        return Marginals(mean, variance, log_weights)

    @property
    def components(self) -> int:
        return self.propagation.components if len(self.layers) > 1 else 1


def _moments_at(layer: Conditioned, inputs: Float[Array, "S N D"]):
    """Mean and variance [S N P] at all S·N inputs, in one batch."""
    sites, rows, columns = inputs.shape
    q = layer.marginals(inputs.reshape(sites * rows, columns))
    return q.mean.reshape(sites, rows, -1), q.variance.reshape(sites, rows, -1)
