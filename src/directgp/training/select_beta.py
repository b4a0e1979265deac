"""Choosing β on a validation set: the whole grid for less than four fits.

The grid is n, n/2, n/4, …, 0.01 (`dlm` section 6.1), the same for every loss. Candidates share
one warm-up at β = 1 and then race: every rung trains each survivor a little longer from where
it stands and keeps the better part (successive halving). The winner is trained to the end.
"""

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from directgp.training.loop import FAILED, GP, Settings, Trained, TrainingWarning
from directgp.training.stages import Stages

_WARM_UP = 0.3
_RUNGS = ((None, 0.03), (8, 0.05), (3, 0.10))
"""(how many β enter, share of a fit each is trained for); None means the whole grid."""


class BetaChoice(NamedTuple):
    """The winner, the last validation loss of every β tried, and the work in units of one fit."""

    beta: float
    trained: Trained
    curve: dict[float, float]
    cost: float


def beta_grid(num_data: int, smallest: float = 0.01) -> list[float]:
    """n, n/2, n/4, … down to and ending with `smallest`.

    >>> [round(beta, 3) for beta in beta_grid(1)]
    [1.0, 0.5, 0.25, 0.125, 0.062, 0.031, 0.016, 0.01]
    """
    halvings = int(np.floor(np.log2(num_data / smallest)))
    return [num_data / 2.0**k for k in range(halvings + 1)] + [smallest]


def race_chunk(settings: Settings) -> int:
    """One length of chunk for all stages (one compilation), that hardly rounds the shortest up.

    Otherwise a short fit would spend most of its time on hopeless candidates.
    """
    shortest = _RUNGS[0][1] * settings.steps
    return max(1, round(shortest / math.ceil(shortest / settings.chunk)))


def race_cost(grid_size: int) -> float:
    """The work of a race and its final training, in units of one fit.

    >>> round(race_cost(24), 2)
    2.24
    """
    shares = [(min(grid_size, size or grid_size), share) for size, share in _RUNGS]
    rungs = sum(size * share for size, share in shares)
    return rungs + 1.0 - sum(share for _, share in _RUNGS)


def select_beta(
    gp: GP,
    stages: Stages,
    settings: Settings,
    num_data: int,
    validation: Callable[[GP], float],
    grid: list[float] | None = None,
    chunk: int | None = None,
) -> BetaChoice:
    """Race the grid and train the winner, for `settings.steps` in all.

    Past `settings.deadline` no further candidate enters; β nearest 1 had their turn by then.
    """
    grid = beta_grid(num_data) if grid is None else sorted(set(grid), reverse=True)
    if not grid or not all(math.isfinite(beta) and beta >= 0 for beta in grid):
        raise ValueError(f"the grid of beta needs finite values ≥ 0, got {grid}")
    chunk = race_chunk(settings) if chunk is None else chunk
    spent = 0.0

    def stage(name: str, begin: GP, share: float, beta: float, rate: float, last: bool):
        nonlocal spent
        steps = chunk * max(1, math.ceil(round(share * settings.steps) / chunk))
        spent += steps / settings.steps
        own = replace(
            settings,
            steps=steps,
            chunk=chunk,
            tolerance=settings.tolerance if last else 0.0,
            patience=settings.patience if last else None,
            learning_rate=rate * settings.learning_rate,
            decay=rate < 1.0 or last,
        )
        if last:
            return stages.run(name, begin, own, beta, validation)
        with warnings.catch_warnings():  # a candidate that fails just loses the race
            warnings.simplefilter("ignore", TrainingWarning)
            return stages.run(name, begin, own, beta)

    def score(trained: Trained) -> float:
        value = math.nan if trained.reason == FAILED else validation(trained.gp)
        return math.inf if math.isnan(value) else value

    warm = stage("warm-up (β = 1)", gp, _WARM_UP, 1.0, 1.0, last=False)
    alive: dict[float, GP] = dict.fromkeys(grid, warm.gp)
    curve: dict[float, float] = {}
    for size, share in _RUNGS:
        unknown = math.inf if curve else 0.0  # who had no turn before the deadline is out
        keep = sorted(alive, key=lambda beta: curve.get(beta, unknown))[: size or len(grid)]
        alive = {beta: alive[beta] for beta in keep}
        if settings.deadline < math.inf:
            keep = sorted(keep, key=lambda beta: abs(math.log(max(beta, 1e-6))))
        for beta in keep:
            if curve and time.monotonic() > settings.deadline:
                break
            trained = stage(f"β = {beta:.4g}", alive[beta], share, beta, 0.5, last=False)
            alive[beta], curve[beta] = trained.gp, score(trained)
    winner = min(alive, key=lambda beta: curve.get(beta, math.inf))
    rest = 1.0 - _WARM_UP - sum(share for _, share in _RUNGS)
    final = stage(f"final (β = {winner:.4g})", alive[winner], rest, winner, 1.0, last=True)
    curve[winner] = min([curve[winner], *final.history["validation"]])
    return BetaChoice(winner, final, curve, spent)
