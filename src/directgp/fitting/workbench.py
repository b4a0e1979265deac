"""What a fit is put together of: a problem of shared size, an objective, a judge, stages."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from directgp.divergences import Divergence, divergences
from directgp.expectations import (
    Expectation,
    choose_expectation,
    expectations,
    judging_expectation,
)
from directgp.fitting.prepare import Prepared
from directgp.likelihoods import Likelihood
from directgp.losses import Direct, LogLoss, Loss, Score, losses
from directgp.objective import Batch, Objective
from directgp.predictive.succession import with_further_row
from directgp.training.checkpoint import fingerprint
from directgp.training.evaluate import Scorer, TeamScorer, team_scorer
from directgp.training.loop import GP, Guard
from directgp.training.padding import (
    padded,
    padded_columns,
    padded_rows,
    with_columns,
)
from directgp.training.precision import is_exact_enough, ladder, worth_mixing
from directgp.training.progress import ProgressBar, Silent
from directgp.training.resumable import Stages


def in_shared_size(ready: Prepared) -> Prepared:
    """The same problem in a size that others have too, so that compiled programs are shared."""
    old = ready.data.X.shape[1]
    new = padded_columns(old) if ready.gp.model.ignores_zero_columns else old
    data, held_out = (
        part if part is None else padded(part, padded_rows(len(part.y)), new)
        for part in (ready.data, ready.held_out)
    )
    assert data is not None
    gp = with_columns(ready.gp, old, new)
    return ready._replace(gp=gp, data=data, held_out=held_out, feed=data)


def objective_of(
    loss: str | Loss | Score,
    divergence: str | Divergence,
    expectation: str | Expectation | None,
    likelihood: Likelihood,
) -> Objective:
    """What is minimised, in float64; without an `expectation` the best there is."""
    risk, penalty = losses.resolve(loss), divergences.resolve(divergence)
    if expectation is None:
        expectation = choose_expectation(risk.needs, likelihood)
    return Objective(risk, penalty, expectations.resolve(expectation), "float64")


def judge_of(objective: Objective, ready: Prepared) -> Scorer | TeamScorer | None:
    """The score of the predictive distribution at held-out rows, whatever was trained for it."""
    if ready.held_out is None:
        return None
    judged_by = Direct(objective.loss.score)
    how = judging_expectation(judged_by.needs, ready.gp.likelihood, len(ready.held_out.y))
    asked = Objective(judged_by, objective.divergence, how)
    bound = _bound_of(judged_by, ready)
    judge = team_scorer(asked, ready.held_out, ready.team, ready.num_shards, bound)
    if not isinstance(objective.loss, Direct):
        judge(ready.gp)  # what can be trained but not judged is refused before it is trained
    return judge


def _bound_of(loss: Loss, ready: Prepared) -> Callable[[np.ndarray], np.ndarray] | None:
    """What bounded class probabilities make of their log losses; other scores are bounded."""
    classes = ready.gp.likelihood.outcomes
    if classes is None or not isinstance(loss.score, LogLoss):
        return None
    return lambda losses: -with_further_row(-losses, ready.support, len(classes))


def run_id_of(folder: Path | None, ready: Prepared, *options: Any) -> str:
    """What tells the checkpoints of this fit from those of another, where there are any."""
    shards = (ready.num_shards,) if ready.num_shards > 1 else ()
    if folder is None:
        return ""
    return fingerprint(ready.gp, (*options, *shards), ready.data, ready.held_out)


def precisions(
    asked: Literal["auto", "float64", "mixed"], ready: Prepared, long: bool
) -> tuple[str, ...]:
    """What training starts in, and what it goes on with where that turns out not to be exact."""
    if asked != "auto":
        return (asked,)
    return ladder(ready.gp, long) if worth_mixing(ready.gp) else ("float64",)


@dataclass(frozen=True)
class Workbench:
    """What all stages of a fit have in common; they leave a precision in time for the next."""

    ready: Prepared
    precisions: tuple[str, ...]
    report: ProgressBar | Silent
    folder: Path | None
    run_id: str

    def stages(self, objective: Objective, prefix: str) -> Stages:
        """Stages that minimise `objective`; `prefix` names their checkpoints."""
        ready = self.ready

        def is_safe(gp: GP, now: Objective) -> bool:
            return ready.team.agree(is_exact_enough(gp, ready.data, now.precision))

        first, *others = (replace(objective, precision=each) for each in self.precisions)
        guard = Guard(is_safe, tuple(others)) if others else None
        return Stages(
            first,
            ready.feed,
            self.report,
            guard=guard,
            run_id=self.run_id,
            folder=self.folder,
            prefix=prefix,
            team=ready.team,
        )


def own_columns(data: Batch, count: int) -> Batch:
    """The rows without the columns that `in_shared_size` added."""
    return data if data.X.shape[1] == count else replace(data, X=data.X[:, :count])
