"""`Work`: the rows and the time budget of a stack."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Num

from directgp.fitting.default_depth import fit_depth
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking.single_rows import single_rows
from directgp.fitting.stacking.stack import FAR
from directgp.fitting.stacking.trained_steps import trained_steps
from directgp.likelihoods import Likelihood
from directgp.losses import Direct, LogLoss
from directgp.parameters import check_process
from directgp.tables import (
    Standardiser,
    WeightedRows,
    check_inputs,
    check_rows,
    check_weights,
    column_names,
    drop_zero_weight,
)

EXACT_ROWS, SAMPLED_ROWS = 2500, 1500
"""Exact GPs of numbers use all rows up to the first number, or a sample of the second size.

These rows also calibrate all members.
"""


@dataclass(frozen=True)
class Work:
    """Standardised rows, without those of weight 0, and the time budget."""

    X: Float[np.ndarray, "N D"]
    y: Num[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]
    inputs: Standardiser
    """The scales of X."""
    names: tuple[str, ...] | None
    """The names of the columns of a frame."""
    seed: int
    began: float
    """`time.monotonic()` when the fit was started."""
    time_budget: float
    """Seconds; infinite if the user gave none."""
    report: Callable[[str], None]
    """Called with the name of each member before it is fitted."""

    @property
    def seconds(self) -> float:
        """Seconds since the start of the fit."""
        return time.monotonic() - self.began

    @property
    def deadline(self) -> float:
        """The end of the time budget, as a value of `time.monotonic()`."""
        return self.began + self.time_budget

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; nothing should be started if it is negative."""
        return self.deadline - time.monotonic()

    @cached_property
    def sample(self) -> Int[np.ndarray, "S"]:
        """The rows for exact GPs of numbers and for the calibration of members."""
        count = len(self.y)
        if count <= EXACT_ROWS:
            return np.arange(count)
        return np.random.default_rng(self.seed).permutation(count)[:SAMPLED_ROWS]


def stack_work(
    X: Any,
    y: Any,
    *,
    check_targets: Callable[[Float[np.ndarray, "N"]], Num[np.ndarray, "N"]] = np.asarray,
    sample_weight: Any,
    seed: int,
    time_budget: float | int | None,
    report: Callable[[str], None],
) -> Work:
    """Validate a table and standardise its inputs.

    Args:
        X: inputs of the user.
        y: one target per row.
        check_targets: validates and converts the targets; by default all numbers are allowed.
        sample_weight: one number per row; a row of weight 2 counts as two.
        seed: of folds and samples.
        time_budget: seconds, or None.
        report: called with the name of each member before it is fitted.

    Returns:
        The rows, some of them repeated (see `single_rows`).
    """
    check_process()
    began = time.monotonic()
    names = column_names(X)
    X = check_inputs(X)
    y = check_targets(check_rows(X, y))
    weighted = WeightedRows(X, y, check_weights(sample_weight, len(y)))
    rows = single_rows(drop_zero_weight(weighted))
    inputs = Standardiser.of_inputs(rows.X, rows.weight)
    scaled = np.clip(inputs.forward_inputs(rows.X), -FAR, FAR)
    budget = np.inf if time_budget is None else float(time_budget)
    return Work(scaled, rows.y, rows.weight, inputs, names, seed, began, budget, report)


def trained_gp(
    work: Work,
    X: Float[np.ndarray, "N E"],
    aside: Int[np.ndarray, "H"],
    likelihood: Likelihood,
    *,
    latents: int = 1,
    model: Mapping[str, Any] | None = None,
    **options: Any,
) -> FittedGP:
    """A sparse or deep GP of all rows but some, which are used for early stopping.

    Args:
        work: targets, weights and the time.
        X: the inputs of the GP.
        aside: the rows that it is not trained on.
        likelihood: of the targets.
        latents: the number of latent functions, to which the time of a step is proportional.
        model: flat options of its model.
        **options: further arguments of `fit_depth`.
    """
    kept = np.setdiff1d(np.arange(len(X)), aside)
    y = work.y.astype(np.float64)
    fitted = fit_depth(
        X[kept],
        y[kept],
        loss=Direct(LogLoss()),
        likelihood=likelihood,
        model=model or {},
        sample_weight=work.weight[kept],
        validation=(X[aside], y[aside], work.weight[aside]),
        training=trained_steps(len(kept), work.seconds_left, latents=latents),
        seed=work.seed,
        verbose=False,
        **options,
    )
    assert isinstance(fitted, FittedGP)  # the model is never an exact one here
    return fitted
