"""Time budgets: estimate the duration of a fit and choose the number of steps."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from directgp.training.loop import GP, Settings
from directgp.training.resumable import Stages

_USED = 0.9
"""Share of the remaining time for steps; validation and the last chunk take the rest."""


_OVERHEAD = 3e-4
"""Seconds of a step that do not depend on its size."""
_FLOPS = 5e10
"""Operations per second of matrix products on a slow core; others are at most 10 times faster."""
_LONG = 20.0
"""Seconds of training from which full optimisation of the program repays its compilation."""


def is_long(gp: GP, settings: Settings, num_rows: int, fits: float) -> bool:
    """Whether `fits` runs take so long that fast steps are worth a longer compilation.

    Estimated from the N·M² products, not measured, because a resumed fit must decide the same.

    Args:
        gp: what is trained.
        settings: of one run.
        num_rows: of the data.
        fits: the number of runs.
    """
    rows = num_rows if settings.batch_size is None else min(settings.batch_size, num_rows)
    return fits * settings.steps * (_OVERHEAD + _products(gp, rows) / _FLOPS) > _LONG


def _products(gp: GP, rows: int) -> float:
    """Floating-point operations of the N·M² products of a step.

    A diagonal q(u) needs three products for all its outputs, a full one two for each and one for
    all. The inputs of the first layer are the rows, those of other layers all components of the
    rows. The additional inducing inputs of a decoupled mean need no such products.
    """
    model, total = gp.model, 0.0
    for layer, posterior in enumerate(model.posteriors[: model.depth]):
        outputs, num_inducing = posterior.mean.shape
        count = 3 if posterior.is_mean_field else 1 + 2 * outputs
        inputs = rows if layer == 0 else rows * model.components
        total += 2.0 * inputs * count * num_inducing**2
    return total


class BudgetPart(NamedTuple):
    """A part of a fit, and its number of steps as a multiple of those of one fit."""

    stages: Stages
    gp: GP
    fits: float


def within_budget(settings: Settings, work: Sequence[BudgetPart]) -> tuple[Settings, ...]:
    """Settings for each part of a fit, with the number of steps possible before
    `settings.deadline`.

    The learning-rate schedule ends with the budget, because a truncated run would end at a high
    rate. A resumed fit keeps its schedule.

    Args:
        settings: of a fit without a budget, with the deadline.
        work: the parts of the fit. work[0] runs last, with all remaining time; each of the others
            has a share of the time.
    """
    plan = work[0].stages.remembered("budget", lambda: affordable(settings, work))
    own = replace(settings, steps=plan["steps"])
    now = settings.clock()
    left = settings.deadline - now
    return own, *(replace(own, deadline=now + share * left) for share in plan["shares"][1:])


def affordable(settings: Settings, work: Sequence[BudgetPart]) -> dict[str, Any]:
    """The number of steps of all parts, and the share of the time of each.

    Args:
        settings: of a fit without a budget, with the deadline.
        work: the parts of the fit.
    """
    seconds = [part.fits * seconds_a_step(part.stages, part.gp, settings) for part in work]
    left = settings.deadline - settings.clock()
    steps = int(min(settings.steps, max(settings.chunk, _USED * left / sum(seconds))))
    return {"steps": steps, "shares": [own / sum(seconds) for own in seconds]}


def seconds_a_step(stages: Stages, gp: GP, settings: Settings) -> float:
    """Seconds per step, measured on a second chunk, because the first may include compilation.

    Args:
        stages: of the part that is measured; no checkpoint is written.
        gp: where training starts.
        settings: of the part.
    """
    timed, short = stages.without_checkpoints(), replace(settings, steps=settings.chunk)
    timed.run("timing", gp, short, 1.0)
    began = settings.clock()
    timed.run("timing", gp, short, 1.0)
    return max(settings.clock() - began, 1e-6) / settings.chunk
