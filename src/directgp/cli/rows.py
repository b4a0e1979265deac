"""From a file to arrays: target, task, likelihood, rows to train on and rows kept aside."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt64

from directgp.cli.console import Voice
from directgp.cli.errors import UserError
from directgp.cli.tasks import default_likelihood, task_of
from directgp.data import (
    TableEncoder,
    TargetEncoder,
    find_target,
    guess_task,
    read_table,
    without_missing_target,
)
from directgp.data.target import TASKS, Task

_FEW = 50
"""Tables with fewer rows keep none aside unless told to."""


@dataclass(frozen=True)
class Rows:
    """Encoded rows whose target is known, and the table they come from."""

    table: pa.Table
    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]

    def __len__(self) -> int:
        return len(self.y)

    def take(self, which: np.ndarray) -> "Rows":
        """Some of the rows."""
        return Rows(self.table.take(pa.array(np.flatnonzero(which))), self.X[which], self.y[which])

    def columns(self, names: Sequence[str], most: int = 40) -> dict[str, list[Any]]:
        """The user's own values."""
        return {name: self.table[name].to_pylist() for name in names[:most]}


@dataclass(frozen=True)
class Learnable:
    """A table made ready: how it is encoded, what is to be learnt, and the rows."""

    source: Path
    encoder: TableEncoder
    target: TargetEncoder
    likelihood: str
    train: Rows
    aside: Rows | None

    @property
    def all_targets(self) -> Float[np.ndarray, "N"]:
        """Y of all rows: the classes that exist, also where one is kept aside as a whole."""
        aside = [] if self.aside is None else [self.aside.y]
        return np.concatenate([self.train.y, *aside])


def read_learnable(
    source: Path,
    voice: Voice,
    *,
    target: str | None,
    task: str,
    likelihood: str,
    drop: Sequence[str],
    missing: str,
    holdout: float,
    seed: int,
) -> Learnable:
    """Read a training table; every decision that was not the user's is said aloud."""
    table = read_table(source)
    found = find_target(table, target)
    if found.name in drop:
        raise UserError(f"column {found.name!r} is the target and cannot be dropped")
    if target is None:
        voice.say(f"Target: {found.name!r}, because {found.reason} (--target to choose).")
    table, gone = without_missing_target(table, found.name)
    if gone:
        voice.say(f"{gone:,} rows without a target are left out.")
    kind = _task(table[found.name], found.name, task, likelihood, voice)
    coded = TargetEncoder.fit(table[found.name], kind, found.name)
    y = coded.encode(table[found.name])
    name = default_likelihood(kind, len(coded.labels)) if likelihood == "auto" else likelihood
    aside = _kept_aside(len(y), holdout, seed)
    encoder = TableEncoder.fit(
        table.filter(pa.array(~aside)), target=found.name, drop=tuple(drop), missing=missing
    )
    for note in encoder.report:
        if "dropped" in note.text or "missing" in note.text:
            voice.say(f"Column {note}.")
    rows = Rows(table, encoder.encode(table).X, y)
    return Learnable(
        source,
        encoder,
        coded,
        name,
        rows.take(~aside),
        rows.take(aside) if aside.any() else None,
    )


def read_known(source: Path, encoder: TableEncoder, target: TargetEncoder, voice: Voice) -> Rows:
    """Rows to judge a model by: encoded as in training, their target known."""
    table = read_table(source)
    if target.name not in table.column_names:
        raise UserError(
            f"{source} has no column {target.name!r}, the target; to judge a model its truth must "
            "be known (directgp predict needs none)"
        )
    table, gone = without_missing_target(table, target.name)
    if gone:
        voice.say(f"{gone:,} rows without a target are left out.")
    encoded = encoder.encode(table)
    for note in encoded.notes:
        voice.say(f"Column {note}.")
    return Rows(table, encoded.X, target.encode(table[target.name]))


def fingerprints(rows: Rows) -> UInt64[np.ndarray, "N"]:
    """A 64-bit number for each row, the same for the same inputs and target.

    A saved model keeps them to tell later whether it is judged on rows it was trained on; they
    cannot be turned back into rows.
    """
    values = np.ascontiguousarray(np.column_stack([rows.X, rows.y]) + 0.0)  # −0 and 0 are one
    bits = values.view(np.uint64)
    odd = np.random.default_rng(20240229).integers(0, 2**63, bits.shape[1], dtype=np.uint64)
    mixed = (bits ^ (bits >> np.uint64(29))) * (2 * odd + np.uint64(1))
    total = np.bitwise_xor.reduce(mixed ^ (mixed >> np.uint64(32)), axis=1)
    return total * np.uint64(0x9E3779B97F4A7C15)


def _task(column: pa.ChunkedArray, name: str, task: str, likelihood: str, voice: Voice) -> Task:
    if task != "auto" and task not in TASKS:
        raise UserError(f"--task must be auto, {', '.join(TASKS)}, got {task!r}")
    if likelihood != "auto":
        fits = task_of(likelihood)
        if task not in ("auto", fits):
            raise UserError(f"likelihood {likelihood!r} is for {fits}, not for {task}")
        return fits
    if task != "auto":
        return next(known for known in TASKS if known == task)
    guess = guess_task(column, name)
    hint = " (--task to choose)" if guess.ambiguous else ""
    voice.say(f"Task: {guess.task}, because {guess.reason}{hint}.")
    return guess.task


def _kept_aside(num_rows: int, share: float, seed: int) -> np.ndarray:
    """Which rows are kept aside: a random share, at least one, but never all."""
    aside = np.zeros(num_rows, dtype=bool)
    if num_rows >= _FEW and share > 0:
        count = min(max(1, round(share * num_rows)), num_rows - 2)
        aside[np.random.default_rng([seed, 1]).permutation(num_rows)[:count]] = True
    return aside


def unseen(rows: Rows, seen: np.ndarray) -> np.ndarray:
    """Which rows the model was not trained on."""
    return ~np.isin(fingerprints(rows), seen)
