"""Cost against the number of rows: time of an epoch, and memory beyond the data itself.

Each size runs in a process of its own, so that one size's memory is not charged to another. Time
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

import numpy as np

from benchmarks.timing import markdown_table

SIZES = (10_000, 100_000, 1_000_000)
COLUMNS, INDUCING, BATCH = 8, 100, 1000
_MB = 1e6


def cost_rows(sizes: Sequence[int] = SIZES) -> list[dict[str, object]]:
    """One row a size: seconds of an epoch (best of several for few rows), memory in MB."""
    rows: list[dict[str, object]] = []
    for n in sizes:
        loop, whole = _measure("loop", n), _measure("fit", n)
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
            }
        )
    return rows


def _measure(what: str, n: int) -> dict[str, float]:
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
    """Epochs of the training loop on data that is already in place."""
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
    before = _reset_peak()
    repeats = max(1, min(5, 200_000 // n))
    seconds = min(epochs(seed, per_epoch) for seed in range(1, repeats + 1))
    return {"seconds": seconds, "added": _peak() - before}


def measure_fit(n: int) -> dict[str, float]:
    """One epoch by `fit`, with all that it copies: the user's arrays are the data."""
    from directgp import Sparse, Training, fit

    training = Training(epochs=1, precision="float64")
    options = {"beta": 1.0, "model": Sparse(num_inducing=INDUCING), "training": training}
    fit(*_data(BATCH * 100), **options)  # compiles and fills caches
    X, y = _data(n)
    before = _reset_peak()
    began = time.perf_counter()
    fit(X, y, **options)
    return {"seconds": time.perf_counter() - began, "added": _peak() - before}


def _reset_peak() -> float:
    """Forget the peak so far (Linux) and return the memory in use now, in MB."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> float:
    return _status("VmHWM")


def _status(name: str) -> float:
    """A memory figure of this process in MB; where /proc is missing, the peak since its start."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _MB
    line = next(line for line in status.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024 / _MB


def main() -> None:
    """Print the table, or (for the process of one size) one measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", choices=["loop", "fit"])
    parser.add_argument("--rows", type=int, default=SIZES[0])
    given = parser.parse_args()
    if given.measure is None:
        print(markdown_table(cost_rows()))
    else:
        measure = {"loop": measure_loop, "fit": measure_fit}[given.measure]
        print(json.dumps(measure(given.rows)))


if __name__ == "__main__":
    main()
