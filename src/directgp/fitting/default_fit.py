"""The default fit: a stack of models where it applies, else one GP."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directgp.fitting.checks import Beta
from directgp.fitting.default_depth import fit_depth
from directgp.fitting.fitted import FittedGP
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
from directgp.training.progress import reporter

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
) -> FittedGP | Stack:
    """A stack of models if every option is at its default, else one GP.

    Stacks are those of `fit_stack`, `fit_class_stack` and `fit_count_stack`.

    An option that speaks of one GP (its kernel, layers, inducing points, β, steps) asks for one.

    Args:
        X: rows of numbers [N D].
        y: their targets, [N], or [N T] for several outputs.
        loss: what predictions are judged by.
        likelihood: p(y | f).
        model: flat options of models, or an earlier fit to go on from.
        beta: the weight of the divergence; see `fit`.
        training: how long and how to train.
        stack: False for one GP in any case.
        seed: of everything that is drawn.
        sample_weight: of the rows.
        verbose: whether to show progress.
        **options: the other arguments of `fit`.
    """
    name = stack_loss(loss, likelihood)
    possible = (
        stack
        and name is not None
        and isinstance(model, Mapping)
        and np.ndim(y) == 1
        and not options
    )
    if possible and is_unspecified(model, beta, training):
        with reporter(verbose) as report:
            shared: dict[str, Any] = {
                "sample_weight": sample_weight,
                "seed": seed,
                "time_budget": training.time_budget,
                "report": lambda member: report.stage(member, 1, "fitting …"),
            }
            if likelihood.support == "counts":
                return fit_count_stack(X, y, **shared)
            shared["loss"] = name
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
    """The name of a direct loss that a stack can be weighed for, or None.

    Args:
        loss: what predictions are judged by.
        likelihood: p(y | f); only those that are chosen by default leave the model open.
    """
    if type(loss) is not Direct or (type(loss.score) is Pinball and loss.score != Pinball()):
        return None
    name = _STACKED.get(type(loss.score))
    if type(likelihood) in (BernoulliProbit, Categorical):
        return name if name in ("log", "crps") else None
    if type(likelihood) is NegativeBinomialExp:
        return name if name == "log" else None
    return name if type(likelihood) is Gaussian else None


def is_unspecified(model: Any, beta: Beta, training: Training) -> bool:
    """Whether no option concerns one GP in particular; time budget and checkpoints may be given."""
    usual = replace(training, time_budget=None, checkpoint=None, keep_checkpoint=False)
    if not (isinstance(beta, str) and beta == "auto") or usual != Training():
        return False
    return all(_is_usual(name, value) for name, value in model.items())


def _is_usual(name: str, value: Any) -> bool:
    if name in ("layers", "mean"):  # "auto"; and a mean by name goes with the likelihood
        return isinstance(value, str)
    usual = default_of(name)
    return value is None or (type(value) is type(usual) and bool(value == usual))
