"""`fit_stack`: a calibrated mixture of exact GPs and boosted trees for a table of numbers."""

import time
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from directgp.errors import DirectGPError
from directgp.exact.regression import exact_regression
from directgp.fitting.stacking.fitted import FittedStack, log_density, mixed
from directgp.fitting.stacking.log_scale import LogScale
from directgp.fitting.stacking.member import (
    ByGP,
    ByTrees,
    ByTreesAndGP,
    Components,
    Location,
    Member,
    OutOfFold,
    calibrated,
)
from directgp.fitting.stacking.trees import cross_fitted_trees
from directgp.fitting.stacking.weights import (
    crps_weights,
    log_loss_weights,
    square_loss_weights,
)
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
"""Rows up to which exact GPs take seconds; beyond, n³ is minutes."""
_ROWS_FOR_TREES, _ROWS_FOR_SCALE = 50, 60
_ROWS_FOR_THREADS = 1500
_FOLDS, _TREES = 5, 300

StackLoss = Literal["log", "crps", "square", "pinball"]


def fit_stack(
    X: Any,
    y: Any,
    *,
    loss: StackLoss = "log",
    sample_weight: Any = None,
    seed: int = 0,
    time_budget: float | int | None = None,
    report: Callable[[str], None] = lambda name: None,
) -> FittedStack:
    """Fit exact GPs and boosted trees, calibrate each out of fold, and weigh them for `loss`.

    Members are an exact GP (Matérn 5/2 + linear, hyperparameters by evidence), gradient-boosted
    trees, and an exact GP of the trees' errors that sees their prediction. Each learns where its
    errors are large (a GP of their log squares) and what they look like (a mixture of Gaussians),
    from leave-one-out or out-of-fold predictions.

    Args:
        X: inputs, at most a few thousand rows.
        y: targets, numbers.
        loss: what the weights are chosen for.
        sample_weight: a row of weight 2 counts as two.
        seed: of folds and samples.
        time_budget: seconds; members that do not fit in are left out, the first never.
        report: called with the name of each member before it is fitted.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 3, (80, 1))
    >>> fitted = fit_stack(X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80))
    >>> bool(abs(fitted.predict([[1.0]]).mean[0] - np.sin(2.0)) < 0.2)
    True
    """
    began = time.monotonic()
    if loss not in ("log", "crps", "square", "pinball"):
        raise DirectGPError(f"loss must be one of log, crps, square, pinball, got {loss!r}")
    names = column_names(X)
    X = check_inputs(X)
    y = np.asarray(check_rows(X, y), np.float64)
    rows = drop_zero_weight(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    inputs = Standardiser.of_inputs(rows.X, rows.weight)
    targets = Standardiser.of_targets(rows.y[:, None], rows.weight)
    scaled = np.clip(inputs.forward_inputs(rows.X), -30.0, 30.0)
    z = np.asarray(targets.forward(rows.y[:, None]))[:, 0]
    weight = np.ones(len(z)) if rows.weight is None else rows.weight
    deadline = np.inf if time_budget is None else began + float(time_budget)
    # On small matrices threads wait for one another longer than they work.
    with threadpool_limits(1 if len(z) < _ROWS_FOR_THREADS else None):
        members, seen = _members(scaled, z, weight, seed, deadline, report)
        parts = [member.out_of_fold(own) for member, own in zip(members, seen, strict=True)]
        weights = _weights(loss, parts, z, weight)
    return FittedStack(
        tuple(members),
        weights,
        inputs,
        targets,
        loss,
        time.monotonic() - began,
        -log_density(mixed(parts, weights), z),
        names,
    )


def _members(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    seed: int,
    deadline: float,
    report: Callable[[str], None],
) -> tuple[list[Member], list[OutOfFold]]:
    members: list[Member] = []
    seen: list[OutOfFold] = []
    varies = bool(np.ptp(y) > 0)  # of a constant there are no errors to learn from

    def add(name: str, location: Location, own: OutOfFold) -> None:
        scale = None
        if varies and len(y) >= _ROWS_FOR_SCALE and time.monotonic() < deadline:
            scale = LogScale.fit(X, (y - own.mean) / own.deviation, weight, seed)
        members.append(calibrated(name, location, own, scale, y, weight))
        seen.append(own)

    report("exact GP")
    gp = exact_regression(X, y, weight=weight, seed=seed)
    add("exact GP", ByGP(gp), OutOfFold(gp.left_out.mean, np.sqrt(gp.left_out.variance)))
    if not varies or len(y) < _ROWS_FOR_TREES or time.monotonic() > deadline:
        return members, seen
    report("boosted trees")
    fitted = cross_fitted_trees(X, y, weight, folds=_FOLDS, max_trees=_TREES, seed=seed)
    trees, base = fitted
    error = y - base
    size = float(np.sqrt(np.average(error**2, weights=weight))) or 1e-6
    add("trees", ByTrees(trees, size), OutOfFold(base, np.full(len(y), size)))
    if time.monotonic() > deadline:
        return members, seen
    report("GP of the trees' errors")
    shift, scale = float(np.mean(base)), float(np.std(base)) or 1.0
    inputs = np.column_stack([X, (base - shift) / scale])
    rest = exact_regression(inputs, error / size, weight=weight, prior_deviation=1.0, seed=seed)
    own = OutOfFold(base + size * rest.left_out.mean, size * np.sqrt(rest.left_out.variance))
    add("trees + GP", ByTreesAndGP(trees, shift, scale, size, rest), own)
    return members, seen


def _weights(
    loss: StackLoss,
    parts: list[Components],
    y: Float[np.ndarray, "N"],
    row_weight: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "K"]:
    """Of the members, for the loss; CRPS stands for pinball, of which it is the mean."""
    if len(parts) == 1:
        return np.ones(1)
    if loss == "log":
        logs = np.column_stack([log_density(part, y) for part in parts])
        return log_loss_weights(logs, row_weight)
    if loss == "square":
        means = np.column_stack([part.weight @ part.mean for part in parts])
        return square_loss_weights(means, y, row_weight)
    owner = np.concatenate([np.full(len(part.weight), k) for k, part in enumerate(parts)])
    together = mixed(parts, np.ones(len(parts)))
    return crps_weights(together.mean, together.deviation, together.weight, owner, y, row_weight)
