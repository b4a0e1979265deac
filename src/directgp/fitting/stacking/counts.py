"""`fit_count_stack`: a calibrated mixture of log-linear, tree and GP models for counts."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from directgp.exact.regression import exact_regression
from directgp.fitting.stacking.count_member import (
    HALF,
    ByLogCounts,
    ByLogLinear,
    ByRateTrees,
    ByTrainedRates,
    RateModel,
    smoothed_log,
)
from directgp.fitting.stacking.fitted_counts import FittedCountStack, mixed_rates
from directgp.fitting.stacking.log_linear import cross_fitted_log_linear
from directgp.fitting.stacking.rate_calibration import (
    RateLine,
    calibrated_rates,
    log_mass,
    rate_line,
)
from directgp.fitting.stacking.second_thread import second_thread
from directgp.fitting.stacking.trees import TreeEnsemble, cross_fitted_trees
from directgp.fitting.stacking.weights import log_loss_weights
from directgp.fitting.stacking.work import Work, stack_work, trained_gp
from directgp.likelihoods import NegativeBinomialExp
from directgp.likelihoods.targets import check_counts

_ROWS_FOR_TREES, _ROWS_FOR_GP, _ROWS_FOR_TRAINED = 50, 5, 3000
_LINEAR_ROWS = 20_000
"""Maximum number of rows for log-linear regression."""
_SHARE_HELD_OUT, _FEWEST_HELD_OUT = 0.1, 300
_DISPERSIONS = (1.0, 0.5, 0.2, 0.05)
"""Candidates for the dispersion, relative to the smallest one of the members."""
_LEAST_DISPERSION = 1e-5


def fit_count_stack(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    seed: int = 0,
    time_budget: float | int | None = None,
    report: Callable[[str], None] = lambda name: None,
) -> FittedCountStack:
    """Fit models of the rate of counts, calibrate each out of fold, and weigh them by log score.

    Members are Poisson regression, an exact GP of log(y + ½), boosted trees with Poisson loss, an
    exact GP of what the trees leave and, from 3,000 rows on, a sparse GP with a negative binomial
    likelihood. Each learns a level and a slope of its log-rate, and offsets with their shares, from
    rows that it has not seen. All components have one dispersion, which is chosen too.

    Args:
        X: inputs.
        y: counts, whole numbers ≥ 0.
        sample_weight: a row of weight 2 counts as two.
        seed: of folds and samples.
        time_budget: seconds; members that do not fit in are left out, the first never.
        report: called with the name of each member before it is fitted.

    Returns:
        The mixture, whose `predict` gives the distribution of counts at new rows.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (200, 1))
    >>> fitted = fit_count_stack(X, rng.poisson(np.exp(1 + X[:, 0])))
    >>> bool(abs(fitted.predict([[0.0]]).mean[0] - np.e) < 0.7)
    True
    """
    work = stack_work(
        X,
        y,
        check_targets=check_counts,
        sample_weight=sample_weight,
        seed=seed,
        time_budget=time_budget,
        report=report,
    )
    with second_thread() as start:
        candidates = _candidates(work, start)
    judged = candidates[-1].judged
    unseen = work.sample[judged]
    own, own_weight = work.y[unseen], work.weight[unseen]
    rates = [each.log_rate[judged] for each in candidates]
    lines = [
        rate_line(each.log_rate[each.judged], work.y[at], work.weight[at])
        for each in candidates
        for at in (work.sample[each.judged],)
    ]
    best, best_score = None, -np.inf
    smallest = min(line.dispersion for line in lines)
    for factor in _DISPERSIONS:
        dispersion = max(factor * smallest, _LEAST_DISPERSION)
        found = _mixture(candidates, lines, rates, own, own_weight, dispersion)
        if found.score > best_score:
            best, best_score = found, found.score
    assert best is not None
    return FittedCountStack(
        members=best.members,
        weights=best.weights,
        inputs=work.inputs,
        dispersion=best.dispersion,
        loss="log",
        seconds=work.seconds,
        out_of_fold=-best.logs,
        names=work.names,
    )


class _Candidate(NamedTuple):
    """A model, its out-of-fold log-rates of the sample, and the rows valid for its evaluation."""

    name: str
    model: RateModel
    log_rate: Float[np.ndarray, "S"]
    judged: Int[np.ndarray, "J"]


class _Mixture(NamedTuple):
    """Calibrated members with their weights for one dispersion."""

    members: tuple[Any, ...]
    weights: Float[np.ndarray, "K"]
    dispersion: float
    logs: Float[np.ndarray, "J"]
    score: float


def _mixture(
    candidates: list[_Candidate],
    lines: list[RateLine],
    rates: list[Float[np.ndarray, "J"]],
    y: Float[np.ndarray, "J"],
    weight: Float[np.ndarray, "J"],
    dispersion: float,
) -> _Mixture:
    members = tuple(
        calibrated_rates(each.name, each.model, own, line, y, weight, dispersion)
        for each, own, line in zip(candidates, rates, lines, strict=True)
    )
    parts = [member.components(own) for member, own in zip(members, rates, strict=True)]
    logs = np.column_stack([_log_prob(part, y, dispersion) for part in parts])
    weights = log_loss_weights(logs, weight) if len(parts) > 1 else np.ones(1)
    total = _log_prob(mixed_rates(parts, weights), y, dispersion)
    return _Mixture(members, weights, dispersion, total, float(weight @ total))


def _log_prob(part: Any, y: Float[np.ndarray, "J"], dispersion: float) -> Float[np.ndarray, "J"]:
    logs = log_mass(y, part.log_rate, dispersion)
    return np.logaddexp.reduce(logs + np.log(part.weight)[:, None], axis=0)


def _candidates(work: Work, start: Callable[..., "Future[Any]"]) -> list[_Candidate]:
    """Models in order of gain per training time; the last determines the evaluation rows."""
    X, y, weight = (part[work.sample] for part in (work.X, work.y, work.weight))
    every = np.arange(len(y))
    growing = None
    if len(y) >= _ROWS_FOR_TREES and np.ptp(y) > 0 and work.seconds_left > 0:
        growing = start(
            cross_fitted_trees,
            work.X,
            work.y,
            work.weight,
            seed=work.seed,
            loss="poisson",
            deadline=work.deadline,
        )
    work.report("log-linear regression")
    linear, rates = _log_linear(work)
    found = [_Candidate("log-linear", linear, rates, every)]
    if len(y) < _ROWS_FOR_GP or np.ptp(y) == 0:
        return found  # the target is constant
    if work.seconds_left > 0:
        work.report("exact GP")
        found.append(_Candidate("exact GP", *_gp_of_logs(X, y, weight, work.seed), every))
    if growing is None:
        return found
    work.report("boosted trees")
    trees, base = growing.result()
    own = base[work.sample]
    found.append(_Candidate("trees", ByRateTrees(trees), own, every))
    if work.seconds_left < 0:
        return found
    work.report("GP of what trees leave")
    after = _gp_of_logs(X, y, weight, work.seed, trees, own)
    found.append(_Candidate("trees + GP", *after, every))
    if len(work.y) >= _ROWS_FOR_TRAINED and work.seconds_left > 0:
        work.report("sparse GP")
        found.append(_trained(work))
    return found


def _log_linear(work: Work) -> tuple[RateModel, Float[np.ndarray, "S"]]:
    """Poisson regression of at most `_LINEAR_ROWS` rows, the sample among them."""
    rest = np.setdiff1d(np.arange(len(work.y)), work.sample)
    rest = np.random.default_rng(work.seed).permutation(rest)[:_LINEAR_ROWS]
    rows = np.concatenate([work.sample, rest])
    slopes, level, rates = cross_fitted_log_linear(
        work.X[rows], work.y[rows], work.weight[rows], seed=work.seed
    )
    return ByLogLinear(slopes, level), rates[: len(work.sample)]


def _gp_of_logs(
    X: Float[np.ndarray, "S D"],
    y: Float[np.ndarray, "S"],
    weight: Float[np.ndarray, "S"],
    seed: int,
    trees: TreeEnsemble | None = None,
    base: Float[np.ndarray, "S"] | None = None,
) -> tuple[ByLogCounts, Float[np.ndarray, "S"]]:
    """An exact GP of log(y + ½), relative to the log-rate of the trees if they are given."""
    offset = np.zeros(len(y))
    if base is not None:
        offset = smoothed_log(base)
        X = np.column_stack([X, offset])
    logs = np.log(y + HALF) - offset
    shift, scale = float(np.average(logs, weights=weight)), float(np.std(logs)) or 1.0
    gp = exact_regression(X, (logs - shift) / scale, weight=weight, seed=seed)
    rates = offset + shift + scale * gp.left_out.mean
    return ByLogCounts(gp, shift, scale, trees), rates


def _trained(work: Work) -> _Candidate:
    """A sparse GP of all rows but some of the sample, which are used for early stopping."""
    count = int(max(_FEWEST_HELD_OUT, _SHARE_HELD_OUT * len(work.y)))
    judged = np.arange(min(count, len(work.sample)))
    aside = work.sample[judged]
    fitted = trained_gp(work, work.X, aside, NegativeBinomialExp(dispersion=0.5), beta=1.0)
    model = ByTrainedRates(fitted)
    return _Candidate("sparse GP", model, model.log_rate(work.X[work.sample]), judged)
