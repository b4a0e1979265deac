"""Time of a step with several outputs: whole rows, one output, and rows of one output each."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.ours import chunk_cell
from benchmarks.problem import initial_inducing, make_data
from benchmarks.timing import Contention, alternate_cells, wait_until_quiet
from directgp import (
    GP,
    KL,
    RBF,
    Gaussian,
    MultiOutput,
    Objective,
    SparseGP,
    WhitenedGaussian,
)
from directgp.expectations import choose_expectation
from directgp.likelihoods.gaussian_outputs import for_outputs
from directgp.losses import losses
from directgp.parameters import frozen

OUTPUTS, ROWS, COLUMNS = 7, 1000, 21


def start(X: np.ndarray, M: int, outputs: int, mean_field: bool) -> GP:
    """`outputs` outputs of seven latent functions that share a kernel and inducing inputs."""
    kernel = RBF(1.0, np.full(X.shape[1], np.sqrt(X.shape[1])))
    posterior = WhitenedGaussian.prior(M, OUTPUTS, mean_field)
    base = SparseGP(kernel, jnp.asarray(initial_inducing(X, M)), posterior)
    mixing = np.random.default_rng(0).normal(size=(outputs, OUTPUTS)) / np.sqrt(OUTPUTS)
    levels = frozen(jnp.arange(float(outputs)))
    return GP(
        MultiOutput(base, jnp.asarray(mixing), levels, True), for_outputs(Gaussian(), outputs)
    )


def outputs_rows(rounds: int = 5, wait: float = 60.0, steps: int = 10) -> list[dict]:
    """Milliseconds of a step on 1000 rows with seven outputs of seven latent functions.

    *pairs* is the same on 7000 rows of one output each, as it was before whole rows; *one output*
    a single output of the same latent functions: what one pass over them costs.
    """
    X, y = make_data(ROWS, COLUMNS)
    Y = np.stack([np.roll(y, k) for k in range(OUTPUTS)], axis=1)
    numbers = np.tile(np.arange(float(OUTPUTS)), ROWS)
    pairs = np.column_stack([np.repeat(X, OUTPUTS, axis=0), numbers])
    rows = []
    for M, mean_field in ((100, False), (200, False), (200, True)):
        wait_until_quiet(wait)
        with jax.enable_x64(True):
            whole, one = (start(X, M, count, mean_field) for count in (OUTPUTS, 1))
            loss = losses.create("direct-log")
            how = choose_expectation(loss.needs, whole.likelihood)
            objective = Objective(loss, KL(), how, "mixed")
        cells = [
            chunk_cell("whole rows", whole, objective, X, Y, steps),
            chunk_cell("one output", one, objective, X, Y[:, :1], steps),
            chunk_cell("pairs", whole, objective, pairs, Y.ravel(), steps),
        ]
        with Contention() as others:
            ms = {name: 1e3 * s for name, s in alternate_cells(cells, rounds=rounds).items()}
        rows.append(
            {
                "M": M,
                "q(u)": "mean-field" if mean_field else "full",
                **{f"{name} ms": value for name, value in ms.items()},
                "whole rows / one output": ms["whole rows"] / ms["one output"],
                "pairs / whole rows": ms["pairs"] / ms["whole rows"],
                "other cores busy": others.cores,
            }
        )
        print(rows[-1], flush=True)
    return rows
