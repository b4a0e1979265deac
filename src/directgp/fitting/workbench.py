"""Parts shared by all stages of a fit: padded problem, objective, validation score, checkpoints."""

from collections.abc import Callable, Mapping, Sequence
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
from directgp.parameters import on_device
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
    """The same problem padded to a size that others share, so that compiled programs are reused."""
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
    loss: str | Loss | Score | Mapping[str, Any],
    divergence: str | Divergence | Mapping[str, Any] | Sequence[Any],
    expectation: str | Expectation | Mapping[str, Any] | None,
    likelihood: Likelihood,
) -> Objective:
    """The objective in float64.

    Args:
        loss: a loss, a score (then its direct loss) or the name of one.
        divergence: a divergence or its name.
        expectation: how integrals are computed; None chooses a closed form where there is one.
        likelihood: p(y | f).

    Returns:
        The objective to minimise.
    """
    risk, penalty = losses.resolve(loss), divergences.resolve(divergence)
    if expectation is None:
        expectation = choose_expectation(risk.needs, risk.scored(likelihood))
    return Objective(risk, penalty, expectations.resolve(expectation), "float64")


def judge_of(objective: Objective, ready: Prepared) -> Scorer | TeamScorer | None:
    """The score of the predictive distribution at held-out rows; None if there are none."""
    if ready.held_out is None:
        return None
    judged_by = objective.loss.direct
    scored = judged_by.scored(ready.gp.likelihood)
    how = judging_expectation(judged_by.needs, scored, len(ready.held_out.y))
    asked = Objective(judged_by, objective.divergence, how)
    bound = _bound_of(judged_by, ready)
    judge = team_scorer(asked, ready.held_out, ready.team, ready.num_shards, bound)
    if not isinstance(objective.loss, Direct):
        judge(ready.gp)  # raises now, before training, if the loss cannot score predictions
    return judge


def _bound_of(loss: Loss, ready: Prepared) -> Callable[[np.ndarray], np.ndarray] | None:
    """The effect on log losses of bounding class probabilities; None for other scores."""
    classes = ready.gp.likelihood.outcomes
    if classes is None or loss != Direct(LogLoss()):
        return None
    return lambda losses: -with_further_row(-losses, ready.support, len(classes))


def run_id_of(folder: Path | None, ready: Prepared, *options: Any) -> str:
    """An identifier that distinguishes the checkpoints of this fit from those of other fits."""
    shards = (ready.num_shards,) if ready.num_shards > 1 else ()
    if folder is None:
        return ""
    return fingerprint(ready.gp, (*options, *shards), ready.data, ready.held_out)


def precisions(
    asked: Literal["auto", "float64", "mixed"], ready: Prepared, long: bool
) -> tuple[str, ...]:
    """The precisions of training, in the order of use; each is left when it proves inexact.

    Args:
        asked: the precision that the user chose.
        ready: the problem.
        long: whether the fit is a long one (`training.budget.is_long`).

    Returns:
        One or several precisions; the first is that of the start.
    """
    if asked != "auto":
        return (asked,)
    return ladder(ready.gp, long) if worth_mixing(ready.gp) else ("float64",)


@dataclass(frozen=True)
class Workbench:
    """State shared by the stages of a fit; falls back to the next precision if one is inexact."""

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
    """The rows without the columns that `in_shared_size` padded."""
    if data.X.shape[1] == count:
        return data
    return replace(data, X=on_device(np.asarray(data.X)[:, :count]))
