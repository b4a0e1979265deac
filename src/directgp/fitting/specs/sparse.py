"""`Sparse`: a sparse Gaussian process of one layer."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float

from directgp.fitting.specs.base import ModelSpec, check_kernel
from directgp.kernels import Kernel
from directgp.models import MeanFunction, Model


@no_type_check  # `__post_init__` says what is wrong
@dataclass(frozen=True, kw_only=True)
class Sparse(ModelSpec):
    """A sparse variational GP: one layer, its inducing points shared by mean and covariance.

    >>> Sparse(kernel="rbf", num_inducing=50).depth
    1
    >>> Sparse(num_inducing=0)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: num_inducing must be a whole number ≥ 1, got 0
    """

    kernel: str | Kernel = "matern52"
    """The prior's covariance, by name or with the hyperparameters it starts from."""

    def __post_init__(self):
        check_kernel(self.kernel)
        super().__post_init__()

    def on_inputs(
        self, inputs: Float[np.ndarray, "N D"], mean: MeanFunction, latents: int, seed: int
    ) -> Model:
        return self.sparse_gp(inputs, self.kernel, mean, latents, seed)
