"""Hints on what to try next, from the training history: one line each."""

import math
from collections.abc import Iterable

import numpy as np

from directgp.cli.read_rows import TrainingTable
from directgp.cli.training import Options
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.fitting.specs import BATCH_SIZE, MAX_STEPS, default_epochs
from directgp.tables.outliers import LIMIT, gross_outliers
from directgp.training.improving import still_improving

_ENOUGH = 0.8
"""A run that took less than this share of its time budget ended for another reason."""


def longer_training(fitted: FittedGP, options: Options, epochs: float | int | None) -> list[str]:
    """A hint if the held-out loss was still improving: the option for longer training.

    Args:
        fitted: the trained model.
        options: as given on the command line.
        epochs: the default number of epochs for so many rows; None for full-batch training.
    """
    if not still_improving(fitted.history, fitted.held_out):
        return []
    budget = options.time_budget
    if budget is not None and fitted.seconds > _ENOUGH * budget:
        more = f"--time-budget {2 * budget:g}"
    elif epochs is None:
        more = f"--max-steps {2 * (options.max_steps or MAX_STEPS)}"
    else:
        more = f"--epochs {math.ceil(2 * (options.epochs or epochs))}"
    return [f"the held-out loss was still improving when training ended: {more} may help"]


def outliers(
    columns: Iterable[tuple[str, np.ndarray]], likelihood: str, options: Options
) -> list[str]:
    """A hint for targets with outliers: options that are robust to them.

    Args:
        columns: name and values of each target.
        likelihood: the name of the likelihood.
        options: as given on the command line.
    """
    tolerant = options.robust is not None or options.cost is not None
    if likelihood != "gaussian" or tolerant or options.loss not in ("direct-log", "elbo"):
        return []
    counted = [(name, gross_outliers(y), len(y)) for name, y in columns]
    return [
        f"{count:,} of {rows:,} values of {name!r} {'lies' if count == 1 else 'lie'} more than "
        f"{LIMIT:g} robust deviations from the median: try directgp fit with --robust gamma or "
        "--likelihood student-t"
        for name, count, rows in counted
        if count
    ]


def hints_of(fitted: Fitted, training_table: TrainingTable, options: Options) -> list[str]:
    """All hints after training in memory.

    Args:
        fitted: the trained model.
        training_table: the rows.
        options: as given on the command line.
    """
    values = training_table.train.y.reshape(len(training_table.train), -1)
    known = [column[np.isfinite(column)] for column in values.T]
    names = [target.name for target in training_table.targets]
    if not isinstance(fitted, FittedGP):  # stacks and exact GPs model heavy tails, or have no steps
        return []
    held = 0 if fitted.held_out is None else len(fitted.held_out)
    num_rows = sum(len(column) for column in known) - held
    epochs = None if num_rows <= BATCH_SIZE else default_epochs(num_rows)
    return [
        *longer_training(fitted, options, epochs),
        *outliers(zip(names, known, strict=True), training_table.likelihood, options),
    ]
