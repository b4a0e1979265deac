"""Read a table into arrays: target, task, likelihood, training rows and held-out rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from directgp.cli.console import Terminal
from directgp.cli.errors import UserError
from directgp.errors import nearest
from directgp.fitting.default_likelihood import default_likelihood, task_of
from directgp.tables import (
    TableEncoder,
    TargetEncoder,
    TargetValues,
    find_target,
    guess_task,
    known_target,
    read_table,
)
from directgp.tables.arrow_values import python_values
from directgp.tables.messages import quoted
from directgp.tables.target import TASKS, Task

_FEW = 50
"""No rows of smaller tables are held out by default."""
_PRINTED = ("dropped", "missing", "mean of the target", "may be day/month")
"""Notes on the encoding of a column are printed if they contain one of these."""


@dataclass(frozen=True)
class Rows:
    """Encoded rows whose target is known, and the table they come from.

    For several targets y is [N T], NaN where a value is missing. `numbers` are the numbers of the
    rows in the file, from 1 and without the header.
    """

    table: pa.Table
    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"] | Float[np.ndarray, "N T"]
    numbers: Int[np.ndarray, "N"] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, which: np.ndarray) -> "Rows":
        """The rows selected by a mask."""
        return Rows(
            self.table.take(pa.array(np.flatnonzero(which))),
            self.X[which],
            self.y[which],
            None if self.numbers is None else self.numbers[which],
        )

    def with_output(self, number: int) -> "Rows":
        """The rows in which one of several targets is known, with that target alone."""
        if self.y.ndim == 1:
            return self
        known = self.take(np.isfinite(self.y[:, number]))
        return replace(known, y=known.y[:, number])

    @property
    def names(self) -> list[str] | None:
        """The names of the rows in a report."""
        return None if self.numbers is None else [f"row {n:,}" for n in self.numbers.tolist()]

    def columns(self, names: Sequence[str], most: int = 40) -> dict[str, list[Any]]:
        """Columns of the table as Python values.

        Args:
            names: names of columns.
            most: take only so many of them.
        """
        return {name: python_values(self.table[name]) for name in names[:most]}


@dataclass(frozen=True)
class TrainingTable:
    """A table ready for training: its encoders, its likelihood, and its rows."""

    source: Path
    encoder: TableEncoder
    targets: tuple[TargetEncoder, ...]
    likelihood: str
    train: Rows
    aside: Rows | None
    holdout: float
    """The share of held-out rows, as given or chosen."""

    @property
    def all_targets(self) -> Float[np.ndarray, "N"]:
        """All known y, with the held-out rows: a class may occur only there."""
        aside = [] if self.aside is None else [self.aside.y.ravel()]
        values = np.concatenate([self.train.y.ravel(), *aside])
        return values[np.isfinite(values)]


def read_training_table(
    source: Path,
    terminal: Terminal,
    *,
    target: str | Sequence[str] | None,
    task: str,
    likelihood: str,
    drop: Sequence[str],
    missing: str,
    holdout: float | None,
    seed: int,
    categories: Sequence[str] = (),
    usual_holdout: float = 0.1,
) -> TrainingTable:
    """Read a training table, choose target, task and likelihood if not given, and print them.

    Args:
        source: the file.
        terminal: where choices are printed.
        target: the target column or columns; None chooses one.
        task: "regression", "counts", "classes", or "auto".
        likelihood: its name, or "auto".
        drop: columns that are not inputs.
        missing: the policy for missing inputs.
        holdout: share of the rows to hold out; None means `usual_holdout`, and 0 for few rows.
        seed: seed of the random choice of held-out rows.
        categories: columns that are categories although they hold numbers.
        usual_holdout: the default of `holdout`.
    """
    table = read_table(source)
    asked = [target] if target is None or isinstance(target, str) else list(target)
    found = [find_target(table, name) for name in asked or [None]]
    names = [each.name for each in found]
    for number, name in enumerate(names):
        if name in drop:
            raise UserError(f"column {name!r} is the target and cannot be dropped")
        if name in categories:
            raise UserError(f"column {name!r} is the target; --task classes makes it a category")
        if name in names[:number]:
            raise UserError(f"column {name!r} is named twice as a target; name it once")
    if not asked or asked == [None]:
        terminal.info(f"Target: {names[0]!r}, because {found[0].reason} (--target to choose).")
    table, numbers = _with_targets(table, names, terminal)
    has_target = [known_target(table, name) for name in names]
    known = [
        table[name].filter(pa.array(mask)) for name, mask in zip(names, has_target, strict=True)
    ]
    pairs = list(zip(names, known, strict=True))
    several = len(names) > 1
    tasks = [
        _task(column, name, task, likelihood, terminal, numbers[mask], several)
        for (name, column), mask in zip(pairs, has_target, strict=True)
    ]
    coded = tuple(
        TargetEncoder.fit(column, kind, name, numbers=numbers[mask])
        for (name, column), kind, mask in zip(pairs, tasks, has_target, strict=True)
    )
    check_together(coded)
    y = _encoded_targets(table, coded, numbers)
    likelihood = (
        default_likelihood(tasks[0], len(coded[0].labels)) if likelihood == "auto" else likelihood
    )
    if holdout is None:
        holdout = _usual_share(len(y), usual_holdout, terminal)
    aside = _kept_aside(len(y), holdout, seed)
    _check_known_in_both(coded, y, aside)
    train, own = table.filter(pa.array(~aside)), numbers[~aside]
    averaged = TargetValues.of(y[~aside], () if several else coded[0].labels)
    encoder = TableEncoder.fit(
        train,
        target=names[0],
        drop=(*drop, *names[1:]),
        categories=categories,
        missing=missing,
        y=averaged,
        numbers=own,
    )
    for note in encoder.report:
        if any(text in note.text for text in _PRINTED):
            terminal.info(f"Column {note}.")
    rows = Rows(table, encoder.encode(table, numbers=numbers).X, y, numbers)
    # Target-encoded categories of training rows must not contain their own target.
    learnt = encoder.encode_training(train, averaged, numbers=own).X
    return TrainingTable(
        source,
        encoder,
        coded,
        likelihood,
        replace(rows.take(~aside), X=learnt),
        rows.take(aside) if aside.any() else None,
        holdout,
    )


def read_known(
    source: Path, encoder: TableEncoder, targets: Sequence[TargetEncoder], terminal: Terminal
) -> Rows:
    """Read rows to evaluate a model on: those with a known target, encoded as in training.

    Args:
        source: the file.
        encoder: the encoder of the inputs.
        targets: the encoders of the targets; at least one must be known in a row.
        terminal: where notes on columns are printed.
    """
    table = read_table(source)
    for target in targets:
        if target.name not in table.column_names:
            new = [name for name in table.column_names if name not in encoder.sources]
            hint = nearest(target.name, new) or "add it"
            raise UserError(
                f"{source} has no column {target.name!r}, the target, which is needed to evaluate "
                f"a model (directgp predict does not need it); {hint}"
            )
    table, numbers = _with_targets(table, [target.name for target in targets], terminal)
    encoded = encoder.encode(table, numbers=numbers)
    for note in encoded.notes:
        terminal.info(f"Column {note}.")
    return Rows(table, encoded.X, _encoded_targets(table, targets, numbers), numbers)


def check_together(targets: Sequence[TargetEncoder]) -> None:
    """Raise an error for targets that one model cannot have: of different tasks, or multi-class."""
    kinds = {target.task for target in targets}
    if len(kinds) > 1:
        each = ", ".join(f"{target.name!r} is {target.task}" for target in targets)
        raise UserError(f"targets of one model must have one task: {each}; fit them one by one")
    many = [target for target in targets if len(target.labels) > 2]
    if len(targets) > 1 and many:
        raise UserError(
            f"several targets of classes must have two classes each, {many[0].name!r} has "
            f"{len(many[0].labels)}; fit them one by one"
        )


def _with_targets(
    table: pa.Table, names: Sequence[str], terminal: Terminal
) -> tuple[pa.Table, Int[np.ndarray, "N"]]:
    """The rows in which at least one target is known, and their numbers in the file, from 1."""
    known = np.any([known_target(table, name) for name in names], axis=0)
    if not known.any():
        called = f"target {names[0]!r} is" if len(names) == 1 else f"targets {quoted(names)} are"
        raise UserError(f"{called} missing in all rows; name another target")
    if not known.all():
        terminal.info(f"{(~known).sum():,} rows without a target are left out.")
    return table.filter(pa.array(known)), np.flatnonzero(known) + 1


def _encoded_targets(
    table: pa.Table, targets: Sequence[TargetEncoder], numbers: Int[np.ndarray, "N"]
) -> np.ndarray:
    """[N] for one target, [N T] for several, NaN where a value is missing."""
    if len(targets) == 1:
        return targets[0].encode(table[targets[0].name], numbers=numbers)
    values = np.full((table.num_rows, len(targets)), np.nan)
    for number, target in enumerate(targets):
        known = known_target(table, target.name)
        column = table.filter(pa.array(known))[target.name]
        values[known, number] = target.encode(column, numbers=numbers[known])
    return values


def _task(
    column: pa.ChunkedArray,
    name: str,
    task: str,
    likelihood: str,
    terminal: Terminal,
    numbers: Int[np.ndarray, "N"],
    several: bool,
) -> Task:
    if task != "auto" and task not in TASKS:
        raise UserError(f"--task must be auto, {', '.join(TASKS)}, got {task!r}")
    if likelihood != "auto":
        fits = task_of(likelihood)
        if task not in ("auto", fits):
            raise UserError(f"likelihood {likelihood!r} is for {fits}, not for {task}")
        return fits
    if task != "auto":
        return next(known for known in TASKS if known == task)
    guess = guess_task(column, name, numbers)
    hint = " (--task to choose)" if guess.ambiguous else ""
    which = f" of {name!r}" if several else ""
    terminal.info(f"Task{which}: {guess.task}, because {guess.reason}{hint}.")
    return guess.task


def _usual_share(num_rows: int, share: float, terminal: Terminal) -> float:
    """The default share of held-out rows."""
    if num_rows >= _FEW:
        return share
    terminal.info(
        f"None of {num_rows} rows is held out for scores, because they are few "
        f"(--holdout {share:g} to hold out some)."
    )
    return 0.0


def _kept_aside(num_rows: int, share: float, seed: int) -> np.ndarray:
    """Mask of held-out rows: a random share, at least one, but two are left to train on."""
    aside = np.zeros(num_rows, dtype=bool)
    if share > 0:
        count = max(0, min(max(1, round(share * num_rows)), num_rows - 2))
        aside[np.random.default_rng([seed, 1]).permutation(num_rows)[:count]] = True
    return aside


def _check_known_in_both(
    targets: Sequence[TargetEncoder], y: np.ndarray, aside: np.ndarray
) -> None:
    """Raise an error for a target that is missing in all training or all held-out rows."""
    if y.ndim == 1:
        return
    for part, what, change in (
        (~aside, "left to train on", "a smaller --holdout"),
        (aside, "held out", "a larger --holdout, or --holdout 0"),
    ):
        known = np.isfinite(y[part]).sum(axis=0)
        if part.any() and not known.all():
            name = targets[int(np.argmin(known))].name
            raise UserError(
                f"target {name!r} is missing in all {part.sum():,} rows {what}; give {change}, or "
                "another --seed"
            )
