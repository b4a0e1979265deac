"""`fit_class_stack`: a calibrated mixture of linear, tree and GP models for a table of classes."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from directgp.errors import DirectGPError
from directgp.exact.classification import exact_classification
from directgp.fitting.stacking.class_member import (
    ByClassGP,
    ByClassTrees,
    ByLogistic,
    ByTrainedGP,
    ClassMember,
    ClassModel,
    best_temperature,
)
from directgp.fitting.stacking.class_trees import cross_fitted_class_trees
from directgp.fitting.stacking.fitted_classes import FittedClassStack, mixed_classes
from directgp.fitting.stacking.logistic import (
    CrossFittedClasses,
    class_folds,
    cross_fitted_logistic,
)
from directgp.fitting.stacking.second_thread import second_thread
from directgp.fitting.stacking.weights import log_loss_weights, square_loss_weights
from directgp.fitting.stacking.work import Work, stack_work, trained_gp
from directgp.likelihoods import BernoulliProbit, Categorical
from directgp.predictive.succession import with_further_row

MANY_ROWS = 3000
"""Number of rows from which a sparse GP is a member and the exact GP uses a sample."""
_ROWS_FOR_TREES = 50
_FOLDS, _FOLDS_OF_MANY, _MOST_FOLDED = 5, 3, 20_000
"""With more rows than the last number a tenth is held out instead of cross-fitting."""
_GP_ROWS, _GP_ROWS_OF_MANY, _LEARN_FROM = 3000, 1500, 600
"""Rows of the exact GP of two classes; fewer for K classes, with the same time O(K n³)."""
_LOGISTIC_ROWS = 20_000
"""Maximum number of rows for logistic regression, which has few parameters."""
_SHARE_HELD_OUT, _MOST_HELD_OUT = 0.1, 20_000
_BLOCK = 4096

ClassStackLoss = Literal["log", "crps"]


def fit_class_stack(
    X: Any,
    y: Any,
    num_classes: int,
    *,
    loss: ClassStackLoss = "log",
    sample_weight: Any = None,
    seed: int = 0,
    time_budget: float | int | None = None,
    report: Callable[[str], None] = lambda name: None,
) -> FittedClassStack:
    """Fit logistic regression, GPs and boosted trees, and weigh them for `loss`.

    Each member predicts training rows without having seen them (cross-fitted, or leave-one-out
    for the exact GP). These predictions choose its penalty, its length and its temperature, and the
    weights of the mixture. From 3,000 rows on the exact GP sees 1,500 of them, and a sparse GP of
    all but a tenth joins, which then chooses the weights. Above 20,000 rows that tenth judges all.

    Args:
        X: inputs.
        y: the numbers of the classes, 0 … K − 1.
        num_classes: K; classes without rows are possible.
        loss: what the weights are chosen for.
        sample_weight: a row of weight 2 counts as two.
        seed: of folds and samples.
        time_budget: seconds; members that do not fit in are left out, the first never.
        report: called with the name of each member before it is fitted.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 2))
    >>> fitted = fit_class_stack(X, (X[:, 0] > 0).astype(float), 2)
    >>> fitted.predict([[-2.0, 0.0], [2.0, 0.0]]).predicted.tolist()
    [0, 1]
    """
    if loss not in ("log", "crps"):
        raise DirectGPError(f"loss must be one of log, crps, got {loss!r}")
    work = stack_work(
        X,
        y,
        check_targets=lambda y: _class_numbers(y, num_classes),
        sample_weight=sample_weight,
        seed=seed,
        time_budget=time_budget,
        report=report,
    )
    support = max(float(len(work.y)), float(work.weight.sum()))
    with second_thread() as start:
        members, seen, judges = _members(work, num_classes, start)
        y, weight = work.y[judges], work.weight[judges]
        weights = _weights(loss, seen, y, weight, support)
    logs = with_further_row(mixed_classes(seen, weights), support, num_classes)
    return FittedClassStack(
        members=tuple(members),
        weights=weights,
        inputs=work.inputs,
        num_classes=num_classes,
        support=support,
        loss=loss,
        seconds=work.seconds,
        out_of_fold=-logs[np.arange(len(y)), y],
        names=work.names,
    )


def _class_numbers(y: Float[np.ndarray, "N"], num_classes: int) -> Int[np.ndarray, "N"]:
    """Convert targets to class numbers, or raise an error."""
    if num_classes < 2 or not np.isin(y, np.arange(num_classes)).all():
        raise DirectGPError(
            f"y must be class numbers 0 … {num_classes - 1} of two classes at least; use "
            "GPClassifier for other labels"
        )
    return y.astype(np.int64)


def _folds(work: Work) -> Int[np.ndarray, "N"]:
    """The fold of every row; −1 for rows that are never left out, where rows are many."""
    count = len(work.y)
    if count <= _MOST_FOLDED:
        folds = _FOLDS if count < MANY_ROWS else _FOLDS_OF_MANY
        return class_folds(work.y, min(folds, count), work.seed)
    shares = round(1.0 / _SHARE_HELD_OUT)
    number = max(shares, -(-count // _MOST_HELD_OUT))
    return np.where(class_folds(work.y, number, work.seed) == 0, 0, -1)


def _members(
    work: Work, num_classes: int, start: Callable[..., "Future[Any]"]
) -> tuple[list[ClassMember], list[Float[np.ndarray, "J K"]], Int[np.ndarray, "J"]]:
    """Members, their out-of-fold predictions of the evaluation rows, and the indices of these."""
    part = _folds(work)
    rows = np.flatnonzero(part >= 0)
    members: list[ClassMember] = []
    found: list[np.ndarray] = []  # log probabilities of every row of `rows`, out of fold

    def add(name: str, model: ClassModel, logs: np.ndarray, judged: Any = slice(None)) -> None:
        own = rows[judged]
        temperature = best_temperature(logs[judged], work.y[own], work.weight[own])
        members.append(ClassMember(name, model, temperature))
        found.append(members[-1].calibrated(logs))

    growing = None
    enough = all(len(np.unique(work.y[part != fold])) > 1 for fold in range(int(part.max()) + 1))
    if len(part) >= _ROWS_FOR_TREES and enough and work.seconds_left > 0:
        growing = start(
            cross_fitted_class_trees,
            work.X,
            work.y,
            num_classes,
            work.weight,
            part,
            work.seed,
            deadline=work.deadline,
        )
    work.report("logistic regression")
    linear = _logistic(work, num_classes, part)
    add("logistic", ByLogistic(linear.model), linear.out_of_fold[rows])
    if work.seconds_left > 0:
        work.report("exact GP")
        add("exact GP", *_gp(work, num_classes, rows))
    if growing is not None:
        work.report("boosted trees")
        trees = growing.result()
        add("trees", ByClassTrees(trees.model), trees.out_of_fold[rows])
    judges: Any = slice(None)
    if len(part) >= MANY_ROWS and work.seconds_left > 0:
        work.report("sparse GP")
        judges = _held_out(work, part, rows)
        model = _sparse_gp(work, num_classes, rows[judges])
        add("sparse GP", model, _in_blocks(model, work.X[rows]), judges)
    return members, [logs[judges] for logs in found], rows[judges]


def _logistic(work: Work, num_classes: int, part: Int[np.ndarray, "N"]) -> CrossFittedClasses:
    """Logistic regression of at most `_LOGISTIC_ROWS` rows, and of all that judge."""
    chosen = np.arange(len(part))
    if len(part) > _LOGISTIC_ROWS:
        rest = np.random.default_rng(work.seed).permutation(np.flatnonzero(part < 0))
        chosen = np.sort(np.concatenate([np.flatnonzero(part >= 0), rest[:_LOGISTIC_ROWS]]))
    found = cross_fitted_logistic(
        work.X[chosen], work.y[chosen], num_classes, work.weight[chosen], part[chosen]
    )
    logs = np.zeros((len(part), num_classes))
    logs[chosen] = found.out_of_fold
    return CrossFittedClasses(found.model, logs)


def _gp(
    work: Work, num_classes: int, rows: Int[np.ndarray, "J"]
) -> tuple[ByClassGP, Float[np.ndarray, "J K"]]:
    """An exact GP of a limited sample, and its out-of-sample predictions."""
    count, latents = len(work.y), 1 if num_classes == 2 else num_classes
    slower = latents ** (-1.0 / 3.0)
    most = int((_GP_ROWS if count < MANY_ROWS else _GP_ROWS_OF_MANY) * slower)
    order = np.random.default_rng(work.seed).permutation(count)
    own = np.sort(order[:most])
    gp, left_out = exact_classification(
        work.X[own],
        work.y[own],
        num_classes,
        weight=work.weight[own],
        learn_from=int(_LEARN_FROM * slower),
        seed=work.seed,
    )
    model = ByClassGP(gp)
    logs = np.empty((count, num_classes))
    rest = np.setdiff1d(rows, own)
    if len(rest):
        logs[rest] = _in_blocks(model, work.X[rest])
    logs[own] = left_out.log_probabilities()
    return model, logs[rows]


def _held_out(
    work: Work, part: Int[np.ndarray, "N"], rows: Int[np.ndarray, "J"]
) -> Int[np.ndarray, "H"]:
    """The evaluation rows that are held out from a trained GP."""
    if np.any(part < 0):
        return np.arange(len(rows))
    shares = class_folds(work.y, round(1.0 / _SHARE_HELD_OUT), work.seed + 1)
    return np.flatnonzero(shares[rows] == 0)


def _sparse_gp(work: Work, num_classes: int, aside: Int[np.ndarray, "H"]) -> ByTrainedGP:
    """A sparse GP of all rows but these, which are used for early stopping."""
    latents = 1 if num_classes == 2 else num_classes
    likelihood = BernoulliProbit() if num_classes == 2 else Categorical(num_classes)
    return ByTrainedGP(trained_gp(work, work.X, aside, likelihood, latents=latents, beta=1.0))


def _in_blocks(model: ClassModel, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
    """Log probabilities of many rows, in blocks."""
    parts = [
        model.log_probabilities(X[first : first + _BLOCK]) for first in range(0, len(X), _BLOCK)
    ]
    return np.concatenate(parts)


def _weights(
    loss: ClassStackLoss,
    parts: list[Float[np.ndarray, "N K"]],
    y: Int[np.ndarray, "N"],
    row_weight: Float[np.ndarray, "N"],
    support: float | int,
) -> Float[np.ndarray, "M"]:
    """Weights of the members that minimise the loss of the bounded probabilities."""
    if len(parts) == 1:
        return np.ones(1)
    count = parts[0].shape[1]
    bounded = [with_further_row(part, support, count) for part in parts]
    if loss == "log":
        at = np.arange(len(y))
        return log_loss_weights(np.column_stack([part[at, y] for part in bounded]), row_weight)
    # Σ_k (P(Y ≤ k) − 1[y ≤ k])²: the square loss of K − 1 numbers a row.
    below = [np.cumsum(np.exp(part), axis=1)[:, :-1].ravel() for part in bounded]
    truth = (y[:, None] <= np.arange(count - 1)).astype(np.float64).ravel()
    return square_loss_weights(np.column_stack(below), truth, np.repeat(row_weight, count - 1))
