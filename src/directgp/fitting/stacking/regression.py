"""`fit_stack`: a calibrated mixture of exact GPs and boosted trees for a table of numbers."""

import warnings
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from directgp.errors import DirectGPError
from directgp.exact.checked_regression import checked_regression
from directgp.exact.folds_left_out import FoldsLeftOut
from directgp.exact.regression import ExactRegression
from directgp.fitting.prepare import target_scale
from directgp.fitting.stacking.fitted import FittedStack
from directgp.fitting.stacking.log_scale import Errors, LogScale
from directgp.fitting.stacking.log_target import log_target
from directgp.fitting.stacking.member import (
    ByDeepGP,
    ByGP,
    ByMean,
    ByTrees,
    ByTreesAndGP,
    Components,
    Location,
    Member,
    OutOfFold,
    calibrated,
)
from directgp.fitting.stacking.pooling import pooled
from directgp.fitting.stacking.second_thread import second_thread
from directgp.fitting.stacking.stacked_density import log_density, mixed
from directgp.fitting.stacking.trees import TreeEnsemble, cross_fitted_trees
from directgp.fitting.stacking.weights import (
    crps_weights,
    log_loss_weights,
    square_loss_weights,
)
from directgp.fitting.stacking.work import Work, stack_work, trained_gp
from directgp.likelihoods import Gaussian
from directgp.training import TrainingWarning

_ROWS_FOR_TREES, _ROWS_FOR_SCALE, _ROWS_FOR_DEEP = 50, 60, 3000
_MOST_FOR_FOLDS = 1000
"""Of up to so many rows the local scale of each is judged by what other folds say of it."""
_SHARE_FOR_WEIGHTS, _FEWEST_FOR_WEIGHTS = 0.1, 300
"""Of many rows, those that a trained member never sees, and that decide on its weight."""

_WEIGHTS = 1e-6, 1e12
"""A row counts at least and at most as so many rows."""

_LEAST_OTHERS = 1e-3
"""The least share of all weight that the other rows have when one is left out."""

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

    Members are an exact GP (Matérn 5/2 + linear, hyperparameters by evidence), the mean of y with
    its spread, gradient-boosted trees, an exact GP of the trees' errors that sees their prediction
    and, from 3,000 rows on, a deep sigma point process that sees it too. Each model learns where
    its errors are large (a GP of their log squares) and what they look like (a mixture of
    Gaussians), from rows that it has not seen.
    For the log loss, a positive target is learned as log y where that predicts y better.

    Args:
        X: inputs. Exact GPs see 1,500 of more than 2,500 rows, trees and a deep GP see all.
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
    if loss not in ("log", "crps", "square", "pinball"):
        raise DirectGPError(f"loss must be one of log, crps, square, pinball, got {loss!r}")
    rows = stack_work(
        X,
        y,
        sample_weight=sample_weight,
        seed=seed,
        time_budget=time_budget,
        report=report,
    )
    weight = np.clip(rows.weight, *_WEIGHTS)
    unit = target_scale(rows.y, rows.weight, Gaussian())  # refuses targets beyond all numbers
    with second_thread() as start:
        warp = None
        if loss == "log" and rows.seconds_left > 0:
            warp = log_target(rows.X, rows.y, weight, seed, start)
        learned = rows.y if warp is None else warp.forward(rows.y)
        targets = unit if warp is None else target_scale(learned, rows.weight, Gaussian())
        z = np.asarray(targets.forward(learned[:, None]))[:, 0]
        work = replace(rows, y=z, weight=weight)
        candidates = _candidates(work, start)
    judged = candidates[-1].judged
    unseen = work.sample[judged]
    pool = pooled(
        lambda factor: [each.rows(judged, factor / each.optimism) for each in candidates],
        lambda parts: _weights(loss, parts, z[unseen], weight[unseen]),
        lambda parts, weights: float(
            weight[unseen] @ log_density(mixed(parts, weights), z[unseen])
        ),
    )
    members = [each.member.widened(pool.factor) for each in candidates]
    parts = [each.rows(judged, pool.factor) for each in candidates]
    losses = -log_density(mixed(parts, pool.weights), z[unseen])
    if warp is not None:  # of y, in units of its deviation, as without
        losses += np.log(targets.scale[0] / unit.scale[0]) - warp.log_slope(rows.y[unseen])
    return FittedStack(
        members=tuple(members),
        weights=pool.weights,
        inputs=work.inputs,
        targets=targets,
        loss=loss,
        seconds=work.seconds,
        out_of_fold=losses,
        names=work.names,
        warp=warp,
    )


class _Candidate(NamedTuple):
    """A calibrated member, its predictions of the sample, and the rows that may judge it."""

    member: Member
    seen: OutOfFold
    judged: Int[np.ndarray, "J"]
    """Which rows of the sample it has not seen; all, for cross-fitted members."""
    optimism: float = 1.0
    """By what its spread was widened beyond what these predictions ask for."""

    def rows(self, rows: Int[np.ndarray, "J"], factor: float) -> Components:
        """Its Gaussians at rows of the sample, their spread times a factor."""
        part = self.member.widened(factor).out_of_fold(self.seen)
        return Components(part.mean[:, rows], part.deviation[:, rows], part.weight)


