"""Time of a training step of deep models against GPyTorch, and our compile time."""

from __future__ import annotations

import time
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.peers.gpytorch_deep import gpytorch_deep_step
from benchmarks.problem import initial_inducing, make_data
from benchmarks.timing import Cell, Contention, alternate, alternate_cells, wait_until_quiet
from directgp import (
    GP,
    KL,
    Batch,
    Gaussian,
    Independent,
    LinearMean,
    Matern52,
    Objective,
    SparseGP,
    WhitenedGaussian,
    deep_gp,
    deep_sigma_points,
)
from directgp.expectations import choose_expectation
from directgp.fitting.specs.deep import INNER_STD, projection
from directgp.linalg.blas_threads import one_blas_thread
from directgp.losses import losses
from directgp.models import Model
from directgp.parameters import split_trainable
from directgp.training import loop
from directgp.training.chunk import Descent, run_chunk
from directgp.training.evaluate import condition, marginals

Kind = Literal["dspp", "dgp"]
LOSSES = {"dspp": "direct-log", "dgp": "elbo"}


def start(kind: Kind, X: np.ndarray, M: int, width: int, sites: int, shared: bool) -> GP:
    """Two layers of mean-field posteriors; `shared` inner outputs have one kernel and one Z."""
    D = X.shape[1]
    weights = projection(X, width)

    def layer(inputs: np.ndarray, number: int, mean: np.ndarray | None, spread: float, seed: int):
        kernel = Matern52(1.0, np.full(inputs.shape[1], np.sqrt(inputs.shape[1])))
        Z = jnp.asarray(initial_inducing(inputs, M, seed=seed))
        posterior = WhitenedGaussian.prior(M, number, True, spread)
        if mean is None:
            return SparseGP(kernel, Z, posterior)
        return SparseGP(kernel, Z, posterior, LinearMean(mean))

    inner: Model = layer(X, width, weights, INNER_STD, 0)
    if not shared:
        own = (layer(X, 1, weights[:, k : k + 1], INNER_STD, k) for k in range(width))
        inner = Independent(tuple(own))
    both = (inner, layer(X @ weights, 1, None, 1.0, 0))
    assert width <= D
    if kind == "dspp":
        return GP(deep_sigma_points(both, (width,), sites=sites), Gaussian())
    return GP(deep_gp(both, samples=sites), Gaussian())


def our_deep_step(
    kind: Kind,
    X: np.ndarray,
    y: np.ndarray,
    M: int,
    width: int,
    sites: int,
    *,
    shared: bool = True,
    steps: int = 10,
) -> Cell:
    """`steps` training steps on a fixed batch by the training loop's own compiled chunk."""
    with jax.enable_x64(True):
        gp = start(kind, X, M, width, sites, shared)
        learned, fixed = split_trainable(gp)
        moments = loop.start(gp).moments
        data = Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(len(y)))
        loss = losses.create(LOSSES[kind])
        how = choose_expectation(loss.needs, gp.likelihood)
        objective = Objective(loss, KL(), how, "mixed")
        rates, key = jnp.full(steps, 1e-3), jax.random.key(0)
        beta = jnp.asarray(0.05 if kind == "dspp" else 1.0)
        first_step = jnp.asarray(0)
        descent = Descent(learned, moments, fixed, objective, rates, beta, first_step, key)
    latest = [float("nan")]

    def run() -> None:
        with jax.enable_x64(True), one_blas_thread():
            _, trace = run_chunk(descent, data, None, thorough=True)
            latest[0] = float(trace[0][-1])

    began = time.perf_counter()
    run()
    first = time.perf_counter() - began
    name = f"directgp {kind}{'' if shared else ' own kernels'}"
    return Cell(name, run, steps, lambda: latest[0], {"first call": first})


def deep_predict_rows(wait: float = 60.0, number: int = 20_000) -> list[dict]:
    """Rows a second of two layers, width 3, M = 200, D = 26, 50 samples a row or 8 sites."""
    X, _ = make_data(number, 26)
    rows = []
    kinds: tuple[Kind, ...] = ("dgp", "dspp")
    for kind in kinds:
        wait_until_quiet(wait)
        with jax.enable_x64(True):
            model = start(kind, X[:1000], 200, 3, 8, shared=True).model
            components = model.for_prediction().components
        row: dict[str, object] = {"model": {"dspp": "DSPP", "dgp": "deep GP"}[kind]}
        row["components"] = components
        with Contention() as others:
            for precision in ("float64", "mixed"):
                with jax.enable_x64(True):
                    ready = condition(model, precision)
                best = alternate({precision: lambda: marginals(ready, X)}, rounds=3)  # noqa: B023
                row[f"{precision} rows/s"] = number / best[precision]
        rows.append(row | {"other cores busy": others.cores})
        print(rows[-1], flush=True)
    return rows


def deep_rows(rounds: int = 5, wait: float = 60.0) -> list[dict]:
    """Two layers, width 3, M = 200 mean-field, batch 1000, D = 26: ms per step, GPyTorch / ours."""
    X, y = make_data(1000, 26)
    rows = []
    kinds: tuple[tuple[Kind, int], ...] = (("dspp", 8), ("dgp", 5))
    for kind, sites in kinds:
        wait_until_quiet(wait)
        size = {"M": 200, "width": 3, "sites": sites}
        cells = [
            our_deep_step(kind, X, y, **size),
            our_deep_step(kind, X, y, **size, shared=False),
            gpytorch_deep_step(kind, X, y, **size),
        ]
        with Contention() as others:
            shared, own, peer = (1e3 * ms for ms in alternate_cells(cells, rounds=rounds).values())
        rows.append(
            {
                "model": {"dspp": "DSPP", "dgp": "deep GP"}[kind],
                "sites": sites,
                "ours ms": shared,
                "ours, own kernels ms": own,
                "GPyTorch f32 ms": peer,
                "× GPyTorch": peer / shared,
                "× GPyTorch, own kernels": peer / own,
                "compiling s": cells[0].info["first call"],
                "other cores busy": others.cores,
            }
        )
        print(rows[-1], flush=True)
    return rows
