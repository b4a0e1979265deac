"""`Coregionalised`: any model, its latent functions mixed to several outputs."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.fitting.specs.base import ModelSpec
from directgp.likelihoods import Likelihood
from directgp.models import Model, MultiOutput
from directgp.parameters import frozen


@dataclass(frozen=True, eq=False)
class Coregionalised:
    """Outputs that mix the latent functions of `base` (`MultiOutput`); made by `fit_outputs`.

    The last input column is the number of a row's output.
    """

    base: ModelSpec
    mixing: Float[np.ndarray, "T Q"]

    @property
    def depth(self) -> int:
        """The number of layers."""
        return self.base.depth

    @property
    def mean_field(self) -> bool:
        """Whether the covariance of q(u) is diagonal."""
        return self.base.mean_field

    def initial_model(
        self, X: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N"], likelihood: Likelihood,
        seed: int,
    ) -> Model:  # fmt: skip
        """The model before training; see `ModelSpec.initial_model`."""
        number = X[:, -1]
        wanted = [likelihood.initial_latent(y[number == level])[0] for level in np.unique(number)]
        # Constant latent functions whose mixture is the constant that fits each output.
        constants = np.linalg.lstsq(self.mixing, np.array(wanted), rcond=None)[0]
        model = self.base.of_latents(X[:, :-1], constants, seed)
        levels = frozen(jnp.unique(jnp.asarray(number)))
        with_number = likelihood.num_latents == 2
        return MultiOutput(model, jnp.asarray(self.mixing), levels, with_number)
