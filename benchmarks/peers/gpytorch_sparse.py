"""GPyTorch's sparse GP as its own users run it: a training step, prediction, a whole fit.

Whitened q(u) with full covariance, learned inducing inputs, constant mean, scaled ARD RBF kernel,
Gaussian noise. The loss is either of

    elbo    (num_data/N) sum_n E_q[-log N(y_n; f_n, s2)] + KL(q(u) || p(u))
    direct  (num_data/N) sum_n -log E_q[N(y_n; f_n, s2)] + KL(q(u) || p(u))

divided by num_data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import gpytorch
import numpy as np
import torch

from benchmarks.problem import (
    INITIAL_NOISE,
    THREADS,
    Dtype,
    Loss,
    check_loss,
    initial_inducing,
    initial_lengthscale,
    make_data,
)
from benchmarks.timing import Cell, alternate, time_once


class SparseGP(gpytorch.models.ApproximateGP):
    """GPyTorch's sparse GP with its whitened strategy and its other settings as they come."""

    def __init__(self, Z: torch.Tensor, lengthscale: float | None) -> None:
        M, D = Z.shape
        q = gpytorch.variational.CholeskyVariationalDistribution(M)
        super().__init__(
            gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True)
        )
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=D))
        if lengthscale is not None:
            self.covar_module.base_kernel.lengthscale = torch.tensor(lengthscale)
            self.covar_module.outputscale = 1.0

    def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
        """The prior at x [N D]."""
        return gpytorch.distributions.MultivariateNormal(
            self.mean_module(x),  # pyright: ignore[reportArgumentType]
            self.covar_module(x),  # pyright: ignore[reportArgumentType]
        )


def sparse_model(
    Z: np.ndarray, dtype: Dtype, lengthscale: float | None, noise: float | None
) -> tuple[SparseGP, gpytorch.likelihoods.GaussianLikelihood]:
    """The model and its likelihood; values left at None are GPyTorch's own."""
    torch.set_num_threads(THREADS)
    kind = getattr(torch, dtype)
    model = SparseGP(torch.as_tensor(Z, dtype=kind), lengthscale).to(kind)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(kind)
    if noise is not None:
        likelihood.noise = torch.tensor(noise)
    return model, likelihood


def objective_of(
    loss: Loss,
    likelihood: gpytorch.likelihoods.Likelihood,
    model: SparseGP,
    num_data: int,
) -> Any:
    """What GPyTorch maximises for this loss."""
    check_loss(loss)
    kind = (
        gpytorch.mlls.VariationalELBO if loss == "elbo" else gpytorch.mlls.PredictiveLogLikelihood
    )
    return kind(likelihood, model, num_data=num_data)


def gpytorch_step(
    loss: Loss,
    X: np.ndarray,
    y: np.ndarray,
    M: int,
    num_data: int,
    dtype: Dtype = "float32",
    *,
    steps: int = 1,
    threads: int | None = THREADS,
    learning_rate: float = 1e-3,
    seed: int = 0,
    classes: bool = False,
) -> Cell:
    """GPyTorch: `steps` training steps per call on the batch X [N D], y [N].

    With `classes` y is 0 or 1 and the likelihood GPyTorch's Bernoulli (probit).

    `threads` None tries one thread and all of them and keeps the faster, named in
    `cell.info["threads"]`: small M does better with one, and a busy machine needs it.
    """
    torch.manual_seed(seed)
    model, likelihood = sparse_model(
        initial_inducing(X, M, seed=seed), dtype, initial_lengthscale(X.shape[1]), INITIAL_NOISE
    )
    if classes:
        likelihood = gpytorch.likelihoods.BernoulliLikelihood()
    model.train()
    likelihood.train()
    objective = objective_of(loss, likelihood, model, num_data)
    inputs = torch.as_tensor(X, dtype=getattr(torch, dtype))
    targets = torch.as_tensor(y, dtype=getattr(torch, dtype))
    optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=learning_rate)
    latest = torch.tensor(float("nan"))

    def run_with(threads: int) -> None:
        nonlocal latest
        torch.set_num_threads(threads)
        for _ in range(steps):
            optimiser.zero_grad()
            value = -objective(model(inputs), targets)
            value.backward()
            optimiser.step()
            latest = value.detach()

    if threads is None:
        trials = {str(k): partial(run_with, k) for k in sorted({1, THREADS})}
        best = alternate(trials, rounds=2, min_time=0.05)
        threads = int(min(best, key=lambda name: best[name]))

    return Cell(
        name=f"gpytorch {loss} {dtype}",
        run=partial(run_with, threads),
        work=steps,
        value=lambda: float(latest),
        info={
            "peer": "gpytorch",
            "loss": loss,
            "dtype": dtype,
            "M": M,
            "N": len(X),
            "threads": threads,
        },
    )


def predictor(
    model: SparseGP, likelihood: gpytorch.likelihoods.GaussianLikelihood, chunk: int
) -> Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]:
    """Predictive means and variances, `chunk` rows at a time."""
    model.eval()
    likelihood.eval()

    def predict(inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        means, variances = [], []
        with torch.no_grad(), gpytorch.settings.fast_pred_var():
            for part in inputs.split(chunk):
                marginal: Any = likelihood(model(part))
                means.append(marginal.mean)
                variances.append(marginal.variance)
        return torch.cat(means), torch.cat(variances)

    return predict


def gpytorch_predict(
    num_test: int,
    D: int,
    M: int,
    dtype: Dtype = "float32",
    *,
    chunks: Sequence[int] = (500, 1000, 2000, 5000, 10_000),
    seed: int = 0,
) -> Cell:
    """GPyTorch: predictive mean and variance of `num_test` rows per call, in its best chunk size.

    The parameters are arbitrary (time does not depend on them). Rows per second are
    `cell.work / seconds per call`; the chosen chunk is in `cell.info["chunk"]`.
    """
    torch.manual_seed(seed)
    X, _ = make_data(num_test, D, seed)
    Z = np.random.default_rng(seed).standard_normal((M, D))
    model, likelihood = sparse_model(Z, dtype, initial_lengthscale(D), INITIAL_NOISE)
    inputs = torch.as_tensor(X, dtype=getattr(torch, dtype))
    model(inputs[:2])  # GPyTorch sets q(u) at the first call, so ours must come after it
    q: Any = model.variational_strategy._variational_distribution
    with torch.no_grad():
        q.variational_mean.normal_()
        q.chol_variational_covar.mul_(0.3)

    seconds: dict[int, float] = {}
    for chunk in sorted({min(chunk, num_test) for chunk in chunks}):
        predict = predictor(model, likelihood, chunk)
        some = inputs[: max(chunk, min(num_test, 5000))]
        predict(some)
        trials = [time_once(lambda p=predict, s=some: p(s) and None) for _ in range(3)]
        seconds[chunk] = min(trials) / len(some)
    chunk = min(seconds, key=lambda size: seconds[size])
    predict = predictor(model, likelihood, chunk)
    latest = float("nan")

    def run() -> None:
        nonlocal latest
        torch.set_num_threads(THREADS)  # another cell may have left one thread
        _, variance = predict(inputs)
        latest = float(variance[-1])

    return Cell(
        name=f"gpytorch predict {dtype}",
        run=run,
        work=num_test,
        value=lambda: latest,
        info={"peer": "gpytorch", "dtype": dtype, "M": M, "N": num_test, "chunk": chunk},
    )
