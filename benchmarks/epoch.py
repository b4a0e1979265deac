"""Time of an epoch of classification of flights, against GPyTorch's ELBO.

Probit classification of late flights (airline_nyc2013), M = 200, batches of 1000. GPyTorch twice:
as its tutorial runs it, with a shuffling `DataLoader` over a `TensorDataset`, and with batches
indexed from one shuffled tensor, which is the fastest it can be fed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import gpytorch
import numpy as np
import pyarrow.parquet as parquet
import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.peers.gpytorch_sparse import objective_of, sparse_model
from benchmarks.problem import INITIAL_NOISE, THREADS, initial_inducing, initial_lengthscale
from benchmarks.quality import data_folder
from benchmarks.timing import Contention, wait_until_quiet
from directgp import Sparse, Training, fit

M, BATCH = 200, 1000


def flights(rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Standardised inputs and labels 0 or 1 of the first rows of the file."""
    table = parquet.read_table(data_folder() / "airline_nyc2013.parquet")
    names = [name for name in table.column_names if name not in ("y", "arr_delay")]
    X = np.stack([table[name].to_numpy().astype(float) for name in names], axis=1)[:rows]
    return (X - X.mean(0)) / X.std(0), table["y"].to_numpy().astype(float)[:rows]


def our_epoch(loss: str, X: np.ndarray, y: np.ndarray, epochs: int) -> float:
    """Seconds of an epoch of `fit`: the difference of a long and a short compiled fit."""

    def seconds(number: int) -> float:
        training = Training(epochs=number, batch_size=BATCH)
        model = Sparse(kernel="rbf", num_inducing=M)
        options = {"likelihood": "bernoulli", "loss": loss, "beta": 1.0, "verbose": False}
        return fit(X, y, model=model, training=training, **options).seconds

    seconds(1)
    return (seconds(1 + epochs) - seconds(1)) / epochs


def gpytorch_epoch(X: np.ndarray, y: np.ndarray, loader: bool, epochs: int) -> float:
    """Seconds of an epoch of GPyTorch's ELBO, after some warm-up steps."""
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    Z = initial_inducing(X, M)
    model, _ = sparse_model(Z, "float32", initial_lengthscale(X.shape[1]), INITIAL_NOISE)
    likelihood = gpytorch.likelihoods.BernoulliLikelihood()
    objective = objective_of("elbo", likelihood, model, len(X))
    inputs, targets = (torch.as_tensor(part, dtype=torch.float32) for part in (X, y))
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    rows = TensorDataset(inputs, targets)
    loaded = DataLoader(rows, batch_size=BATCH, shuffle=True)

    def indexed() -> Iterable:
        return ((inputs[part], targets[part]) for part in torch.randperm(len(X)).split(BATCH))

    def steps(batches: Iterable) -> None:
        for x, label in batches:
            optimiser.zero_grad()
            (-objective(model(x), label)).backward()
            optimiser.step()

    feed: Callable[[], Iterable] = (lambda: loaded) if loader else indexed
    steps(part for part, _ in zip(indexed(), range(10), strict=False))
    began = time.perf_counter()
    for _ in range(epochs):
        steps(feed())
    return (time.perf_counter() - began) / epochs


def epoch_rows(rows: int | None = None, epochs: int = 2, wait: float = 60.0) -> list[dict]:
    """Seconds of an epoch, and the ratio GPyTorch / ours."""
    X, y = flights(rows)
    wait_until_quiet(wait)
    with Contention() as others:
        elbo, direct = (our_epoch(loss, X, y, epochs) for loss in ("elbo", "direct-log"))
        plain, loader = (gpytorch_epoch(X, y, feed, epochs) for feed in (False, True))
    return [
        {
            "rows": len(X),
            "ours ELBO s": elbo,
            "ours direct s": direct,
            "GPyTorch ELBO, tutorial's loader s": loader,
            "GPyTorch ELBO, indexed s": plain,
            "× loader, ELBO": loader / elbo,
            "× loader, direct": loader / direct,
            "× indexed, ELBO": plain / elbo,
            "× indexed, direct": plain / direct,
            "other cores busy": others.cores,
        }
    ]
