"""All contestants on the same splits: scores, time, speed and memory in one table.

Protocol of `quality`: seeded 80/10/10 split, standardised units, M = 200, batch 1000. Every fit
runs in a process of its own, so that its memory is its own; `python -m benchmarks.contest DATA
NAME` is such a process and prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np

from benchmarks.kept import Kept
from benchmarks.quality import split
from benchmarks.trained import Trained, Watch
from directgp import Deep, GPRegressor, Sparse, Training, fit, metrics
from directgp.predictive import GaussianMixture

DATASETS = ("pol",)
"""Ten minutes each; `contest_rows(("bike", "elevators"))` measures others."""
EPOCHS = 60
REFERENCE = "GPyTorch SVGP"
"""Whose final NLL is the one the others are timed to."""

Data = tuple[np.ndarray, ...]


def ours(data: Data, seed: int, rate: float | None = None, **options) -> Trained:
    """One fit at β given, as long as the peers'; the model is that of the last step, as theirs.

    A first fit of one chunk compiles; its seconds count, and the curve starts after them. The same
    fit once more, with the test rows to look at, gives the NLL on the way and nothing else.
    """
    X, y, _, _, X_test, y_test = data
    short, whole = (Training(epochs=number, learning_rate=rate) for number in (0.1, EPOCHS))
    compiling = fit(X, y, seed=seed, training=short, **options).seconds
    common = {"seed": seed, "training": whole, **options}
    fitted = fit(X, y, **common)
    watched = fit(X, y, validation=(X_test, y_test), **common).history
    last = watched["step"][-1]
    seconds = [compiling + fitted.seconds * step / last for step in watched["step"]]
    curve = list(zip(seconds, watched["validation"], strict=True))
    return Trained(fitted.predict, compiling + fitted.seconds, last, curve)


def default_regressor(data: Data, seed: int) -> Trained:
    """`GPRegressor()` as it comes; validation rows are part of what it may learn from and split."""
    X, y, X_valid, y_valid, _, _ = data
    began = time.perf_counter()
    model = GPRegressor(random_state=seed)
    model.fit(np.concatenate([X, X_valid]), np.concatenate([y, y_valid]))
    return Trained(model.predict_distribution, time.perf_counter() - began)


def gpytorch(data: Data, seed: int, kind) -> Trained:
    """One of GPyTorch's models."""
    from benchmarks.peers.gpytorch_fit import gpytorch_fit

    return gpytorch_fit(*data[:2], Watch(*data[4:]), kind=kind, epochs=EPOCHS, seed=seed)


def gpjax(data: Data, seed: int) -> Trained:
    """GPJax's sparse GP."""
    from benchmarks.peers.gpjax_sparse import gpjax_fit

    return gpjax_fit(*data[:2], Watch(*data[4:]), epochs=EPOCHS, seed=seed)


def outsider(data: Data, seed: int, name: str) -> Trained:
    """One of the peers that are no sparse GPs."""
    from benchmarks.peers.gaussian_forecasts import GAUSSIANS

    began = time.perf_counter()
    predict = GAUSSIANS[name](*data[:4], seed)

    def predictive(X: np.ndarray) -> GaussianMixture:
        mean, std = predict(X)
        return GaussianMixture(mean[None], std[None] ** 2, np.zeros(1))

    return Trained(predictive, time.perf_counter() - began)


_SPARSE = Sparse(kernel="rbf", num_inducing=200)
_DEEP = Deep(width=3, num_inducing=200)
CONTESTANTS: dict[str, Callable[[Data, int], Trained]] = {
    "directgp ELBO": partial(ours, loss="elbo", beta=1.0, model=_SPARSE),
    "directgp direct": partial(ours, loss="direct-log", beta=1.0, model=_SPARSE),
    "directgp deep GP": partial(
        ours, loss="elbo", beta=1.0, model=replace(_DEEP, join="samples", num_sites=5), rate=0.05
    ),
    "directgp DSPP": partial(ours, loss="direct-log", beta=0.05, model=_DEEP),
    "directgp GPRegressor()": default_regressor,
    "GPyTorch SVGP": partial(gpytorch, kind="svgp"),
    "GPyTorch PPGPR": partial(gpytorch, kind="ppgpr"),
    "GPyTorch deep GP": partial(gpytorch, kind="dgp"),
    "GPyTorch DSPP": partial(gpytorch, kind="dspp"),
    "GPJax SVGP": gpjax,
    "scikit-learn GP, 1000 rows": partial(outsider, name="scikit-learn GP, 1000 rows"),
    "NGBoost, rate 0.1": partial(outsider, name="NGBoost, rate 0.1"),
}


_NEEDS = {
    "GPyTorch": "benchmarks.peers.gpytorch_fit",
    "GPJax": "benchmarks.peers.gpjax_sparse",
    "scikit-learn": "sklearn.gaussian_process",
    "NGBoost": "ngboost",
}
"""What is imported before memory is counted."""


def contest_rows(datasets: tuple[str, ...] = DATASETS, seed: int = 0) -> list[dict]:
    """One row for each dataset and contestant; finished ones are kept, so a stopped run goes on."""
    kept = Kept("contest")
    rows = [row for row in kept.rows() if row["seed"] == seed]
    done = {(row["data"], row["method"]) for row in rows}
    for data in datasets:
        for name in CONTESTANTS:
            if (data, name) not in done:
                command = [sys.executable, "-m", "benchmarks.contest", data, name, str(seed)]
                printed = subprocess.run(command, check=True, capture_output=True, text=True)
                rows.append(json.loads(printed.stdout.splitlines()[-1]))
                kept.add(rows[-1])
    return [_line(row, rows) for row in sorted(rows, key=partial(_place, datasets))]


def one_row(data_name: str, name: str, seed: int) -> dict:
    """Train one contestant here and measure it."""
    data = split(data_name, seed)
    import_module(_NEEDS.get(name.split()[0], "directgp"))
    before = _peak()
    trained = CONTESTANTS[name](data, seed)
    memory = _peak() - before
    X_test, y_test = data[4:]
    scores = metrics.score_table(trained.predict(X_test), y_test)
    many = np.concatenate([data[0]] * 2)
    trained.predict(many)
    began = time.perf_counter()
    trained.predict(many)
    rows_a_second = len(many) / (time.perf_counter() - began)
    return {
        "data": data_name,
        "seed": seed,
        "method": name,
        "NLL": scores["nll"],
        "CRPS": scores["crps"],
        "RMSE": scores["rmse"],
        "fit s": trained.seconds,
        "ms a step": 1e3 * trained.seconds / trained.steps if trained.steps else None,
        "rows/s": rows_a_second,
        "MiB": memory,
        "curve": trained.curve,
    }


def seconds_to(row: dict, nll: float) -> float | None:
    """When the test NLL first was at most `nll`; the whole fit where there is no curve."""
    curve = [*row["curve"], (row["fit s"], row["NLL"])]
    return next((seconds for seconds, value in curve if value <= nll), None)


def _line(row: dict, rows: list[dict]) -> dict:
    goal = next(
        (r["NLL"] for r in rows if (r["data"], r["method"]) == (row["data"], REFERENCE)), None
    )
    shown = {key: value for key, value in row.items() if key not in ("curve", "seed")}
    shown[f"s to {REFERENCE}'s NLL"] = None if goal is None else seconds_to(row, goal)
    return shown


def _place(datasets: tuple[str, ...], row: dict) -> tuple[int, int]:
    return datasets.index(row["data"]), list(CONTESTANTS).index(row["method"])


def _peak() -> float:
    """The most memory this process ever held, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(one_row(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
