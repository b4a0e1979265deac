"""`fit_collapsed`: sparse GP regression with the closed-form optimal q(u) at every step."""

import time
from typing import Any

from directgp.collapsed import FITC, Collapsed, CollapsedBound, CollapsedSquareLoss
from directgp.divergences import KL
from directgp.errors import DirectGPError, WrongType
from directgp.expectations import ClosedForm
from directgp.fitting.checks import (
    Beta,
    beta_and_grid,
    check_choice,
    check_count,
    check_positive_beta,
    weight_for,
)
from directgp.fitting.collapsed_path import BetaPath, best_path
from directgp.fitting.fitted import FittedGP
from directgp.fitting.prepare import prepare
from directgp.fitting.specs import FixedHyperparameters, Sparse, Training
from directgp.likelihoods import Gaussian
from directgp.losses import Direct
from directgp.objective import Objective
from directgp.parameters import float64
from directgp.predictive import Predictive
from directgp.registry import Registry
from directgp.tables import column_names
from directgp.training.evaluate import Scorer
from directgp.training.progress import reporter
from directgp.training.resumable import Stages

collapsed = Registry("collapsed objective")
collapsed.register("elbo")(CollapsedBound)
collapsed.register("fitc")(FITC)
collapsed.register("direct-square")(CollapsedSquareLoss)

_SPARSE = Sparse()


@float64
def fit_collapsed(
    X: Any,
    y: Any,
    *,
    model: Sparse | FixedHyperparameters = _SPARSE,
    objective: str | Collapsed = "elbo",
    beta: Beta = 1.0,
    inducing: str = "auto",
    validation: float | tuple[Any, Any] | None = None,
    max_steps: int = 1000,
    learning_rate: float = 0.05,
    seed: int = 0,
    verbose: bool | None = None,
) -> FittedGP[Predictive]:
    """Full-batch sparse GP regression with the optimal q(u) at every step (`dlm` section 2).

    Args:
        X: inputs [N D].
        y: targets [N].
        model: a `Sparse` to build, or `FixedHyperparameters(fitted)`, whose hyperparameters are
            kept (`dlm` "fixed"), so that only q(u) is computed.
        objective: "elbo" is Titsias' bound (for any β), "fitc" the FITC marginal likelihood (beta
            must be 1), "direct-square" the square-loss DLM with its closed-form mean.
        beta: the weight of the divergence: a number, a list of numbers or "auto" (the grid n, n/2,
            …, 0.01) to choose from on held-out rows, with warm starts.
        inducing: whether the inducing inputs are "learned" with the hyperparameters or "fixed" at
            the centres of k-means. "auto" learns them for "elbo" and "fitc". For the square loss
            learning them improves fits of many rows and overfits few rows; "auto" then fits both
            and chooses by held-out loss, or keeps them fixed without held-out rows.
        validation: a share of the rows to hold out, or separate rows (X, y).
        max_steps: maximum number of Adam steps for the hyperparameters.
        learning_rate: of Adam.
        seed: of all random numbers.
        verbose: whether to show progress; None: if the output is a terminal.

    >>> import numpy as np
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> fitted = fit_collapsed(X, np.sin(6 * X[:, 0]), max_steps=200)
    >>> bool(abs(fitted.predict([[0.5]]).mean[0] - np.sin(3.0)) < 0.05)
    True
    """
    training = Training(max_steps=max_steps, learning_rate=learning_rate, batch_size=None)
    check_count("seed", seed, 0)
    _check_model(model)
    _check_inducing(inducing, model)
    value, grid = beta_and_grid(beta)
    began = time.monotonic()
    solved = collapsed.resolve(objective)
    if isinstance(solved, FITC) and value != 1:
        raise DirectGPError(f"FITC has no weight β, got beta={beta!r}; use beta=1.0")
    check_positive_beta(value, grid)
    ready = prepare(
        X,
        y,
        Gaussian(),
        model=model,
        validation=validation,
        hold_out=lambda rows: value == "auto",
        sample_weight=None,
        seed=seed,
    )
    value = weight_for(value, ready.num_rows)
    settings = training.settings(len(ready.data.y), 1, seed)
    judge = None
    if ready.held_out is not None:
        judged_by = Direct(solved.objective.loss.score)
        judge = Scorer(Objective(judged_by, KL(), ClosedForm()), ready.held_out)
    with reporter(verbose) as report:
        stages = Stages(solved, ready.data, report) if isinstance(model, Sparse) else None
        paths = [
            BetaPath(solved, ready, stages, settings, learned)
            for learned in _ways(inducing, solved, judge is not None and stages is not None)
        ]
        found = best_path([path.fit(value, grid, judge) for path in paths], judge)
    return FittedGP(
        found.trained.gp,
        ready.inputs,
        ready.targets,
        Objective(solved.objective.loss, KL(), ClosedForm()),
        found.beta,
        found.curve,
        found.trained.history,
        found.trained.reason,
        time.monotonic() - began,
        None if judge is None else judge.rows(found.trained.gp),
        column_names(X),
    )


def _check_model(model: Any) -> None:
    """Refuse models without a closed-form q(u)."""
    if not isinstance(model, Sparse | FixedHyperparameters):
        raise WrongType(
            f"q(u) is solved for a Sparse or FixedHyperparameters, got a {type(model).__name__}; "
            "use fit for other models"
        )
    if model.mean_field or (isinstance(model, Sparse) and model.features is not None):
        raise DirectGPError(
            "q(u) is solved for with a full covariance and without a network; leave out mean_field "
            "and features, or use fit"
        )


def _check_inducing(inducing: Any, model: Sparse | FixedHyperparameters) -> None:
    """Refuse invalid values of `inducing`, and values without effect."""
    check_choice("inducing", inducing, ("auto", "learned", "fixed"))
    if inducing != "auto" and isinstance(model, FixedHyperparameters):
        raise DirectGPError(
            f"inducing={inducing!r} has no effect with FixedHyperparameters, which keep the "
            "inducing inputs of the earlier fit; leave it out"
        )


def _ways(inducing: str, solved: Collapsed, may_choose: bool) -> tuple[bool, ...]:
    """Whether to learn the inducing inputs: one answer, or both if held-out rows can choose."""
    if inducing != "auto":
        return (inducing == "learned",)
    if not isinstance(solved, CollapsedSquareLoss):
        return (True,)
    return (False, True) if may_choose else (False,)
