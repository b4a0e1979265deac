"""Scores on real data with automatic β, against GPyTorch on the same splits.

Protocol: `default_rng(seed).permutation(n)`, 80 % train, 10 % validation, 10 % test, inputs and
target standardised on train, NLL in standardised units, M = 200, at most 60 epochs of batch 1000.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

from benchmarks.peers.gpytorch_fit import Kind, gpytorch_fit
from benchmarks.trained import Watch
from directgp import Sparse, Training, fit, metrics

DATASETS = ("pol", "elevators", "bike", "kin40k", "protein", "cadata")


def data_folder() -> Path:
    """The folder of the datasets: DIRECTGP_DATA, or ../shared/data beside the checkout."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTGP_DATA", default))
    if not folder.is_dir():
        raise SystemExit(f"no datasets at {folder}; set DIRECTGP_DATA to a folder of Parquet files")
    return folder


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and target of one dataset."""
    table = parquet.read_table(data_folder() / f"{name}.parquet")
    columns = [column for column in table.column_names if column != "y"]
    X = np.stack([table[column].to_numpy().astype(float) for column in columns], axis=1)
    return X, table["y"].to_numpy().astype(float)


def split(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """X and y of train, validation and test rows, standardised with training statistics."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))
    train, valid, test = np.split(order, [int(0.8 * len(y)), int(0.9 * len(y))])
    spread = X[train].std(axis=0)
    X = (X - X[train].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[valid], y[valid], X[test], y[test]


EPOCHS = 37
"""Epochs of one fit, so that with the choice of β all passes over the data are within 60."""
MODEL = Sparse(num_inducing=200)
METHODS = {
    "directgp direct-log, β auto": {"training": Training(epochs=EPOCHS)},
}


def quality_rows(
    seeds: tuple[int, ...] = (0,), peers: tuple[Kind, ...] = ("svgp", "ppgpr")
) -> list[dict]:
    """One row for each dataset and method: test scores, chosen β, seconds."""
    rows = []
    for name in DATASETS:
        for seed in seeds:
            X, y, X_valid, y_valid, X_test, y_test = split(name, seed)
            common = {"model": MODEL, "validation": (X_valid, y_valid), "seed": seed}
            for method, options in METHODS.items():
                fitted = fit(X, y, **common, **options)
                scores = metrics.score_table(fitted.predict(X_test), y_test)
                rows.append(_row(name, seed, method, scores, fitted.seconds, fitted.beta))
            for kind in peers:
                peer = gpytorch_fit(X, y, Watch(X_test, y_test, every=10**9), kind=kind, seed=seed)
                scores = metrics.score_table(peer.predict(X_test), y_test)
                method = f"GPyTorch {kind.upper()}"
                rows.append(_row(name, seed, method, scores, peer.seconds, 1.0))
    return rows


def _row(name, seed, method, scores, seconds, beta) -> dict:
    row = {"data": name, "seed": seed, "method": method}
    row |= {key: scores[key] for key in ("nll", "rmse", "crps", "coverage") if key in scores}
    row |= {"β": beta, "seconds": seconds}
    print(row, flush=True)
    return row


def grid_cost_rows() -> list[dict]:
    """Cost of choosing β over the whole grid in units of one fit, by steps and by seconds."""
    rows = []
    for name in ("pol", "kin40k"):
        X, y, X_valid, y_valid, _, _ = split(name, 0)
        for loss in ("elbo", "direct-log"):
            common = {"model": MODEL, "validation": (X_valid, y_valid), "loss": loss}
            fit(X, y, beta=1.0, training=Training(epochs=1), **common)
            one = fit(X, y, beta=1.0, **common)
            grid = fit(X, y, **common)
            rows.append(
                {
                    "data": name,
                    "loss": loss,
                    "values of β": len(grid.beta_curve),
                    "one fit s": one.seconds,
                    "whole grid s": grid.seconds,
                    "grid / fit": grid.seconds / one.seconds,
                }
            )
            print(rows[-1], flush=True)
    return rows
