"""GPyTorch's deep models as its own examples build them, one training step on a fixed batch.

Two layers with linear inner means, Matérn 5/2 kernels with a length-scale for each input, learned
inducing inputs and mean-field q(u). In GPyTorch every output of the inner layer has a kernel and
inducing inputs of its own.
"""

from __future__ import annotations

from typing import Any, Literal

import gpytorch
import numpy as np
import torch
from gpytorch.models.deep_gps import DeepGP, DeepGPLayer
from gpytorch.models.deep_gps.dspp import DSPP, DSPPLayer

from benchmarks.problem import THREADS, initial_inducing
from benchmarks.timing import Cell


def _parts(inputs: int, outputs: int | None, inducing: torch.Tensor):
    """Variational strategy's pieces, mean and kernel of a layer."""
    shape = torch.Size([] if outputs is None else [outputs])
    q = gpytorch.variational.MeanFieldVariationalDistribution(
        num_inducing_points=inducing.shape[-2], batch_shape=shape
    )
    mean = (
        gpytorch.means.ConstantMean(batch_shape=shape)
        if outputs is None
        else gpytorch.means.LinearMean(inputs, batch_shape=shape)
    )
    kernel = gpytorch.kernels.ScaleKernel(
        gpytorch.kernels.MaternKernel(nu=2.5, batch_shape=shape, ard_num_dims=inputs),
        batch_shape=shape,
        ard_num_dims=None,
    )
    kernel.base_kernel.lengthscale = torch.tensor(float(np.sqrt(inputs)))
    return q, mean, kernel


class _Forward:
    """The prior at x, the same for layers of both kinds."""

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """Mean and covariance at x [… N D]."""
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))  # pyright: ignore


class _SigmaPointLayer(_Forward, DSPPLayer):
    def __init__(self, inputs: int, outputs: int | None, inducing: torch.Tensor, sites: int):
        q, mean, kernel = _parts(inputs, outputs, inducing)
        strategy = gpytorch.variational.VariationalStrategy(self, inducing, q)
        super().__init__(strategy, inputs, outputs, sites)
        self.mean_module, self.covar_module = mean, kernel


class _SampledLayer(_Forward, DeepGPLayer):
    def __init__(self, inputs: int, outputs: int | None, inducing: torch.Tensor):
        q, mean, kernel = _parts(inputs, outputs, inducing)
        strategy = gpytorch.variational.VariationalStrategy(self, inducing, q)
        super().__init__(strategy, inputs, outputs)
        self.mean_module, self.covar_module = mean, kernel


class TwoLayerDSPP(DSPP):
    """A deep sigma point process of two layers."""

    def __init__(self, inner: torch.Tensor, outer: torch.Tensor, sites: int):
        super().__init__(sites)
        width, _, inputs = inner.shape
        self.inner = _SigmaPointLayer(inputs, width, inner, sites)
        self.outer = _SigmaPointLayer(width, None, outer, sites)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()

    def forward(self, x: torch.Tensor):
        """q(f) at x [N D], a mixture over sites."""
        return self.outer(self.inner(x))


class TwoLayerDGP(DeepGP):
    """A doubly stochastic deep GP of two layers."""

    def __init__(self, inner: torch.Tensor, outer: torch.Tensor):
        super().__init__()
        width, _, inputs = inner.shape
        self.inner = _SampledLayer(inputs, width, inner)
        self.outer = _SampledLayer(width, None, outer)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood()

    def forward(self, x: torch.Tensor):
        """q(f) at x [N D], sampled through the inner layer."""
        return self.outer(self.inner(x))


def deep_model(
    kind: str,
    X: np.ndarray,
    num_data: int,
    M: int,
    width: int,
    sites: int,
    inducing: Literal["random", "kmeans"] = "random",
    seed: int = 0,
) -> tuple[TwoLayerDSPP | TwoLayerDGP, Any]:
    """A two-layer "dspp" or "dgp" in float32 and the objective its examples maximise."""
    inner = torch.as_tensor(initial_inducing(X, M, inducing, seed), dtype=torch.float32)
    inner = inner.unsqueeze(0).repeat(width, 1, 1)
    outer = torch.randn(M, width)
    if kind == "dspp":
        model = TwoLayerDSPP(inner, outer, sites)
        return model, gpytorch.mlls.DeepPredictiveLogLikelihood(
            model.likelihood, model, num_data=num_data, beta=0.05
        )
    model = TwoLayerDGP(inner, outer)
    elbo = gpytorch.mlls.VariationalELBO(model.likelihood, model, num_data=num_data)
    return model, gpytorch.mlls.DeepApproximateMLL(elbo)


def gpytorch_deep_step(
    kind: str, X: np.ndarray, y: np.ndarray, M: int, width: int, sites: int, *, seed: int = 0
) -> Cell:
    """One training step of a two-layer "dspp" or "dgp" in float32, on the batch X [N D], y [N]."""
    torch.manual_seed(seed)
    torch.set_num_threads(THREADS)
    model, objective = deep_model(kind, X, len(y), M, width, sites, seed=seed)
    model.train()
    inputs, targets = (torch.as_tensor(part, dtype=torch.float32) for part in (X, y))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    latest = torch.tensor(float("nan"))

    def run() -> None:
        nonlocal latest
        torch.set_num_threads(THREADS)
        with gpytorch.settings.num_likelihood_samples(sites):
            optimiser.zero_grad()
            value = -objective(model(inputs), targets)
            value.backward()
            optimiser.step()
            latest = value.detach()

    return Cell(f"gpytorch {kind}", run, 1, lambda: float(latest))
