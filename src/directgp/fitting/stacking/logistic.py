"""Ridge-penalised multinomial logistic regression, its strength chosen by cross-validation."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax

from directgp.linalg.optimise import minimize
from directgp.predictive.succession import with_further_row

_STRENGTHS = tuple(float(value) for value in np.logspace(3.0, -2.0, 11))
"""Penalties λ of the path, from the strongest: each solution is where the next search starts."""
_LEVEL_PENALTY = 1e-3
"""Of intercepts: a class without rows is improbable, not impossible."""
_MOST_STEPS = 200
_WORSE = 1.5
"""The path ends where the loss is this many times the best: weaker penalties are worse still."""


class LogisticRegression(NamedTuple):
    """Log odds that are linear in standardised inputs: softmax(X · slopesᵀ + levels).

    >>> model = LogisticRegression(np.array([[-1.0], [1.0]]), np.zeros(2))
    >>> np.exp(model.log_probabilities(np.array([[0.0], [5.0]]))).round(2).tolist()
    [[0.5, 0.5], [0.0, 1.0]]
    """

    slopes: Float[np.ndarray, "K D"]
    levels: Float[np.ndarray, "K"]

    def log_probabilities(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Of every class at standardised rows."""
        return log_softmax(X @ self.slopes.T + self.levels, axis=1)


class CrossFittedClasses(NamedTuple):
    """A model of all rows, and log probabilities of every row by models of the other folds."""

    model: Any
    out_of_fold: Float[np.ndarray, "N K"]


def logistic_regression(
    X: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, "N"],
    num_classes: int,
    weight: Float[np.ndarray, "N"],
    strength: float | int,
    start: LogisticRegression | None = None,
) -> LogisticRegression:
    """Minimise Σ weight · log loss + ½ λ ‖slopes‖² by L-BFGS.

    Args:
        X: standardised inputs.
        y: the numbers of the classes; some may not occur.
        num_classes: K.
        weight: of the rows.
        strength: λ.
        start: where to search from.
    """
    columns = X.shape[1]
    wide = np.column_stack([X, np.ones(len(X))])
    truth = np.eye(num_classes)[y]
    penalty = np.append(np.full(columns, float(strength)), _LEVEL_PENALTY)
    total = float(weight.sum())

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        coefficients = flat.reshape(num_classes, columns + 1)
        logs = log_softmax(wide @ coefficients.T, axis=1)
        value = -float(weight @ logs[np.arange(len(y)), y])
        value += 0.5 * float(np.sum(penalty * coefficients**2))
        errors = (np.exp(logs) - truth) * weight[:, None]
        return value / total, (errors.T @ wide + penalty * coefficients).ravel() / total

    first = np.zeros((num_classes, columns + 1))
    if start is not None:
        first = np.column_stack([start.slopes, start.levels])
    options: dict[str, Any] = {"maxiter": _MOST_STEPS, "gtol": 1e-6, "ftol": 1e-9}
    found = minimize(objective, first.ravel(), jac=True, method="L-BFGS-B", options=options)
    coefficients = np.asarray(found.x).reshape(num_classes, columns + 1)
    return LogisticRegression(coefficients[:, :-1].copy(), coefficients[:, -1].copy())


def cross_fitted_logistic(
    X: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, "N"],
    num_classes: int,
    weight: Float[np.ndarray, "N"],
    part: Int[np.ndarray, "N"],
) -> CrossFittedClasses:
    """Logistic regression with the penalty that minimises the out-of-fold loss.

    Args:
        X: standardised inputs.
        y: the numbers of the classes.
        num_classes: K.
        weight: of the rows.
        part: the fold of every row; −1 for rows that are in no fold, which are never left out.
    """
    folds, left_out = range(int(part.max()) + 1), part >= 0
    models: list[LogisticRegression | None] = [None for _ in folds]
    best, best_loss, best_logs = _STRENGTHS[0], np.inf, np.empty(0)
    for strength in _STRENGTHS:
        logs = np.zeros((len(y), num_classes))
        for fold in folds:
            own, others = part == fold, part != fold
            model = logistic_regression(
                X[others], y[others], num_classes, weight[others], strength, models[fold]
            )
            models[fold], logs[own] = model, model.log_probabilities(X[own])
        loss = out_of_fold_loss(logs[left_out], y[left_out], weight[left_out])
        if loss < best_loss:
            best, best_loss, best_logs = strength, loss, logs
        elif loss > _WORSE * best_loss:
            break
    return CrossFittedClasses(logistic_regression(X, y, num_classes, weight, best), best_logs)


def out_of_fold_loss(
    logs: Float[np.ndarray, "N K"], y: Int[np.ndarray, "N"], weight: Float[np.ndarray, "N"]
) -> float:
    """The mean log loss, of probabilities no surer than so many rows can support."""
    bounded = with_further_row(logs, float(len(y)), logs.shape[1])
    return -float(np.average(bounded[np.arange(len(y)), y], weights=weight))


def class_folds(y: Int[np.ndarray, "N"], folds: int, seed: int) -> Int[np.ndarray, "N"]:
    """The fold of every row; rows of each class are spread over all folds as evenly as can be.

    >>> class_folds(np.array([0, 0, 1, 1, 0, 0]), 2, seed=0).tolist().count(0)
    3
    """
    order = np.random.default_rng(seed).permutation(len(y))
    order = order[np.argsort(y[order], kind="stable")]
    part = np.empty(len(y), np.int64)
    part[order] = np.arange(len(y)) % folds
    return part
