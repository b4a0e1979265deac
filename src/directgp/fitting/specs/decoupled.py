"""`Decoupled`: a sparse GP whose mean has further inducing inputs."""

from dataclasses import dataclass
from typing import no_type_check

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.fitting.specs.base import ModelSpec, check_kernel
from directgp.kernels import Kernel
from directgp.models import DecoupledGP, MeanFunction, Model
from directgp.parameters import on_device
from directgp.training.initialise import inducing_inputs


@no_type_check  # `__post_init__` checks the values
@dataclass(frozen=True, kw_only=True)
class Decoupled(ModelSpec):
    """A sparse GP with `mean_inducing` more inducing inputs for its mean only.

    They cost O(M) per row instead of O(M²): the orthogonally decoupled GP (`DecoupledGP`).
    """

    kernel: str | Kernel = "matern52"
    """The kernel, by name or with its initial hyperparameters."""
    mean_inducing: int
    """Number of additional inducing inputs for the mean."""

    def __post_init__(self):
        check_kernel(self.kernel)
        self._count("mean_inducing")
        super().__post_init__()

    def on_inputs(
        self, inputs: Float[np.ndarray, "N D"], mean: MeanFunction, latents: int, seed: int
    ) -> Model:
        shared = self.sparse_gp(inputs, self.kernel, mean, latents, seed)
        extra = on_device(inducing_inputs(inputs, self.mean_inducing, seed + 1))
        return DecoupledGP(shared, extra, jnp.zeros((latents, len(extra))))
