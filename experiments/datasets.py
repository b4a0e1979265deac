"""Registries of datasets and of the papers' splits."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.registry import Registry
from directgp.tables import Standardiser
from experiments.errors import DataError
from experiments.job import Record

_NOT_INPUTS = ("arr_delay", "traj")
"""Columns that are not inputs: sources of a target, trajectory numbers."""
_TEST_ROWS = {"dlm-small": 1000, "airline": 50_000}


class Rows(NamedTuple):
    """Training, validation and test rows."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N *P"]
    X_valid: Float[np.ndarray, "V D"]
    y_valid: Float[np.ndarray, "V *P"]
    X_test: Float[np.ndarray, "T D"]
    y_test: Float[np.ndarray, "T *P"]


generators = Registry("generated dataset")
splits = Registry("split")


def data_folder(given: Path | None = None) -> Path:
    """The folder of datasets: the given one, else DIRECTGP_DATA, else ./data."""
    return Path(given or os.environ.get("DIRECTGP_DATA") or "data")


def missing_files(records: Iterable[Record], folder: Path) -> list[str]:
    """Files that jobs need and that are not in a folder.

    Args:
        records: the records of the jobs.
        folder: the folder of datasets.
    """
    names = {record["data"] for record in records if "data" in record}
    files = sorted(f"{name}.parquet" for name in names if name not in generators)
    return [name for name in files if not (folder / name).is_file()]


def read(name: str, folder: Path, target: str = "y") -> tuple[np.ndarray, np.ndarray]:
    """Inputs and target of a dataset.

    Args:
        name: the name of the dataset.
        folder: the folder of datasets.
        target: the name of the target; "y*" is all of y0, y1, … as columns.
    """
    if name in generators:
        return generators.create(name)
    import pyarrow.parquet as parquet

    path = folder / f"{name}.parquet"
    if not path.is_file():
        raise DataError(f"there is no {path}; give --data DIR or set DIRECTGP_DATA")
    table = parquet.read_table(path)
    outputs = [c for c in table.column_names if c == "y" or (c[0] == "y" and c[1:].isdigit())]
    inputs = [c for c in table.column_names if c not in (*outputs, *_NOT_INPUTS)]
    X = _columns(table, inputs)
    if target == "y*":
        return X, _columns(table, outputs)
    if target not in outputs:
        raise DataError(f"{name} has no target {target!r}; it has {', '.join(outputs)}")
    return X, _columns(table, [target])[:, 0]


def _columns(table, names: list[str]) -> Float[np.ndarray, "N D"]:
    return np.stack([table[name].to_numpy().astype(np.float64) for name in names], axis=1)


def rows_of(record: Record, folder: Path) -> Rows:
    """The rows of a job: its dataset, split by its rule and seed.

    Args:
        record: the job.
        folder: the folder of datasets.
    """
    X, y = read(record["data"], folder, record.get("target", "y"))
    order = np.random.default_rng(record["seed"]).permutation(len(y))
    return splits.lookup(record["split"])(X, y, order, record.get("size"))


def _cut(X, y, *parts: np.ndarray) -> Rows:
    return Rows(*(array[rows] for rows in parts for array in (X, y)))


def standardised(rows: Rows) -> Rows:
    """Inputs and targets standardised by the training rows, as in the papers."""

    def columns(y: np.ndarray) -> np.ndarray:
        return y if y.ndim == 2 else y[:, None]

    def scaled(y: np.ndarray) -> np.ndarray:
        return targets.forward(columns(y)).reshape(y.shape)

    inputs, targets = Standardiser.fit(rows.X), Standardiser.fit(columns(rows.y))

    (X, y), (X_valid, y_valid), (X_test, y_test) = rows[:2], rows[2:4], rows[4:]
    return Rows(
        inputs.forward(X), scaled(y),
        inputs.forward(X_valid), scaled(y_valid),
        inputs.forward(X_test), scaled(y_test),
    )  # fmt: skip


@splits.register("dlm-small")
def _dlm_small(X, y, order: np.ndarray, size: int | None) -> Rows:
    """A tenth of all rows for validation, `size` rows to train, up to 1000 to test (`dlm-supp`)."""
    held = len(y) // 10
    valid, rest = order[:held], order[held:]
    size = len(rest) - _TEST_ROWS["dlm-small"] if size is None else size
    return _cut(X, y, rest[:size], valid, rest[size : size + _TEST_ROWS["dlm-small"]])


@splits.register("dlm-regression")
def _dlm_regression(X, y, order: np.ndarray, size: int | None) -> Rows:
    """67, 8 and 25 % to train, validate, test (`dlm-supp`); `size` of the training rows."""
    train, valid, test = np.split(order, [round(0.67 * len(y)), round(0.75 * len(y))])
    return standardised(_cut(X, y, train[:size], valid, test))


@splits.register("80-10-10")
def _eighty(X, y, order: np.ndarray, size: int | None) -> Rows:
    """80, 10 and 10 % to train, validate, test; `size` of the training rows."""
    train, valid, test = np.split(order, [int(0.8 * len(y)), int(0.9 * len(y))])
    return standardised(_cut(X, y, train[:size], valid, test))


@splits.register("90-10")
def _ninety(X, y, order: np.ndarray, size: int | None) -> Rows:
    """90 and 10 % to train and test, none to validate; `size` of the training rows."""
    train, test = np.split(order, [int(0.9 * len(y))])
    return standardised(_cut(X, y, train[:size], train[:0], test))


@splits.register("airline")
def _airline(X, y, order: np.ndarray, size: int | None) -> Rows:
    """50,000 rows held back, of which 20,000 are tested on; the rest to train."""
    held, train = np.split(order, [_TEST_ROWS["airline"]])
    return _cut(X, y, train[:size], held[20_000:30_000], held[:20_000])


@generators.register("wave")
def _wave() -> tuple[np.ndarray, np.ndarray]:
    """400 rows of a sine with noise that grows along the input."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 400)
    return x[:, None], np.sin(x) + (0.05 + 0.05 * x) * rng.standard_normal(400)
