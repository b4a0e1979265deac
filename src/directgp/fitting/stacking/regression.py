"""`fit_stack`: a calibrated mixture of exact GPs and boosted trees for a table of numbers."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from threadpoolctl import threadpool_limits

from directgp.errors import DirectGPError
from directgp.exact.regression import checked_regression
from directgp.fitting.default_depth import fit_depth
from directgp.fitting.prepare import target_scale
from directgp.fitting.specs import Training
from directgp.fitting.stacking.fitted import FittedStack, log_density, mixed
from directgp.fitting.stacking.log_scale import LogScale
from directgp.fitting.stacking.member import (
    ByDeepGP,
    ByGP,
    ByTrees,
    ByTreesAndGP,
    Components,
    Location,
    Member,
    OutOfFold,
    calibrated,
)
from directgp.fitting.stacking.trees import TreeEnsemble, cross_fitted_trees
from directgp.fitting.stacking.weights import (
    crps_weights,
    log_loss_weights,
    square_loss_weights,
)
from directgp.likelihoods import Gaussian
from directgp.losses import Direct, LogLoss
from directgp.parameters import check_process
from directgp.tables import (
    Standardiser,
    WeightedRows,
    check_inputs,
    check_rows,
    check_weights,
    column_names,
    drop_zero_weight,
)

EXACT_ROWS, SAMPLED_ROWS = 2500, 1500
"""Exact GPs see all rows up to the first number, of more rows a sample of the second.

These rows also calibrate all members.
"""
_ROWS_FOR_TREES, _ROWS_FOR_SCALE, _ROWS_FOR_DEEP = 50, 60, 3000
_ROWS_FOR_THREADS = 1500
_SHARE_FOR_WEIGHTS, _FEWEST_FOR_WEIGHTS = 0.1, 300
"""Of many rows, those that a trained member never sees, and that decide on its weight."""

_WEIGHTS = 1e-6, 1e12
"""A row counts at least and at most as so many rows."""

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
    trees, an exact GP of the trees' errors that sees their prediction and, from 3,000 rows on, a
    deep sigma point process that sees it too. Each learns where its errors are large (a GP of their
    log squares) and what they look like (a mixture of Gaussians), from rows that it has not seen.

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
    check_process()
    began = time.monotonic()
    if loss not in ("log", "crps", "square", "pinball"):
        raise DirectGPError(f"loss must be one of log, crps, square, pinball, got {loss!r}")
    names = column_names(X)
    X = check_inputs(X)
    y = np.asarray(check_rows(X, y), np.float64)
    rows = drop_zero_weight(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    inputs = Standardiser.of_inputs(rows.X, rows.weight)
    targets = target_scale(rows.y, rows.weight, Gaussian())
    scaled = np.clip(inputs.forward_inputs(rows.X), -30.0, 30.0)
    z = np.asarray(targets.forward(rows.y[:, None]))[:, 0]
    weight = np.clip(rows.weight, *_WEIGHTS)
    deadline = np.inf if time_budget is None else began + float(time_budget)
    rng = np.random.default_rng(seed)
    sample = np.arange(len(z)) if len(z) <= EXACT_ROWS else rng.permutation(len(z))[:SAMPLED_ROWS]
    work = _Work(scaled, z, weight, sample, seed, deadline, report)
    # On small matrices threads wait for one another longer than they work.
    with threadpool_limits(1 if len(z) < _ROWS_FOR_THREADS else None):
        candidates = _candidates(work)
    members = [candidate.member for candidate in candidates]
    judged = candidates[-1].judged
    parts = [_rows_of(each.member.out_of_fold(each.seen), judged) for each in candidates]
    unseen = sample[judged]
    weights = _weights(loss, parts, z[unseen], weight[unseen])
    return FittedStack(
        tuple(members),
        weights,
        inputs,
        targets,
        loss,
        time.monotonic() - began,
        -log_density(mixed(parts, weights), z[unseen]),
        names,
    )


@dataclass(frozen=True)
class _Work:
    """The rows, those that calibrate, and how long there is."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]
    sample: Int[np.ndarray, "S"]
    """Rows that exact GPs see and that members are calibrated by."""
    seed: int
    deadline: float
    report: Callable[[str], None]

    @property
    def seconds_left(self) -> float:
        """Until the deadline."""
        return max(1.0, self.deadline - time.monotonic())

    @property
    def out_of_time(self) -> bool:
        """Whether nothing more should be begun."""
        return time.monotonic() > self.deadline


