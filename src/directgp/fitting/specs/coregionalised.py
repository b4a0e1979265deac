"""`Coregionalised`: several outputs that mix the latent functions of a model."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from directgp.fitting.specs.base import ModelSpec
from directgp.likelihoods import Likelihood
from directgp.models import Model, MultiOutput
from directgp.parameters import frozen, on_device


@dataclass(frozen=True, eq=False)
class Coregionalised:
    """Outputs that mix the latent functions of `base` (`MultiOutput`); made by `fit_outputs`.

    Rows have all outputs, NaN where one is missing. Rows of one output each, y [N], have the number
    of the output as last input column.
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
        self, X: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N *T"], likelihood: Likelihood,
        seed: int,
    ) -> Model:  # fmt: skip
        """The model before training; see `ModelSpec.initial_model`."""
        if y.ndim == 2:
            levels, columns = np.arange(y.shape[1], dtype=np.float64), y.T
            measured = [column[np.isfinite(column)] for column in columns]
        else:
            number, X = X[:, -1], X[:, :-1]
            levels = np.unique(number)
            measured = [y[number == level] for level in levels]
        wanted = [likelihood.initial_latent(values)[0] for values in measured]
        # Constant latent functions whose mixture is the constant that fits each output.
        constants = np.linalg.lstsq(self.mixing, np.array(wanted), rcond=None)[0]
        model = self.base.of_latents(X, constants, seed)
        with_number = likelihood.num_latents == 2
        return MultiOutput(model, on_device(self.mixing), frozen(on_device(levels)), with_number)
