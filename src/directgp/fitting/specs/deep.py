"""`Deep`: several layers of sparse GPs, joined by sigma points or by samples."""

from dataclasses import dataclass
from typing import no_type_check

import numpy as np
from jaxtyping import Float

from directgp.divergences import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.fitting.checks import check_switch
from directgp.fitting.specs.base import ModelSpec, check_kernel
from directgp.kernels import Kernel
from directgp.models import (
    DeepGP,
    Independent,
    LinearMean,
    MeanFunction,
    Model,
    SparseGP,
    deep_gp,
    deep_sigma_points,
)
from directgp.models.sigma_point import rules
from directgp.registry import Registry

QUADRATURE = "qr3"
"""The default rule of the sigma points."""
PREDICT_SAMPLES = 50
"""Samples of a deep GP at prediction where no number is given."""
_WIDEST = 30
INNER_STD = 0.05
"""Initial posterior standard deviation of inner layers (prior: 1): nearly deterministic."""

joins = Registry("deep")
"""Functions (layers, widths, spec, seed) that join layers to one model, by name."""


@no_type_check  # `__post_init__` checks the values
@dataclass(frozen=True, kw_only=True)
class Deep(ModelSpec):
    """A deep sigma point process (`dspp`), or with join="samples" a deep GP.

    Initially an inner layer is its linear mean with little variance; initial values of the layer
    above are computed from the outputs of that mean at the training rows.

    >>> Deep(layers=3, width=4, join="samples").depth
    3
    >>> Deep(layers=1)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: layers of a Deep must be at least 2, got 1; use Sparse for one
    """

    kernel: str | Kernel | tuple[str | Kernel, ...] = "matern52"
    """The covariance of every layer, or a tuple with one for each."""
    mean_field: bool = True
    layers: int = 2
    """How many layers, the last one included."""
    width: int | None = None
    """The outputs of an inner layer; None: as many as inputs, at most 30."""
    join: str = "sigma-points"
    """How the marginals of a layer enter the next: at learned "sigma-points", or by "samples"."""
    num_sites: int = 8
    """How many sigma points, or samples in training."""
    predict_samples: int | None = None
    """Samples of a deep GP at prediction; None: 50. Sigma points are the same there."""
    quadrature: str | None = None
    """The rule that places sigma points; None: "qr3". See docs/deep_models.md."""
    starts: int | None = None
    """Initial values of sigma points that are tried; the best is trained. None: 3."""
    skip: bool = False
    """Whether x is an additional input of every layer."""
    own_kernels: bool = False
    """Whether each output of an inner layer has a kernel and inducing inputs of its own."""

    def __post_init__(self):
        self._count("layers")
        if self.layers < 2:
            raise DirectGPError(
                f"layers of a Deep must be at least 2, got {self.layers}; use Sparse for one"
            )
        self._count("width", optional=True)
        self._count("num_sites")
        joins.lookup(self.join)
        self._count("predict_samples", optional=True)
        if self.predict_samples is not None and self.join != "samples":
            raise DirectGPError(
                f"predict_samples={self.predict_samples} has no effect on {self.join}; leave it "
                "out, or join the layers by 'samples'"
            )
        self._count("starts", optional=True)
        if self.starts is not None and self.join == "samples":
            raise DirectGPError(
                f"starts={self.starts} has no effect on {self.join}; leave it out, or join the "
                "layers by 'sigma-points'"
            )
        for name in ("skip", "own_kernels"):
            check_switch(name, getattr(self, name))
        if self.quadrature is not None:
            rules.lookup(self.quadrature)
            if self.join != "sigma-points":
                raise DirectGPError(
                    f"quadrature={self.quadrature!r} has no effect on {self.join}; leave it out, "
                    "or join the layers by 'sigma-points'"
                )
        if isinstance(self.kernel, list):
            self._set("kernel", tuple(self.kernel))
        for kernel in self.layer_kernels:
            check_kernel(kernel)
        if len(self.layer_kernels) != self.layers:
            raise DirectGPError(
                f"{self.layers} layers need as many kernels, got {len(self.layer_kernels)}"
            )
        super().__post_init__()

    @property
    def depth(self) -> int:
        return self.layers

    @property
    def layer_kernels(self) -> tuple[str | Kernel, ...]:
        """The kernel of each layer."""
        return self.kernel if isinstance(self.kernel, tuple) else (self.kernel,) * self.layers

    def on_inputs(
        self, inputs: Float[np.ndarray, "N D"], mean: MeanFunction, latents: int, seed: int
    ) -> Model:
        *inner_kernels, last_kernel = self.layer_kernels
        widths = (self.width or min(_WIDEST, inputs.shape[1]),) * len(inner_kernels)
        seen, layers = inputs, []
        for width, kernel in zip(widths, inner_kernels, strict=True):
            weights = projection(inputs, width)
            layers.append(self._inner(inputs, kernel, weights, seed))
            hidden = inputs @ weights
            inputs = np.concatenate([hidden, seen], axis=1) if self.skip else hidden
        layers.append(self.sparse_gp(inputs, last_kernel, mean, latents, seed))
        return joins.lookup(self.join)(tuple(layers), widths, self, seed)

    def _inner(
        self, inputs: np.ndarray, kernel: str | Kernel, weights: np.ndarray, seed: int
    ) -> Model:
        """A layer below the last, whose mean is the linear map `weights` [D W]."""
        width = weights.shape[1]
        shared = self.sparse_gp(inputs, kernel, LinearMean(weights), width, seed, INNER_STD)
        if not self.own_kernels:
            return shared
        size = len(shared.inducing)
        posterior = WhitenedGaussian.prior(size, 1, self.mean_field, INNER_STD)
        means = [LinearMean(weights[:, [output]]) for output in range(width)]
        prior, Z = shared.kernel, shared.inducing
        return Independent(tuple(SparseGP(prior, Z, posterior, own) for own in means))


Layers = tuple[Model, ...]
Widths = tuple[int, ...]


@joins.register("sigma-points")
def _sigma_points(layers: Layers, widths: Widths, spec: Deep, seed: int) -> DeepGP:
    rule = spec.quadrature or QUADRATURE
    return deep_sigma_points(
        layers, widths, sites=spec.num_sites, quadrature=rule, seed=seed, skip=spec.skip
    )


@joins.register("samples")
def _samples(layers: Layers, widths: Widths, spec: Deep, seed: int) -> DeepGP:
    number = spec.predict_samples or PREDICT_SAMPLES
    return deep_gp(layers, samples=spec.num_sites, predict_samples=number, skip=spec.skip)


def projection(X: Float[np.ndarray, "N D"], width: int) -> Float[np.ndarray, "D W"]:
    """The initial linear mean of an inner layer (Salimbeni & Deisenroth 2017, section 3.1).

    The identity, padded with zeros if the layer is wider than its inputs; the first principal
    directions if it is narrower.

    Args:
        X: inputs of the layer.
        width: its number of outputs.
    """
    columns = X.shape[1]
    if width >= columns:
        return np.eye(columns, width)
    centred = X - X.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred / len(X))
    leading = directions[:, ::-1][:, :width]
    # The sign of eigenvectors is arbitrary: fix it, so that a fit is the same on every machine.
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(width)])
    return leading * signs
