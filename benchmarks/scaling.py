"""Times by size of the problem, against the limits of memory and matrix products.

One quantity varies at a time: rows (ten million of them streamed from Parquet), inducing points,
input columns, outputs, layers and processes. The limit of a step is the larger of two times: of its
products at the speed of this machine's matrix product, and of reading its rows at the speed of its
memory; both speeds are measured in the same run.

    python -m benchmarks --only scaling
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import cost, streaming
from benchmarks.problem import make_data
from benchmarks.timing import alternate_cells

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "images" / "scaling.png"
BATCH, INDUCING, COLUMNS, FULL_BATCH = 1000, 100, 8, 2000
SIZES: dict[str, tuple[int, ...]] = {
    "rows": (1_000, 10_000, 100_000, 1_000_000),
    "rows, streamed": (1_000_000, 10_000_000),
    "inducing points": (20, 50, 100, 200, 300, 500),
    "columns": (2, 8, 32, 128),
    "outputs": (1, 2, 4, 8),
    "layers": (1, 2, 3),
    "processes": (1, 2, 4),
}
UNITS = {"rows": "epoch", "rows, streamed": "epoch", "processes": "epoch"}
"""What the seconds measure; a step by default."""
_PROCESS_ROWS = 400_000


@dataclass(frozen=True)
class Machine:
    """Speed of the processor and of the memory."""

    flops: float
    bytes_a_second: float

    @classmethod
    def measured(cls, size: int = 1500, repeats: int = 5) -> Machine:
        """The best of several products and copies in float64, with all cores."""
        rng = np.random.default_rng(0)
        A, out = rng.standard_normal((size, size)), np.empty((size, size))
        long = np.ones(16 * size * size // 10)
        product = min(_seconds(lambda: np.matmul(A, A, out=out)) for _ in range(repeats))
        copy = min(_seconds(long.copy) for _ in range(repeats))
        return cls(2 * size**3 / product, 2 * long.nbytes / copy)

    def limit(self, *, rows: int, inducing: int, columns: int, functions: int = 1) -> float:
        """Least seconds of a step.

        Two products of N·M² for each function, the N·M·D of the kernel and of its derivative, and
        M³ for the factor of K_uu and its inverse; and every row is read once.
        """
        products = 4 * functions * rows * inducing**2 + 4 * rows * inducing * columns + inducing**3
        return max(products / self.flops, 8 * rows * (columns + 2) / self.bytes_a_second)


def scaling_rows(
    sizes: Mapping[str, Sequence[int]] = SIZES, picture: Path | None = PICTURE
) -> list[dict[str, object]]:
    """Seconds for every size of every quantity, the limit, and their ratio; and the picture."""
    machine, rows = Machine.measured(), []
    for name, values in sizes.items():
        for value, seconds, limit in _MEASURES[name](machine, values):
            row = {"against": name, "value": value, "of one": UNITS.get(name, "step")}
            row |= {"seconds": seconds, "limit s": limit, "× limit": seconds / limit}
            rows.append(row)
            print(row, flush=True)
    if picture is not None:
        draw(rows, picture)
    return rows


Measured = Iterator[tuple[int, float, float]]


def _of_rows(machine: Machine, values: Sequence[int]) -> Measured:
    step = machine.limit(rows=BATCH, inducing=INDUCING, columns=COLUMNS)
    for n in values:
        yield n, cost.measure("loop", n)["seconds"], n / BATCH * step


def _streamed(machine: Machine, values: Sequence[int]) -> Measured:
    size = streaming.BATCH_SIZE
    step = machine.limit(rows=size, inducing=streaming.NUM_INDUCING, columns=COLUMNS)
    with tempfile.TemporaryDirectory() as folder:
        for n in values:
            path = Path(folder) / f"{n}.parquet"
            streaming.write(path, n)
            found = streaming.in_a_process("streamed", str(path), "1.0", "1000")
            yield n, found["s an epoch"], n / size * step
            path.unlink()


def _of_steps(inducing: int, columns: int) -> float:
    from benchmarks.ours import our_step

    X, y = make_data(BATCH, columns)
    cells = [our_step("direct", X, y, inducing, BATCH, how) for how in ("float64", "mixed")]
    return min(alternate_cells(cells, rounds=3).values())


def _of_inducing(machine: Machine, values: Sequence[int]) -> Measured:
    for M in values:
        limit = machine.limit(rows=BATCH, inducing=M, columns=COLUMNS)
        yield M, _of_steps(M, COLUMNS), limit


def _of_columns(machine: Machine, values: Sequence[int]) -> Measured:
    for D in values:
        limit = machine.limit(rows=BATCH, inducing=INDUCING, columns=D)
        yield D, _of_steps(INDUCING, D), limit


def _of_outputs(machine: Machine, values: Sequence[int]) -> Measured:
    from directgp import Sparse, fit_outputs

    X, y = make_data(FULL_BATCH, COLUMNS)
    for T in values:
        Y = np.stack([X[:, k % COLUMNS] + y for k in range(T)], axis=1)
        spec = Sparse(num_inducing=INDUCING)
        seconds = _seconds_a_step(lambda **how: fit_outputs(X, Y, model=spec, **how))  # noqa: B023
        size = {"rows": FULL_BATCH, "inducing": INDUCING, "columns": COLUMNS}
        yield T, seconds, machine.limit(**size, functions=T)


def _of_layers(machine: Machine, values: Sequence[int]) -> Measured:
    from directgp import Deep, Sparse, fit

    X, y = make_data(FULL_BATCH, COLUMNS)
    size = {"rows": FULL_BATCH, "inducing": INDUCING, "columns": COLUMNS}
    for layers in values:
        deep = Deep(num_inducing=INDUCING, layers=layers, width=3) if layers > 1 else None
        spec = deep or Sparse(num_inducing=INDUCING)
        seconds = _seconds_a_step(lambda **how: fit(X, y, model=spec, **how))  # noqa: B023
        # The first layer sees every row once, each of the others 8 sites of it.
        passes = 1 + (layers - 1) * (deep.num_sites if deep else 0)
        yield layers, seconds, passes * machine.limit(**size)


def _seconds_a_step(train: Callable[..., Any], few: int = 20, more: int = 120) -> float:
    """Seconds of a step from the difference of two fits, without what is done once."""
    from directgp import Training

    def seconds(steps: int) -> float:
        training = Training(max_steps=steps, batch_size=None)
        return min(train(beta=1.0, training=training).seconds for _ in range(2))

    return max(seconds(more) - seconds(few), 1e-9) / (more - few)


def _of_processes(machine: Machine, values: Sequence[int]) -> Measured:
    size = streaming.BATCH_SIZE
    step = machine.limit(rows=size, inducing=INDUCING, columns=COLUMNS)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "rows.parquet"
        streaming.write(path, _PROCESS_ROWS)
        for processes in values:
            one, three = (_fit_by(processes, path, epochs) for epochs in (1, 3))
            # All processes share the cores that the limit was measured with.
            yield processes, max(three - one, 1e-9) / 2, _PROCESS_ROWS / size * step


def _fit_by(processes: int, path: Path, epochs: int) -> float:
    """Seconds of training by that many processes, joined through `jax.distributed`."""
    given = {
        "-t": "y", "-o": path.with_suffix(".dgp"), "--epochs": epochs, "--beta": 1,
        "--num-inducing": INDUCING, "--processes": processes,
    }  # fmt: skip
    words = [str(word) for pair in given.items() for word in pair]
    command = [sys.executable, "-m", "directgp", "fit", str(path), *words, "--stream", "--json"]
    found = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": found}, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


_MEASURES: dict[str, Callable[[Machine, Sequence[int]], Measured]] = {
    "rows": _of_rows,
    "rows, streamed": _streamed,
    "inducing points": _of_inducing,
    "columns": _of_columns,
    "outputs": _of_outputs,
    "layers": _of_layers,
    "processes": _of_processes,
}


def draw(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """One panel a quantity, both axes logarithmic: measured, and the limit."""
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(row["against"] for row in rows))
    across = min(len(names), 4)
    down = -(-len(names) // across)
    figure = Figure(figsize=(3.4 * across, 2.9 * down), layout="constrained")
    for place, name in enumerate(names, start=1):
        own = [row for row in rows if row["against"] == name]
        panel = figure.add_subplot(down, across, place)
        at = [row["value"] for row in own]
        panel.loglog(at, [row["seconds"] for row in own], "o-", label="measured")
        panel.loglog(at, [row["limit s"] for row in own], "--", color="grey", label="limit")
        panel.set(xlabel=name, ylabel=f"seconds, {own[0]['of one']}")
        panel.grid(alpha=0.3)
        if place == 1:
            panel.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _seconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
