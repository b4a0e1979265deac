"""Time of an epoch and memory beyond the data, by number of rows.

Each size runs in its own process, so that memory is measured separately. Time
should be linear in n (the same time per row), and what training adds to the memory should not
depend on n, but for the shuffled row numbers of one epoch (4 bytes a row, against 80 for the row).

    python -m benchmarks.cost
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import markdown_table

SIZES = (10_000, 100_000, 1_000_000)
COLUMNS, INDUCING, BATCH = 8, 100, 1000
_MB = 1e6


def cost_rows(sizes: Sequence[int] = SIZES) -> list[dict[str, object]]:
    """One row a size: seconds of an epoch (best of several for few rows), memory in MB.

    What a prediction and a report add is beside the same data: its inputs, targets and weights.
    """
    rows: list[dict[str, object]] = []
    for n in sizes:
        loop, whole = measure("loop", n), measure("fit", n)
        predicted, report = measure("predict", n), measure("report", n)
        data = n * (COLUMNS + 2) * 8 / _MB
        rows.append(
            {
                "n": n,
                "epoch s": loop["seconds"],
                "µs a row": 1e6 * loop["seconds"] / n,
                "data MB": data,
                "loop adds MB": loop["added"],
                "fit adds MB": whole["added"],
                "fit adds / data": whole["added"] / data,
                "fit s": whole["seconds"],
                "predict adds / data": predicted["added"] / data,
                "report adds / data": report["added"] / data,
            }
        )
    return rows


def measure(what: str, n: int) -> dict[str, Any]:
    """One of `MEASURES`, in a process of its own."""
    root = Path(__file__).resolve().parent.parent
    path = os.pathsep.join([str(root), str(root / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cost", "--measure", what, "--rows", str(n)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _data(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, COLUMNS))
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n)


def measure_loop(n: int) -> dict[str, float]:
    """Epochs of the training loop on data that is already in memory."""
    import jax
    import jax.numpy as jnp

    from benchmarks.ours import start
    from directgp import KL, Batch, ClosedForm, Direct, LogLoss, Objective
    from directgp.training.loop import Settings, run

    per_epoch = n // BATCH
    chunk = min(per_epoch, 100)
    objective = Objective(Direct(LogLoss()), KL(), ClosedForm())
    with jax.enable_x64(True):
        X, y = _data(n)
        gp = start(X[: 10 * INDUCING], INDUCING)
        data = Batch(jnp.asarray(X), jnp.asarray(y), jnp.ones(n))
        del X, y

    def epochs(seed: int, steps: int) -> float:
        began = time.perf_counter()
        # Compiled as fits of a million rows are.
        settings = Settings(steps, BATCH, chunk=chunk, seed=seed, thorough=True)
        run(gp, objective, data, settings, beta=1.0)
        return time.perf_counter() - began

    epochs(0, chunk)  # compiles
    before = reset_peak()
    repeats = max(1, min(5, 200_000 // n))
    seconds = min(epochs(seed, per_epoch) for seed in range(1, repeats + 1))
    return {"seconds": seconds, "added": peak() - before}


def measure_fit(n: int) -> dict[str, float]:
    """One epoch by `fit`, with its copies of the user's arrays."""
    from directgp import Sparse, Training, fit

    training = Training(epochs=1, precision="float64")
    options = {"beta": 1.0, "model": Sparse(num_inducing=INDUCING), "training": training}
    fit(*_data(BATCH * 100), **options)  # compiles and fills caches
    X, y = _data(n)
    before = reset_peak()
    began = time.perf_counter()
    fit(X, y, **options)
    return {"seconds": time.perf_counter() - began, "added": peak() - before}


def measure_predict(n: int) -> dict[str, float]:
    """Mean and deviation of n rows."""
    fitted, X, _ = _fitted(n)
    before = reset_peak()
    began = time.perf_counter()
    predicted = fitted.predict(X)
    _ = predicted.mean, predicted.std
    return {"seconds": time.perf_counter() - began, "added": peak() - before}


def measure_report(n: int) -> dict[str, float]:
    """The report on the predictions of n rows."""
    from directgp.report import Judged, Table, evaluation_report

    fitted, X, y = _fitted(n)
    judged = Judged("model", fitted.predict(X), y)
    columns = {f"x{k}": X[:, k] for k in range(COLUMNS)}
    table = Table("rows", "y", None, columns, np.arange(n))
    before = reset_peak()
    began = time.perf_counter()
    evaluation_report(judged, table)
    return {"seconds": time.perf_counter() - began, "added": peak() - before}


def _fitted(n: int) -> tuple[Any, np.ndarray, np.ndarray]:
    """A model whose prediction is compiled, and n rows."""
    from directgp import Sparse, Training, fit

    X, y = _data(BATCH)
    spec, training = Sparse(num_inducing=INDUCING), Training(max_steps=20)
    fitted = fit(X, y, beta=1.0, model=spec, training=training)
    fitted.predict(X)
    return fitted, *_data(n)


def shapes_rows(fits: int = 50) -> list[dict[str, object]]:
    """Memory of one process after fits that all have different shapes."""
    return measure("shapes", fits)["rows"]


def measure_shapes(fits: int) -> dict[str, Any]:
    """Fit and predict tables of different rows, columns and inducing points."""
    from directgp import Sparse, Training, fit

    rows: list[dict[str, object]] = []
    before = reset_peak()
    for number in range(1, fits + 1):
        X, y = _data(100 + 7 * number)
        X = X[:, : 2 + number % (COLUMNS - 2)]
        spec = Sparse(num_inducing=5 + number % 40)
        fit(X, y, beta=1.0, model=spec, training=Training(max_steps=10)).predict(X)
        if number % max(fits // 5, 1) == 0:
            added = _status("VmRSS") - before
            rows.append({"fits": number, "added MB": added, "MB a fit": added / number})
    return {"rows": rows}


def reset_peak() -> float:
    """Reset the peak (Linux) and return the memory in use, in MB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def peak() -> float:
    """Peak memory since `reset_peak`, in MB."""
    return _status("VmHWM")


def _status(name: str) -> float:
    """A memory figure of this process in MB; without /proc, the peak since its start."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MB
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024 / _MB


MEASURES = {
    "loop": measure_loop,
    "fit": measure_fit,
    "predict": measure_predict,
    "report": measure_report,
    "shapes": measure_shapes,
}
"""The measurements that run in their own process, for a number of rows (or fits)."""


def main() -> None:
    """Print the table, or (for the process of one size) one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", choices=sorted(MEASURES))
    parser.add_argument("--rows", type=int, default=SIZES[0])
    given = parser.parse_args()
    if given.measure is None:
        print(markdown_table(cost_rows()))
    else:
        print(json.dumps(MEASURES[given.measure](given.rows)))


if __name__ == "__main__":
    main()
