"""Waiting times outside training: scores of counts, and the start-up of commands."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.timing import Contention, wait_until_quiet
from directgp import metrics
from directgp.likelihoods import NegativeBinomialExp, PoissonExp
from directgp.predictive.counts import CountMixture

_ROWS, _REPORT_ROWS = 50, 20_190


def count_rows(wait: float = 60.0) -> list[dict]:
    """The CRPS of counts beside its sum taken count by count, and all scores of a report."""
    generator, rows = np.random.default_rng(0), []
    for likelihood in (PoissonExp(), NegativeBinomialExp(0.5)):
        for median in (10.0, 300.0):
            wait_until_quiet(wait)
            mean = np.log(median) + 0.5 * generator.normal(size=(1, _REPORT_ROWS, 1))
            many: CountMixture = likelihood.predictive(mean, np.full_like(mean, 0.1), np.zeros(1))
            y = many.sample(1, seed=0)[0]
            few = many[:_ROWS]
            assert isinstance(few, CountMixture)
            with Contention() as others:
                began = time.process_time()
                ours = few.crps(y[:_ROWS])
                of_few = time.process_time() - began
                began = time.process_time()
                summed = _count_by_count(few, y[:_ROWS])
                of_sum = time.process_time() - began
                began = time.process_time()
                metrics.score_table_with_errors(many, y)
                metrics.randomised_pit(many, y, seed=0)
                of_report = time.process_time() - began
            rows.append(
                {
                    "likelihood": type(likelihood).__name__,
                    "median count": median,
                    "CRPS, count by count / ours": of_sum / of_few,
                    "largest difference, relative": float(np.max(np.abs(ours / summed - 1.0))),
                    f"all scores of {_REPORT_ROWS:,} rows, CPU seconds": of_report,
                    "other cores busy": others.cores,
                }
            )
    return rows


def _count_by_count(predictive: CountMixture, y: np.ndarray) -> np.ndarray:
    """Σ_k (F(k) − 1[y ≤ k])², term by term."""
    top = np.maximum(predictive.quantile(1.0 - 1e-9), y)
    total = np.zeros(y.size)
    for k in range(int(top.max()) + 1):
        todo = np.flatnonzero(k <= top)
        some = predictive[todo]
        total[todo] += (some.cdf(float(k)) - (y[todo] <= k)) ** 2
    return total


_ROWS_OF_A_SCRIPT = """
import numpy as np
generator = np.random.default_rng(0)
X = generator.normal(size=({rows}, 8))
y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * generator.normal(size={rows})
model = directgp.GPRegressor({options}).fit(X, y)
model.predict(X, return_std=True)
"""
_IMPORT = "import directgp; directgp.GPRegressor"
_FIRST_FIT = _IMPORT + _ROWS_OF_A_SCRIPT.format(rows=300, options="num_inducing=20, beta=1.0")
SCRIPTS = {
    _IMPORT: _IMPORT,
    "300 rows, one sparse GP, M = 20, nothing compiled yet": _FIRST_FIT,
    "300 rows, one sparse GP, M = 20, the second time": _FIRST_FIT,
    "824 rows, GPRegressor()": _IMPORT + _ROWS_OF_A_SCRIPT.format(rows=824, options=""),
}
"""From the start of Python to the last line: the import, or a fit and its predictions."""


def start_rows(wait: float = 60.0) -> list[dict]:
    """Seconds of scripts and commands, each a process of its own.

    A fit comes twice: with an empty cache of compiled programs, then again.
    """
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1599, 11))
    y = np.sin(X[:, 0]) + 0.1 * generator.normal(size=len(X))
    wait_until_quiet(wait)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, model = folder / "rows.csv", folder / "model.dgp"
        header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "y"])
        np.savetxt(table, np.column_stack([X, y]), delimiter=",", header=header, comments="")
        fit = ["fit", table, "-o", model, "-q"]
        commands = {
            "--help": ["--help"],
            "fit, nothing compiled yet": fit,
            "fit, the second time": fit,
            "inspect": ["inspect", model],
            "a model that is not there": ["inspect", folder / "none.dgp"],
            "predict": ["predict", model, table, "-o", folder / "predicted.csv"],
            "evaluate with a report": ["evaluate", model, table, "--report", folder / "r.html"],
        }
        environment = os.environ | {"DIRECTGP_COMPILE_CACHE": str(folder / "programs")}
        calls = {"import jax": [sys.executable, "-c", "import jax"]}
        calls |= {title: [sys.executable, "-c", code] for title, code in SCRIPTS.items()}
        for title, words in commands.items():
            calls[f"directgp {title}"] = [sys.executable, "-m", "directgp", *map(str, words)]
        rows = []
        for title, call in calls.items():
            with Contention() as others:
                seconds, processor = _seconds(call, environment)
            row = {"command": title, "seconds": seconds, "CPU seconds": processor}
            rows.append(row | {"other cores busy": others.cores})
    imports = rows[0]["CPU seconds"]
    return [row | {"CPU / import jax": row["CPU seconds"] / imports} for row in rows]


def _seconds(call: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of a process by the clock, and those of the processors."""
    before, began = os.times(), time.perf_counter()
    # Not checked: one of the commands is to fail.
    subprocess.run(call, env=environment, capture_output=True, check=False)
    seconds, after = time.perf_counter() - began, os.times()
    spent = after.children_user + after.children_system
    return seconds, spent - before.children_user - before.children_system
