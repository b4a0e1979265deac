"""Deep Gaussian processes, doubly stochastic (Salimbeni & Deisenroth 2017; `gvi` section 3)."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.errors import DirectGPError
from directgp.models.base import Model
from directgp.models.deep import DeepGP, Propagation


class Samples(Propagation):
    """g = μ + ε √v with ε ~ N(0, 1), S sample paths through the layers, equally weighted.

    In training every row has its own ε, which reduces the variance of the average over a batch. In
    prediction all rows share the ε of a sample, so predictions are independent of the other rows in
    the batch; the marginals are the same.
    """

    samples: int = eqx.field(static=True, default=5)
    predict_samples: int = eqx.field(static=True, default=50)
    shared: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.samples < 1 or self.predict_samples < 1:
            raise DirectGPError(
                f"a deep GP needs at least 1 sample, got {self.samples} in training and "
                f"{self.predict_samples} in prediction; use 5 and 50"
            )

    def __call__(
        self,
        layer: int,
        mean: Float[Array, "S N W"],
        deviation: Float[Array, "S N W"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "T N W"]:
        if key is None:
            raise DirectGPError("a deep GP draws samples; pass key=jax.random.key(seed)")
        rows = 1 if self.shared else mean.shape[1]
        noise = jax.random.normal(key, (self.samples, rows, mean.shape[2]), mean.dtype)
        return mean + noise * deviation

    @property
    def log_weights(self) -> Float[Array, "T"]:
        return jnp.full(self.samples, -math.log(self.samples))

    def for_prediction(self) -> Propagation:
        return Samples(self.predict_samples, self.predict_samples, shared=True)


def deep_gp(
    layers: tuple[Model, ...], *, samples: int = 5, predict_samples: int = 50, skip: bool = False
) -> DeepGP:
    """A deep GP; with `Gibbs(LogLoss())` and KL its objective is that of the paper (`dspp` eq. 13).

    With `Direct(LogLoss())` it is the log loss of its continuous mixture, estimated by bMC over the
    layers: the "direct" variant of `dspp` footnote 4.

    Args:
        layers: models from the inputs to the output.
        samples: paths through the layers in training.
        predict_samples: paths in prediction.
        skip: whether x is an additional input of every layer.
    """
    return DeepGP(layers, Samples(samples, predict_samples), skip)
