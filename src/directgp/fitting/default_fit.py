"""The default fit: a stack of models where it applies, else one GP."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.checks import Beta
from directgp.fitting.default_depth import fit_depth
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.flat_options import default_of
from directgp.fitting.specs import Training
from directgp.fitting.stacking import Stack, fit_class_stack, fit_count_stack, fit_stack
from directgp.likelihoods import (
    BernoulliProbit,
    Categorical,
    Gaussian,
    Likelihood,
    NegativeBinomialExp,
)
from directgp.losses import CRPS, Direct, LogLoss, Loss, Pinball, SquareLoss
from directgp.training.progress import member_reporter

_STACKED: dict[type, str] = {
    LogLoss: "log",
    CRPS: "crps",
    SquareLoss: "square",
    Pinball: "pinball",
}
"""Scores for which the weights of a stack can be optimised."""


def fit_default(
    X: np.ndarray,
    y: np.ndarray,
    *,
    loss: Loss,
    likelihood: Likelihood,
    model: Mapping[str, Any] | FittedGP,
    beta: Beta = "auto",
    training: Training,
    stack: bool = True,
    seed: int = 0,
    sample_weight: Any = None,
    verbose: bool | None = None,
    **options: Any,
) -> FittedGP | FittedExactRegression | Stack:
    """A stack of models if every option is at its default, else one GP.

    Stacks are those of `fit_stack`, `fit_class_stack` and `fit_count_stack`.

    An option of a single GP (its kernel, layers, inducing points, β, steps) selects one GP, the
    option inference="exact" an exact one.

    Args:
        X: inputs [N D].
        y: targets [N], or [N T] for several outputs.
        loss: the training loss.
        likelihood: p(y | f).
        model: flat options of models, or an earlier fit to continue from.
        beta: the weight of the divergence; see `fit`.
        training: how long and how to train.
        stack: False for one GP in any case.
        seed: of all random numbers.
        sample_weight: weights of the rows.
        verbose: whether to show progress; None: a bar in a terminal, else a line for each member.
        **options: the other arguments of `fit`.
    """
    check_loss_of_classes(loss, likelihood)
    possible = stack and np.ndim(y) == 1
    if possible and selects_stack(loss, likelihood, model, beta, training, options):
        with member_reporter(verbose) as report:
            shared: dict[str, Any] = {
                "sample_weight": sample_weight,
                "seed": seed,
                "time_budget": training.time_budget,
                "report": lambda member: report.stage(member, 1, "fitting …"),
            }
            if likelihood.support == "counts":
                return fit_count_stack(X, y, **shared)
            shared["loss"] = stack_loss(loss, likelihood)
            if likelihood.outcomes is None:
                return fit_stack(X, y, **shared)
            return fit_class_stack(X, y, len(likelihood.outcomes), **shared)
    return fit_depth(
        X,
        y,
        loss=loss,
        likelihood=likelihood,
        model=model,
        beta=beta,
        training=training,
        seed=seed,
        sample_weight=sample_weight,
        verbose=verbose,
        **options,
    )


def stack_loss(loss: Loss, likelihood: Likelihood) -> str | None:
    """The name of the direct loss for which the weights of a stack are optimised, or None.

    Args:
        loss: the training loss.
        likelihood: p(y | f); any but the default likelihoods select a single GP (None).
    """
    if type(loss) is not Direct or (type(loss.score) is Pinball and loss.score != Pinball()):
        return None
    name = _STACKED.get(type(loss.score))
    if type(likelihood) in (BernoulliProbit, Categorical):
        return name if name in ("log", "crps") else None
    if type(likelihood) is NegativeBinomialExp:
        return name if name == "log" else None
    return name if type(likelihood) is Gaussian else None


def check_loss_of_classes(loss: Loss, likelihood: Likelihood) -> None:
    """Refuse square and pinball losses for classes, which have no order and no distances.

    Args:
        loss: the training loss.
        likelihood: p(y | f).
    """
    if likelihood.support == "classes" and isinstance(loss.score, SquareLoss | Pinball):
        name = "square" if isinstance(loss.score, SquareLoss) else "pinball"
        raise DirectGPError(
            f"the {name} loss is for numbers and counts, not for classes; use log, or crps (for "
            "two classes the Brier score)"
        )


def selects_stack(
    loss: Loss,
    likelihood: Likelihood,
    model: Any,
    beta: Beta,
    training: Training,
    options: Mapping[str, Any],
) -> bool:
    """Whether `fit_default` fits a stack for these arguments of it and a single target.

    Args:
        loss: the training loss.
        likelihood: p(y | f).
        model: flat options of models, or an earlier fit.
        beta: the weight of the divergence.
        training: how to train.
        options: further arguments of `fit`.
    """
    return (
        stack_loss(loss, likelihood) is not None
        and isinstance(model, Mapping)
        and not options
        and is_unspecified(model, beta, training)
    )


def is_unspecified(model: Any, beta: Beta, training: Training) -> bool:
    """Whether no option of a single GP is given; time budget and checkpoints are allowed.

    Args:
        model: flat options of models.
        beta: the weight of the divergence.
        training: how to train.
    """
    usual = replace(training, time_budget=None, checkpoint=None, keep_checkpoint=False)
    if not (isinstance(beta, str) and beta == "auto") or usual != Training():
        return False
    return all(_is_usual(name, value) for name, value in model.items())


def _is_usual(name: str, value: Any) -> bool:
    if name == "layers":
        return isinstance(value, str) and value == "auto"
    if name == "mean":  # a mean by name depends on the likelihood
        return isinstance(value, str)
    usual = default_of(name)
    return value is None or (type(value) is type(usual) and bool(value == usual))