def _candidates(work: Work, start: Callable[..., "Future[Any]"]) -> list[_Candidate]:
    """The members, fitted and calibrated; the rows that the last has not seen weigh all of them.

    Args:
        work: the rows and the time.
        start: starts a function in a second thread.
    """
    X, y, weight = (part[work.sample] for part in (work.X, work.y, work.weight))
    every, varies = np.arange(len(y)), bool(np.ptp(y) > 0)
    found: list[_Candidate] = []
    scales: list[LogScale] = []  # each starts from the first, which is much like it

    def add(
        name: str,
        location: Location,
        seen: OutOfFold,
        optimism: float = 1.0,
        gp: ExactRegression | None = None,
    ) -> None:
        scale = None
        learns = varies and not isinstance(location, ByMean)
        if learns and len(y) >= _ROWS_FOR_SCALE and work.seconds_left >= 0:
            errors = (y - seen.mean) / seen.deviation
            scale = LogScale.fit(X, errors, weight, work.seed, *scales[:1])
            scales.append(scale)
            if len(y) <= _MOST_FOR_FOLDS and work.seconds_left >= 0:
                without = _errors_without(errors, gp)
                seen = seen._replace(log_scale=scale.held_out(without, work.seed))
        plain = isinstance(location, ByMean)
        member = calibrated(name, location, seen, scale, y, weight, optimism, plain=plain)
        found.append(_Candidate(member, seen, every, optimism))

    growing = None
    if varies and len(y) >= _ROWS_FOR_TREES and work.seconds_left >= 0:
        growing = start(
            cross_fitted_trees,
            work.X,
            work.y,
            work.weight,
            seed=work.seed,
            deadline=work.deadline,
        )
    work.report("exact GP")
    own = checked_regression(X, y, weight=weight, seed=work.seed)
    seen = OutOfFold(own.judged.mean, np.sqrt(own.judged.variance))
    add("exact GP", ByGP(own.gp), seen, own.further_optimism, own.judged_gp)
    if varies:
        add("mean", *_mean(y, weight))
    if growing is None:
        return found  # of a constant there are no errors to learn from
    work.report("boosted trees")
    trees, base = growing.result()
    cross = base[work.sample]
    error = y - cross
    size = float(np.sqrt(np.average(error**2, weights=weight))) or 1e-6
    add("trees", ByTrees(trees, size), OutOfFold(cross, np.full(len(y), size)))
    if work.seconds_left < 0:
        return found
    work.report("GP of the trees' errors")
    shift, scale = float(np.mean(cross)), float(np.std(cross)) or 1.0
    inputs = np.column_stack([X, (cross - shift) / scale])
    rest = checked_regression(
        inputs, error / size, weight=weight, prior_deviation=1.0, seed=work.seed
    )
    judged = rest.judged
    seen = OutOfFold(cross + size * judged.mean, size * np.sqrt(judged.variance))
    location = ByTreesAndGP(trees, shift, scale, size, rest.gp)
    add("trees + GP", location, seen, rest.further_optimism, rest.judged_gp)
    if len(work.y) >= _ROWS_FOR_DEEP and work.seconds_left >= 0:
        work.report("deep GP")
        found.append(_deep(work, trees, base))
    return found


def _errors_without(errors: Float[np.ndarray, "N"], gp: ExactRegression | None) -> Errors:
    """Standardised errors by a model that has not seen a fold.

    Args:
        errors: of a model whose folds cannot be left out once more: taken as they are.
        gp: the model, where leave-one-out errors of other rows have a closed form.
    """
    if gp is None:
        return lambda aside: errors[~aside]
    own = FoldsLeftOut.of(gp)

    def without(aside: Bool[np.ndarray, "N"]) -> Float[np.ndarray, "M"]:
        found = own.others(aside)
        return (gp.y[~aside] - found.mean) / np.sqrt(found.variance)

    return without


def _mean(y: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"]) -> tuple[ByMean, OutOfFold]:
    """The mean of all targets, and at each row that of the others."""
    total, level = float(weight.sum()), float(np.average(y, weights=weight))
    others = level + (level - y) * weight / np.maximum(total - weight, _LEAST_OTHERS * total)
    spread = float(np.sqrt(np.average((y - others) ** 2, weights=weight)))
    return ByMean(level, spread), OutOfFold(others, np.full(len(y), spread))


def _deep(work: Work, trees: TreeEnsemble, base: Float[np.ndarray, "N"]) -> _Candidate:
    """A deep GP of all rows but some of the sample, which say how good it is."""
    count = int(min(len(work.sample), max(_FEWEST_FOR_WEIGHTS, _SHARE_FOR_WEIGHTS * len(base))))
    judged = np.arange(count)
    aside = work.sample[:count]
    inputs = np.column_stack([work.X, base])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)  # a stack needs no several components
        fitted = trained_gp(work, inputs, aside, Gaussian(), model={"starts": 1})
    found = fitted.predict(inputs[work.sample])
    seen = OutOfFold(found.mean, found.std)
    own = OutOfFold(seen.mean[judged], seen.deviation[judged])
    y, weight = work.y[aside], work.weight[aside]
    member = calibrated("deep GP", ByDeepGP(trees, fitted), own, None, y, weight)
    return _Candidate(member, seen, judged)


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
