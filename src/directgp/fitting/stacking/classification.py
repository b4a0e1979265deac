"""`fit_class_stack`: a calibrated mixture of linear, tree and GP models for a table of classes."""

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from directgp.errors import DirectGPError
from directgp.exact.classification import exact_classification
from directgp.fitting.stacking.class_member import (
    ByClassGP,
    ByClassTrees,
    ByLogistic,
    ClassMember,
    ClassModel,
    best_temperature,
)
from directgp.fitting.stacking.class_trees import cross_fitted_class_trees
from directgp.fitting.stacking.fitted_classes import FittedClassStack, mixed_classes
from directgp.fitting.stacking.logistic import class_folds, cross_fitted_logistic
from directgp.fitting.stacking.stack import FAR
from directgp.fitting.stacking.weights import log_loss_weights, square_loss_weights
from directgp.predictive.succession import with_further_row
from directgp.tables import (
    Standardiser,
    WeightedRows,
    check_inputs,
    check_rows,
    check_weights,
    column_names,
    drop_zero_weight,
)

MOST_ROWS = 3000
"""Rows up to which a table of classes gets a stack; of more a sparse GP can learn more."""
_ROWS_FOR_TREES = 50
_ROWS_FOR_THREADS = 1500
_FOLDS = 5
_GP_ROWS, _LEARN_FROM = 3000, 600
"""Rows of the GP of two classes; with more classes as many as take the same time, O(K n³)."""

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
    """Fit logistic regression, an exact GP and boosted trees, and weigh them for `loss`.

    Each member predicts every training row without having seen it (cross-fitted, or leave-one-out
    for the GP). These predictions choose its penalty, its length and its temperature, and the
    weights of the mixture.

    Args:
        X: inputs, at most a few thousand rows.
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
    began = time.monotonic()
    if loss not in ("log", "crps"):
        raise DirectGPError(f"loss must be one of log, crps, got {loss!r}")
    names = column_names(X)
    X = check_inputs(X)
    y = np.asarray(check_rows(X, y), np.float64)
    if num_classes < 2 or not np.isin(y, np.arange(num_classes)).all():
        raise DirectGPError(
            f"y must be class numbers 0 … {num_classes - 1} of two classes at least; use "
            "GPClassifier for other labels"
        )
    rows = drop_zero_weight(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    inputs = Standardiser.of_inputs(rows.X, rows.weight)
    scaled = np.clip(inputs.forward_inputs(rows.X), -FAR, FAR)
    classes = rows.y.astype(np.int64)
    weight = np.ones(len(classes)) if rows.weight is None else np.asarray(rows.weight)
    deadline = np.inf if time_budget is None else began + float(time_budget)
    support = max(float(len(classes)), float(weight.sum()))
    # On small matrices threads wait for one another longer than they work.
    with threadpool_limits(1 if len(classes) < _ROWS_FOR_THREADS else None):
        members, seen = _members(scaled, classes, num_classes, weight, seed, deadline, report)
        weights = _weights(loss, seen, classes, weight, support)
    logs = with_further_row(mixed_classes(seen, weights), support, num_classes)
    return FittedClassStack(
        tuple(members),
        weights,
        inputs,
        num_classes,
        support,
        loss,
        time.monotonic() - began,
        -logs[np.arange(len(classes)), classes],
        names,
    )


def _members(
    X: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, "N"],
    num_classes: int,
    weight: Float[np.ndarray, "N"],
    seed: int,
    deadline: float,
    report: Callable[[str], None],
) -> tuple[list[ClassMember], list[Float[np.ndarray, "N K"]]]:
    members: list[ClassMember] = []
    seen: list[np.ndarray] = []
    part = class_folds(y, min(_FOLDS, len(y)), seed)

    def add(name: str, model: ClassModel, logs: Float[np.ndarray, "N K"]) -> None:
        member = ClassMember(name, model, best_temperature(logs, y, weight))
        members.append(member)
        seen.append(member.calibrated(logs))

    report("logistic regression")
    linear = cross_fitted_logistic(X, y, num_classes, weight, part)
    add("logistic", ByLogistic(linear.model), linear.out_of_fold)
    if time.monotonic() < deadline:
        report("exact GP")
        add("exact GP", *_gp(X, y, num_classes, weight, seed))
    enough = all(len(np.unique(y[part != fold])) > 1 for fold in range(int(part.max()) + 1))
    if len(y) >= _ROWS_FOR_TREES and enough and time.monotonic() < deadline:
        report("boosted trees")
        trees = cross_fitted_class_trees(X, y, num_classes, weight, part, seed)
        add("trees", ByClassTrees(trees.model), trees.out_of_fold)
    return members, seen


def _gp(
    X: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, "N"],
    num_classes: int,
    weight: Float[np.ndarray, "N"],
    seed: int,
) -> tuple[ByClassGP, Float[np.ndarray, "N K"]]:
    """The GP of as many rows as take seconds, and what it says of rows it has not seen."""
    latents = 1 if num_classes == 2 else num_classes
    slower = latents ** (-1.0 / 3.0)
    most, learned = int(_GP_ROWS * slower), int(_LEARN_FROM * slower)
    order = np.random.default_rng(seed).permutation(len(y))
    own, rest = np.sort(order[:most]), np.sort(order[most:])
    gp, left_out = exact_classification(
        X[own], y[own], num_classes, weight=weight[own], learn_from=learned, seed=seed
    )
    logs = np.empty((len(y), num_classes))
    logs[own] = left_out.log_probabilities()
    logs[rest] = gp.predict(X[rest]).log_probabilities()
    return ByClassGP(gp), logs


def _weights(
    loss: ClassStackLoss,
    parts: list[Float[np.ndarray, "N K"]],
    y: Int[np.ndarray, "N"],
    row_weight: Float[np.ndarray, "N"],
    support: float | int,
) -> Float[np.ndarray, "M"]:
    """Of the members, for the loss of probabilities as they are when bounded."""
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
