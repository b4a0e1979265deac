"""5 million rows from Parquet: memory, time and quality.

A table of 5 million rows and 8 input columns (numbers, a category, truth values, dates) is written
in pieces to a temporary folder. A process of its own trains on it by `fit_stream` and reports its
peak resident memory; another trains `fit` in memory on a random part of the rows, for as many
steps. Both are scored on the same new rows; "truth" is the score of the distribution the rows
were drawn from.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

GROUP = 100_000
KINDS = np.array(["oak", "ash", "elm", "fir"])
START = np.datetime64("2023-01-01T00:00:00", "s")
NUM_INDUCING, BATCH_SIZE = 100, 2000
SETTINGS = {"beta": 1.0, "seed": 0}


def _specs(epochs: float) -> dict:
    from directgp import Sparse, Training

    training = Training(epochs=epochs, batch_size=BATCH_SIZE)
    return {"model": Sparse(num_inducing=NUM_INDUCING), "training": training}


def rows(number: int, seed: int) -> tuple[pa.Table, np.ndarray]:
    """Rows of the generated table, and the true log density of every y."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, (number, 5)).astype(np.float32)
    kind, flag = rng.integers(4, size=number), rng.random(number) < 0.3
    seconds = rng.integers(2 * 365 * 86_400, size=number)
    year = 2 * np.pi * seconds / (365.25 * 86_400)
    mean = (
        np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] / 2 + 0.5 * np.sin(year) * flag + 0.3 * (kind == 1)
    )
    spread = 0.2 + 0.2 / (1 + np.exp(-3 * x[:, 3]))
    noise = rng.normal(size=number)
    columns = {f"x{i}": x[:, i] for i in range(5)}
    columns |= {"kind": KINDS[kind], "flag": flag, "when": START + seconds.astype("m8[s]")}
    columns["y"] = mean + spread * noise
    return pa.table(columns), -0.5 * np.log(2 * np.pi) - np.log(spread) - 0.5 * noise**2


def write(path: Path, number: int) -> None:
    """The table in row groups, never all in memory. Its first column is sorted in every group."""
    writer = None
    for seed, first in enumerate(range(0, number, GROUP)):
        table, _ = rows(min(GROUP, number - first), seed)
        table = table.sort_by("x0")  # so that rows in file order would be poor batches
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def peak_memory() -> float:
    """Peak resident memory of this process, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def processor_seconds() -> float:
    """CPU seconds of this process, which hardly depend on other processes."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def score(fitted, encoder, test_rows: int) -> dict[str, float]:
    """Mean negative log density and error on new rows, beside the truth's."""
    table, truth = rows(test_rows, seed=10**6)
    predictive = fitted.predict(encoder.encode(table).X)
    y = table["y"].to_numpy()
    return {
        "nll": float(-predictive.log_prob(y).mean()),
        "truth nll": float(-truth.mean()),
        "rmse": float(np.sqrt(np.mean((predictive.mean - y) ** 2))),
    }


def train_streamed(path: str, epochs: float, test_rows: int) -> dict:
    """`fit_stream` on the whole file, in this process."""
    from directgp import fit_stream

    began = time.monotonic()
    found = fit_stream(path, "y", **_specs(epochs), **SETTINGS)
    seconds, processor = time.monotonic() - began, processor_seconds()
    memory = peak_memory()
    num_rows = parquet.read_metadata(path).num_rows
    return {
        "method": "fit_stream",
        "rows": num_rows,
        "steps": found.fitted.history["step"][-1],
        "two passes s": seconds - found.fitted.seconds,
        "training s": found.fitted.seconds,
        "s an epoch": found.fitted.seconds / epochs,
        "processor s": processor,
        "peak MiB": memory,
        **score(found.fitted, found.encoder, test_rows),
    }


def train_in_memory(path: str, part: int, steps: int, test_rows: int) -> dict:
    """`fit` on a random part of the rows, for as many steps."""
    from directgp import TableEncoder, fit

    picked = np.random.default_rng(1).random(parquet.read_metadata(path).num_rows)
    limit, first, kept = part / len(picked), 0, []
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            chosen = picked[first : first + batch.num_rows] < limit
            kept.append(pa.Table.from_batches([batch]).filter(pa.array(chosen)))
            first += batch.num_rows
    table = pa.concat_tables(kept)
    encoder = TableEncoder.fit(table, target="y")
    epochs = steps * BATCH_SIZE / (0.9 * len(table))
    fitted = fit(
        encoder.encode(table).X,
        table["y"].to_numpy(),
        validation=0.1,
        **_specs(epochs),
        **SETTINGS,
    )
    return {
        "method": "fit in memory",
        "rows": len(table),
        "steps": fitted.history["step"][-1],
        "training s": fitted.seconds,
        "s an epoch": fitted.seconds / epochs,
        "processor s": processor_seconds(),
        "peak MiB": peak_memory(),
        **score(fitted, encoder, test_rows),
    }


def in_a_process(*arguments: str) -> dict:
    """Results of one of the two processes, run with these arguments."""
    command = [sys.executable, "-m", "benchmarks.streaming", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def streaming_rows(
    number: int = 5_000_000, epochs: float = 1.0, part: int = 200_000, test_rows: int = 20_000
) -> list[dict]:
    """Write the table and train in two processes; returns the results of each."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, number)
        streamed = in_a_process("streamed", str(path), str(epochs), str(test_rows))
        steps = str(streamed["steps"])
        memory = in_a_process("memory", str(path), str(part), steps, str(test_rows))
    return [streamed, {"two passes s": None} | memory]


def main(method: str, path: str, *numbers: str) -> None:
    """Run one of the two processes and print its results."""
    train = {"streamed": train_streamed, "memory": train_in_memory}[method]
    print(json.dumps(train(path, *(int(n) if n.isdigit() else float(n) for n in numbers))))


if __name__ == "__main__":
    main(*sys.argv[1:])
