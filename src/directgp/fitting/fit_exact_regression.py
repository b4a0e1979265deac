"""`fit` of an `Exact`: hyperparameters by evidence or by a leave-one-out loss."""

import time
from dataclasses import fields, replace
from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.exact.checked_regression import checked_regression
from directgp.exact.leave_one_out import RowLoss, pinball_loss
from directgp.exact.regression import ExactRegression, conditioned
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.prepare import target_scale
from directgp.fitting.specs.exact import LEARN_FROM, MAX_STEPS, MOST_ROWS, Exact
from directgp.fitting.specs.training import Training
from directgp.likelihoods import Gaussian, Likelihood, likelihoods
from directgp.linalg.blas_threads import one_blas_thread
from directgp.losses import CRPS, Direct, Gibbs, LogLoss, Loss, Pinball, Score, SquareLoss, losses
from directgp.tables import (
    Standardiser,
    WeightedRows,
    check_inputs,
    check_rows,
    check_weights,
    column_names,
    drop_zero_weight,
    merge_equal_rows,
)
from directgp.tables.stream import StreamedRows
from directgp.training.progress import reporter

_LEAST_SQUARE = 1e-12
"""Of the mean squared standardised error, which is 0 if y is constant."""


def fit_exact_regression(
    X: Any,
    y: Any,
    *,
    model: Exact,
    likelihood: str | Likelihood = "gaussian",
    loss: str | Loss | Score | Any = "direct-log",
    training: Training,
    sample_weight: Any = None,
    seed: int = 0,
    verbose: bool | None = None,
) -> FittedExactRegression:
    """Fit an exact GP; `fit` calls it for `model=Exact(...)`.

    Args:
        X: inputs [N D].
        y: targets [N].
        model: the spec.
        likelihood: "gaussian"; the noise is learned.
        loss: "elbo" for the evidence, or a direct log, square, CRPS or pinball loss.
        training: only `max_steps` is used.
        sample_weight: one weight per row; a row of weight 2 is equivalent to two equal rows.
        seed: of the subset of rows for most steps.
        verbose: whether to show progress.
    """
    began = time.monotonic()
    objective = objective_of(losses.resolve(loss))
    noise = likelihoods.resolve(likelihood)
    if type(noise) is not Gaussian:
        raise DirectGPError(
            f"an exact GP of numbers has Gaussian noise, got {type(noise).__name__}; use "
            "model=Sparse() for other likelihoods, and fit_exact for two classes"
        )
    check_exact_training(training)
    if isinstance(X, StreamedRows) or (np.ndim(y) == 2 and np.shape(y)[1] > 1):
        what = "a stream" if isinstance(X, StreamedRows) else f"{np.shape(y)[1]} outputs"
        raise DirectGPError(f"an exact GP has one output and no streams, got {what}; use Sparse()")
    names = column_names(X)
    X = check_inputs(X)
    y = noise.check_targets(check_rows(X, y))
    given = drop_zero_weight(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    rows, number = merge_equal_rows(given)
    if len(rows.y) > MOST_ROWS:
        raise DirectGPError(
            f"an exact GP takes up to {MOST_ROWS:,} different rows, got {len(rows.y):,}; use "
            "model=Sparse(), or fit a sample of the rows"
        )
    inputs = Standardiser.of_inputs(rows.X, rows.weight)
    targets = target_scale(rows.y, rows.weight, noise)
    with reporter(verbose) as report, one_blas_thread():
        report.stage("exact GP", 1, "fitting …")
        gp, optimism, *_ = checked_regression(
            inputs.forward_inputs(rows.X),
            targets.forward(rows.y[:, None])[:, 0],
            weight=rows.weight,
            objective=objective,
            max_steps=training.max_steps or MAX_STEPS,
            learn_from=model.learn_from or LEARN_FROM,
            seed=seed,
        )
        if not determines_spread(losses.resolve(loss)):
            gp = with_own_spread(gp)
    seconds = time.monotonic() - began
    return FittedExactRegression(
        gp, inputs, targets, losses.resolve(loss), optimism, number, given.weight, seconds, names
    )


def objective_of(loss: Loss) -> str | RowLoss:
    """The objective of `exact.regression` for a loss: "evidence" or a leave-one-out loss.

    >>> objective_of(Gibbs(LogLoss())), objective_of(Direct(CRPS()))
    ('evidence', 'crps')
    """
    if isinstance(loss, Gibbs) and type(loss.score) is LogLoss:
        return "evidence"
    if type(loss) is Direct and type(loss.score) is Pinball:
        return pinball_loss(loss.score.levels)
    name = {LogLoss: "log", SquareLoss: "square", CRPS: "crps"}.get(type(loss.score))
    if type(loss) is not Direct or name is None:
        raise DirectGPError(
            "an exact GP is fitted for loss='elbo' (its evidence), 'direct-log', 'direct-square', "
            f"'direct-crps' or 'direct-pinball', got {loss!r}; use Sparse() for others"
        )
    return name


def determines_spread(loss: Loss) -> bool:
    """Whether the loss depends on the predictive variance; losses of mean or median do not."""
    score = loss.score
    medians = isinstance(score, Pinball) and set(score.levels) == {0.5}
    return not (isinstance(score, SquareLoss) or medians)


def with_own_spread(gp: ExactRegression) -> ExactRegression:
    """The GP with all variances multiplied by the mean squared standardised leave-one-out error.

    This factor minimises the leave-one-out log loss, and does not change means.
    """
    squares = (gp.y - gp.left_out.mean) ** 2 / gp.left_out.variance
    factor = np.log(max(float(np.average(squares, weights=gp.weight)), _LEAST_SQUARE))
    logs = gp.kernel.log_parameters.copy()
    logs[-2:] += factor
    kernel = type(gp.kernel)(logs)
    return conditioned(gp.X, gp.y, gp.weight, kernel, gp.log_noise + float(factor))


def check_no_training_of_q(**options: Any) -> None:
    """Refuse arguments of `fit` for the training of q(u), which an exact GP does not need.

    Args:
        **options: beta, divergence, expectation, hyperparameters and validation.
    """
    usual = {"beta": ("auto", 1), "divergence": ("kl",), "hyperparameters": ("joint",)}
    for name, value in options.items():
        plain = isinstance(value, str | int | float) and value in usual.get(name, ())
        if not plain and value is not None:
            raise DirectGPError(
                f"{name} has no effect on an exact GP, whose posterior is not trained, got "
                f"{value!r:.60}; leave it out, or use model=Sparse()"
            )


def check_exact_training(training: Training) -> None:
    """Refuse all options of training except `max_steps`."""
    plain = replace(Training(), max_steps=training.max_steps)
    for item in fields(Training):
        value = getattr(training, item.name)
        if value != getattr(plain, item.name):
            raise DirectGPError(
                f"{item.name}={value!r} has no effect on an exact GP, which L-BFGS fits in a few "
                "steps; leave it out, or give max_steps"
            )
