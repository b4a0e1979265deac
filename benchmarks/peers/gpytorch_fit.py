"""Whole fits by GPyTorch: SVGP, PPGPR, deep GP and DSPP, each as its examples train them."""

from __future__ import annotations

from typing import Any, Literal

import gpytorch
import numpy as np
import torch

from benchmarks.peers.gpytorch_deep import deep_model
from benchmarks.peers.gpytorch_sparse import objective_of, sparse_model
from benchmarks.problem import THREADS, initial_inducing
from benchmarks.trained import Clock, Trained, Watch, decayed
from directgp.predictive import GaussianMixture

Kind = Literal["svgp", "ppgpr", "dgp", "dspp"]
SITES = {"dgp": 5, "dspp": 8}


def gpytorch_fit(
    X: np.ndarray,
    y: np.ndarray,
    watch: Watch,
    *,
    kind: Kind,
    epochs: int = 60,
    batch: int = 1000,
    M: int = 200,
    width: int = 3,
    seed: int = 0,
) -> Trained:
    """Train by mini-batches of Adam in float32, at a rate of 0.01 that falls twice tenfold.

    SVGP and PPGPR are the ELBO and the direct log loss of one model: RBF, GPyTorch's starting
    values, full covariance. The deep models have two layers, Matérn 5/2 and mean-field q(u).
    Epochs shuffle anew and keep the short last batch.
    """
    clock = Clock()
    torch.manual_seed(seed)
    torch.set_num_threads(THREADS)
    M = min(M, len(X))
    if kind in ("svgp", "ppgpr"):
        Z = initial_inducing(X, M, "kmeans", seed)
        model, likelihood = sparse_model(Z, "float32", None, None)
        loss = "elbo" if kind == "svgp" else "direct"
        objective = objective_of(loss, likelihood, model, len(X))
        parameters = [*model.parameters(), *likelihood.parameters()]
        sites = 1
    else:
        sites = SITES[kind]
        model, objective = deep_model(kind, X, len(X), M, width, sites, "kmeans", seed)
        likelihood, parameters = model.likelihood, list(model.parameters())
    inputs, targets = (torch.as_tensor(part, dtype=torch.float32) for part in (X, y))
    optimiser = torch.optim.Adam(parameters, lr=0.01)

    def predict(rows: np.ndarray) -> GaussianMixture:
        model.eval()
        likelihood.eval()
        means, variances = [], []
        with torch.no_grad(), gpytorch.settings.num_likelihood_samples(sites):
            for part in torch.as_tensor(rows, dtype=torch.float32).split(1000):
                marginal: Any = likelihood(model(part))
                means.append(marginal.mean.reshape(-1, len(part)))
                variances.append(marginal.variance.reshape(-1, len(part)))
        mean, variance = (torch.cat(part, -1).double().numpy() for part in (means, variances))
        log_weights = np.full(len(mean), -np.log(len(mean)))
        if kind == "dspp":
            log_weights = model.quad_weights.detach().double().numpy()
        return GaussianMixture(mean, variance, log_weights)

    steps = 0
    for epoch in range(epochs):
        model.train()
        likelihood.train()
        for group in optimiser.param_groups:
            group["lr"] = decayed(epoch, epochs)
        with gpytorch.settings.num_likelihood_samples(sites):
            for rows in torch.randperm(len(inputs)).split(batch):
                optimiser.zero_grad()
                value = -objective(model(inputs[rows]), targets[rows])
                value.backward()
                optimiser.step()
                steps += 1
        with clock.stopped() as seconds:
            watch.look(epoch + 1, seconds, predict)
    return Trained(predict, clock.seconds, steps, watch.curve)
