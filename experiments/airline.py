"""`dlm` Fig. 1(f, i): learning curves on a large classification table, by kind of gradient.

    python -m experiments.airline [epochs [β]]

airline_nyc2013 stands in for the paper's airline data (same eight features). Probit likelihood, ARD
RBF, constant mean, M = 200, batch 1000, β ∈ {0.1, 1, 10}; test NLL after every epoch.
"""

from __future__ import annotations

import sys
import time

import jax.numpy as jnp
import numpy as np

from benchmarks.quality import data_folder
from directgp import KL, Batch, ClosedForm, Direct, GaussHermite, Gibbs, LogLoss, Objective
from directgp.expectations import MonteCarlo, ProductSampling
from directgp.likelihoods import likelihoods
from directgp.parameters import float64
from directgp.prepare import initial_gp
from directgp.structure import Structure
from directgp.training.evaluate import Scorer
from directgp.training.loop import Settings, run
from experiments.store import Store

METHODS = {
    "ELBO": (Gibbs, GaussHermite(20)),
    "DLM exact": (Direct, ClosedForm()),
    "bMC-1": (Direct, MonteCarlo(1)),
    "bMC-10": (Direct, MonteCarlo(10)),
    "bMC-100": (Direct, MonteCarlo(100)),
    "uPS-1": (Direct, ProductSampling(1)),
    "uPS-10": (Direct, ProductSampling(10)),
}
BETAS = (0.1, 1.0, 10.0)
NOT_INPUTS = ("y", "arr_delay")


def load(seed: int = 0) -> tuple[np.ndarray, ...]:
    """Standardised train and test rows; 50,000 rows are for the test."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(data_folder() / "airline_nyc2013.parquet")
    columns = [column for column in table.column_names if column not in NOT_INPUTS]
    X = np.stack([table[column].to_numpy().astype(float) for column in columns], axis=1)
    y = table["y"].to_numpy().astype(float)
    order = np.random.default_rng(seed).permutation(len(y))
    test, train = order[:50_000], order[50_000:]
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    return X[train], y[train], X[test][:20_000], y[test][:20_000]


@float64
def run_one(data: tuple[np.ndarray, ...], method: str, beta: float, epochs: int) -> dict:
    """Train with one kind of gradient and score the test rows after every epoch."""
    X, y, X_test, y_test = data
    likelihood = likelihoods.create("bernoulli")
    gp = initial_gp(X, y, likelihood, "rbf", "constant", 200, False, Structure(), 0)
    loss, expectation = METHODS[method]
    batch = Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(len(y)))
    test = Batch(jnp.asarray(X_test), jnp.asarray(y_test), jnp.ones(len(y_test)))
    score = Scorer(Objective(Direct(LogLoss()), KL(), ClosedForm()), test)
    per_epoch = len(y) // 1000
    settings = Settings(epochs * per_epoch, 1000, 0.02, chunk=per_epoch, tolerance=0.0)
    curve, seconds, began = [score(gp)], [], [time.monotonic()]

    def after_chunk(_: object) -> None:
        seconds.append(time.monotonic() - began[0])
        began[0] = time.monotonic()

    objective = Objective(loss(LogLoss()), KL(), expectation)
    trained = run(
        gp, objective, batch, settings, beta=beta, validation=score, after_chunk=after_chunk
    )
    curve += trained.history["validation"]
    return {"curve": curve, "final": curve[-1], "epoch_seconds": min(seconds)}


def main(epochs: str = "6", *betas: str) -> None:
    """Run what is missing."""
    store, data = Store("airline"), load()
    for beta in map(float, betas or BETAS):
        for method in METHODS:
            key = f"{method}/{beta}/{epochs}"
            if key not in store:
                facts = {"method": method, "β": beta, "epochs": int(epochs)}
                store.add(key, facts | run_one(data, method, beta, int(epochs)))
            row = store.rows[key]
            print(f"{key}: NLL {row['final']:.4f}, epoch {row['epoch_seconds']:.2f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
