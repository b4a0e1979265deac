"""`Sparse`: a sparse Gaussian process of one layer."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.checks import check_switch
from directgp.fitting.specs.base import ModelSpec, check_kernel
from directgp.kernels import Kernel
from directgp.models import ConstantMean, Independent, MeanFunction, Model
from directgp.parameters import unwrap


@no_type_check  # `__post_init__` checks the values
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
    """The kernel, by name or with its initial hyperparameters."""

    own_kernels: bool = False
    """Whether each of several latent functions has a kernel and inducing inputs of its own.

    With several outputs that is the semiparametric latent factor model (Seeger, Teh & Jordan 2005).
    """

    def __post_init__(self):
        check_kernel(self.kernel)
        check_switch("own_kernels", self.own_kernels)
        super().__post_init__()

    def on_inputs(
        self, inputs: Float[np.ndarray, "N D"], mean: MeanFunction, latents: int, seed: int
    ) -> Model:
        if not self.own_kernels:
            return self.sparse_gp(inputs, self.kernel, mean, latents, seed)
        if latents == 1:
            raise DirectGPError(
                "own_kernels=True has no effect on one latent function; leave it out, or give "
                "layers=2, several outputs or several classes"
            )
        own = [mean] * latents
        if isinstance(mean, ConstantMean):
            own = [ConstantMean(unwrap(mean.value)[latent]) for latent in range(latents)]
        return Independent(
            tuple(self.sparse_gp(inputs, self.kernel, part, 1, seed) for part in own)
        )
