"""Time budgets: estimate the duration of a fit and choose the number of steps."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from directgp.training.loop import GP, Settings
from directgp.training.resumable import Stages

_USED = 0.9
"""Of the time left: validation and the last chunk take some of it too."""


_OVERHEAD = 3e-4
"""Seconds of a step whatever its size."""
_FLOPS = 5e10
"""Operations a second in products, on one of two slow cores; others are faster, none ten times."""
_LONG = 20.0
"""Seconds from which a program that is a tenth faster repays what compiling it takes longer."""


def is_long(gp: GP, settings: Settings, num_rows: int, fits: float) -> bool:
    """Whether `fits` runs take so long that fast steps are worth a longer compilation.

    Decided by counting the N·M² products, not by a clock: a resumed fit must decide the same.

    Args:
        gp: what is trained.
        settings: of one run.
        num_rows: of the data.
        fits: the number of runs.
    """
    rows = num_rows if settings.batch_size is None else min(settings.batch_size, num_rows)
    return fits * settings.steps * (_OVERHEAD + _products(gp, rows) / _FLOPS) > _LONG


def _products(gp: GP, rows: int) -> float:
    """Operations in the products of a step.

    A diagonal q(u) needs three for all its outputs, a full one two for each and one for all. The
    first layer sees the rows, the others every component of them. What a model has beside its
    layers, the mean's own inducing inputs, has no such products.
    """
    model, total = gp.model, 0.0
    for layer, posterior in enumerate(model.posteriors[: model.depth]):
        outputs, num_inducing = posterior.mean.shape
        count = 3 if posterior.is_mean_field else 1 + 2 * outputs
        inputs = rows if layer == 0 else rows * model.components
        total += 2.0 * inputs * count * num_inducing**2
    return total


class Work(NamedTuple):
    """A part of a fit, and how often it takes all the steps of one."""

    stages: Stages
    gp: GP
    fits: float


def within_budget(settings: Settings, work: Sequence[Work]) -> tuple[Settings, ...]:
    """Settings for each part of a fit: steps that can be done before `settings.deadline`.

    The schedule of learning rates ends with the budget, because a run that is only cut off would
    end at a high rate. A resumed fit keeps the schedule that it began with.

    Args:
        settings: of a fit without a budget, but for its deadline.
        work: the parts of the fit. work[0] runs last, with all remaining time; the others stop
            when their share of the time is over.
    """
    plan = work[0].stages.remembered("budget", lambda: affordable(settings, work))
    own = replace(settings, steps=plan["steps"])
    now = settings.clock()
    left = settings.deadline - now
    return own, *(replace(own, deadline=now + share * left) for share in plan["shares"][1:])


def affordable(settings: Settings, work: Sequence[Work]) -> dict[str, Any]:
    """How many steps all parts can have, and the share of the time that each then takes."""
    seconds = [part.fits * seconds_a_step(part.stages, part.gp, settings) for part in work]
    left = settings.deadline - settings.clock()
    steps = int(min(settings.steps, max(settings.chunk, _USED * left / sum(seconds))))
    return {"steps": steps, "shares": [own / sum(seconds) for own in seconds]}


def seconds_a_step(stages: Stages, gp: GP, settings: Settings) -> float:
    """Measured on a second chunk, because the first may have to be compiled; nothing is kept."""
    timed, short = stages.unkept(), replace(settings, steps=settings.chunk)
    timed.run("timing", gp, short, 1.0)
    began = settings.clock()
    timed.run("timing", gp, short, 1.0)
    return max(settings.clock() - began, 1e-6) / settings.chunk