class _Candidate(NamedTuple):
    """A calibrated member, its predictions of the sample, and the rows that may judge it."""

    member: Member
    seen: OutOfFold
    judged: Int[np.ndarray, "J"]
    """Which rows of the sample it has not seen; all, for cross-fitted members."""


def _candidates(work: _Work) -> list[_Candidate]:
    """Members in the order of what they give for their time; the last says who judges all."""
    X, y, weight = (part[work.sample] for part in (work.X, work.y, work.weight))
    every, varies = np.arange(len(y)), bool(np.ptp(y) > 0)
    found: list[_Candidate] = []

    def add(name: str, location: Location, seen: OutOfFold, optimism: float = 1.0) -> None:
        scale = None
        if varies and len(y) >= _ROWS_FOR_SCALE and not work.out_of_time:
            scale = LogScale.fit(X, (y - seen.mean) / seen.deviation, weight, work.seed)
        member = calibrated(name, location, seen, scale, y, weight, optimism)
        found.append(_Candidate(member, seen, every))

    work.report("exact GP")
    gp, optimism = checked_regression(X, y, weight=weight, seed=work.seed)
    own = OutOfFold(gp.left_out.mean, np.sqrt(gp.left_out.variance))
    add("exact GP", ByGP(gp), own, optimism)
    if not varies or len(y) < _ROWS_FOR_TREES or work.out_of_time:
        return found  # of a constant there are no errors to learn from
    work.report("boosted trees")
    trees, base = cross_fitted_trees(work.X, work.y, work.weight, seed=work.seed)
    cross = base[work.sample]
    error = y - cross
    size = float(np.sqrt(np.average(error**2, weights=weight))) or 1e-6
    add("trees", ByTrees(trees, size), OutOfFold(cross, np.full(len(y), size)))
    if work.out_of_time:
        return found
    work.report("GP of the trees' errors")
    shift, scale = float(np.mean(cross)), float(np.std(cross)) or 1.0
    inputs = np.column_stack([X, (cross - shift) / scale])
    rest, optimism = checked_regression(
        inputs, error / size, weight=weight, prior_deviation=1.0, seed=work.seed
    )
    seen = OutOfFold(cross + size * rest.left_out.mean, size * np.sqrt(rest.left_out.variance))
    add("trees + GP", ByTreesAndGP(trees, shift, scale, size, rest), seen, optimism)
    if len(work.y) >= _ROWS_FOR_DEEP and not work.out_of_time:
        work.report("deep GP")
        found.append(_deep(work, trees, base))
    return found


def _deep(work: _Work, trees: TreeEnsemble, base: Float[np.ndarray, "N"]) -> _Candidate:
    """A deep GP of all rows but some of the sample, which say how good it is."""
    count = int(min(len(work.sample), max(_FEWEST_FOR_WEIGHTS, _SHARE_FOR_WEIGHTS * len(base))))
    judged = np.arange(count)
    aside = work.sample[:count]
    kept = np.setdiff1d(np.arange(len(base)), aside)
    inputs = np.column_stack([work.X, base])
    options: dict[str, Any] = {"loss": Direct(LogLoss()), "likelihood": Gaussian(), "model": {}}
    fitted = fit_depth(
        inputs[kept],
        work.y[kept],
        sample_weight=work.weight[kept],
        validation=(inputs[aside], work.y[aside], work.weight[aside]),
        training=Training(time_budget=min(_seconds_for(len(kept)), work.seconds_left)),
        seed=work.seed,
        verbose=False,
        **options,
    )
    found = fitted.predict(inputs[work.sample])
    seen = OutOfFold(found.mean, found.std)
    own = OutOfFold(seen.mean[judged], seen.deviation[judged])
    y, weight = work.y[aside], work.weight[aside]
    member = calibrated("deep GP", ByDeepGP(trees, fitted), own, None, y, weight)
    return _Candidate(member, seen, judged)


def _seconds_for(num_rows: int) -> float:
    """How long a deep GP may train: a few seconds and a little more for every row."""
    return float(np.clip(6.0 + 7e-4 * num_rows, 0.0, 45.0))


def _rows_of(part: Components, rows: Int[np.ndarray, "J"]) -> Components:
    return Components(part.mean[:, rows], part.deviation[:, rows], part.weight)


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
