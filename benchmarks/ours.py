"""Training steps and predictions of directgp: the functions that `fit` and `predict` run."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.problem import INITIAL_NOISE, initial_inducing, initial_lengthscale
from benchmarks.timing import Cell
from directgp import GP, KL, RBF, Batch, Gaussian, Objective, SparseGP, WhitenedGaussian
from directgp.expectations import Expectation, choose_expectation
from directgp.likelihoods import Likelihood
from directgp.linalg.blas_threads import one_blas_thread
from directgp.losses import losses
from directgp.parameters import split_trainable
from directgp.training import loop
from directgp.training.chunk import Descent, run_chunk
from directgp.training.evaluate import condition, marginals

LOSSES = {"elbo": "elbo", "direct": "direct-log"}


def start(X: np.ndarray, M: int, seed: int = 0) -> GP:
    """The peers' initial model: RBF, lengthscale √D, variance 1, noise 0.1, q at the prior."""
    D = X.shape[1]
    Z = initial_inducing(X, M, "random", seed)
    kernel = RBF(1.0, np.full(D, initial_lengthscale(D)))
    return GP(SparseGP(kernel, jnp.asarray(Z), WhitenedGaussian.prior(M)), Gaussian(INITIAL_NOISE))


def our_step(
    loss: Literal["elbo", "direct"],
    X: np.ndarray,
    y: np.ndarray,
    M: int,
    num_data: int,
    precision: Literal["float64", "mixed", "fast"] = "float64",
    *,
    steps: int = 10,
    learning_rate: float = 1e-3,
    seed: int = 0,
    likelihood: Likelihood | None = None,
    expectation: Expectation | None = None,
) -> Cell:
    """`steps` training steps on a fixed batch by the training loop's own compiled chunk."""
    with jax.enable_x64(True):
        gp = start(X, M, seed)
        gp = gp if likelihood is None else gp._replace(likelihood=likelihood)
        chosen = losses.create(LOSSES[loss])
        expectation = expectation or choose_expectation(chosen.needs, gp.likelihood)
        objective = Objective(chosen, KL(), expectation, precision)
    cell = chunk_cell(f"directgp {precision}", gp, objective, X, y, steps, learning_rate)
    return replace(cell, info={"num_data": num_data})


def chunk_cell(
    name: str,
    gp: GP,
    objective: Objective,
    X: np.ndarray,
    y: np.ndarray,
    steps: int,
    learning_rate: float = 1e-3,
) -> Cell:
    """`steps` training steps of a model on a fixed batch, compiled before they are timed."""
    with jax.enable_x64(True):
        learned, fixed = split_trainable(gp)
        moments = loop.start(gp).moments
        data = Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(len(y)))
        rates = jnp.full(steps, learning_rate)
        descent = Descent(
            learned, moments, fixed, objective, rates, jnp.asarray(1.0), jnp.asarray(0),
            jax.random.key(0),
        )  # fmt: skip
    latest = [float("nan")]

    def run() -> None:
        with jax.enable_x64(True), one_blas_thread():
            _, trace = run_chunk(descent, data, None, thorough=True)
            latest[0] = float(trace[0][-1])

    run()
    return Cell(name, run, steps, lambda: latest[0])


def our_predict(
    num_test: int, D: int, M: int, precision: Literal["float64", "mixed"], *, seed: int = 0
) -> Cell:
    """Means and variances of `num_test` rows, as `FittedGP.predict` makes them.

    The M×M algebra is done once, as GPyTorch's is (it caches it in evaluation mode).
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((num_test, D))
    with jax.enable_x64(True):
        ready = condition(start(X, M, seed).model, precision)
    latest = [float("nan")]

    def run() -> None:
        q = marginals(ready, X)
        latest[0] = float(q.variance[0, -1, 0])

    run()
    return Cell(f"directgp {precision}", run, num_test, lambda: latest[0])
