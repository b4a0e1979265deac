"""Deep models after as many epochs as GPyTorch's: scores alone, the time of a step is in `deep`.

Protocol of `quality`, two layers, M = 200, mean-field q(u), Matérn 5/2, 60 epochs of batch 1000.
GPyTorch's inner outputs have kernels and inducing inputs of their own; ours with width 3 too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from benchmarks.contest import EPOCHS, Data, gpytorch
from benchmarks.kept import Kept
from benchmarks.quality import split
from directgp import Deep, Training, fit, metrics
from directgp.predictive import Predictive

SMALL, LARGE = ("pol", "elevators", "bike"), ("kin40k", "protein")


def _ours(data: Data, seed: int, **options) -> Predictive:
    X, y, X_valid, y_valid, X_test, _ = data
    return fit(X, y, validation=(X_valid, y_valid), seed=seed, **options).predict(X_test)


def _gpytorch(data: Data, seed: int, kind) -> Predictive:
    return gpytorch(data, seed, kind).predict(data[4])


_NARROW = Deep(width=3, own_kernels=True, num_inducing=200)
_DSPP = {"loss": "direct-log", "beta": 0.05, "training": Training(epochs=EPOCHS)}
_DEEP_GP = {
    "loss": "elbo",
    "beta": 1.0,
    "model": replace(_NARROW, join="samples", num_sites=5),
    "training": Training(epochs=EPOCHS, learning_rate=0.05),
}
METHODS: dict[str, Callable[[Data, int], Predictive]] = {
    "directgp DSPP": partial(_ours, model=_NARROW, **_DSPP),
    "directgp DSPP, width 8": partial(_ours, model=Deep(width=8, num_inducing=200), **_DSPP),
    "GPyTorch DSPP": partial(_gpytorch, kind="dspp"),
    "directgp deep GP": partial(_ours, **_DEEP_GP),
    "GPyTorch deep GP": partial(_gpytorch, kind="dgp"),
}

CELLS = [(data, method) for data in SMALL for method in METHODS]
CELLS += [
    (data, method) for data in LARGE for method in METHODS if method.startswith("directgp DSPP")
]
"""What is trained; GPyTorch takes ten minutes for each of the large sets."""


def deep_quality_rows(seed: int = 0) -> list[dict]:
    """One row for each dataset and method; finished ones are kept, so a stopped run goes on."""
    kept = Kept("deep-quality")
    rows = {(row["data"], row["method"]): row for row in kept.rows() if row["seed"] == seed}
    for name, method in CELLS:
        if (name, method) not in rows:
            data = split(name, seed)
            scores = metrics.score_table(METHODS[method](data, seed), data[5])
            shown = {score: scores[score] for score in ("nll", "rmse", "crps")}
            row = {"data": name, "method": method, "seed": seed, **shown}
            rows[name, method] = row
            print(row, flush=True)
            kept.add(row)
    return [rows[cell] for cell in CELLS]
