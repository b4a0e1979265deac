"""Choosing β on a validation set: the whole grid for less than four fits.

The grid is n, n/2, n/4, …, 0.01 (`dlm` section 6.1), the same for every loss. Candidates share
one warm-up at β = 1 and then race: every rung trains each survivor a little longer from where
it stands and keeps the better part (successive halving), whose members stand apart: neighbours
would all be wrong together where a short rung misleads. The finalists are trained to the end.
Few held-out rows cannot tell close candidates apart: of those within one standard error of the
best, the one nearest to β = 1 wins.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from directgp.training.loop import FAILED, GP, Settings, Trained, TrainingWarning
from directgp.training.stages import Stages

_WARM_UP = 0.3


class Rung(NamedTuple):
    """A part of the race: who takes part, and for how long."""

    size: int | None
    """How many β enter; None means the whole grid."""
    share: float
    """Of a fit, for which each is trained."""
    apart: float = 1.0
    """Nobody enters beside a better one whose β is less than this factor away, while others can."""


class Race(NamedTuple):
    """How candidates are told apart, and how many of them are trained to the end."""

    rungs: tuple[Rung, ...]
    finalists: int
    rate: float
    """Learning rate of the rungs, relative to that of a fit."""
    falls: bool
    """Whether it falls to almost nothing in each rung."""

    @property
    def rest(self) -> float:
        """The share of a fit that a finalist is still to be trained for."""
        return 1.0 - _WARM_UP - sum(rung.share for rung in self.rungs)


_SMALL = Race(
    (Rung(None, 0.03), Rung(8, 0.05), Rung(3, 0.10, 4.0)), finalists=3, rate=0.5, falls=True
)
"""On small data a weak penalty looks good until training converges: several go to the end."""
_LARGE = Race(
    (Rung(None, 0.015), Rung(6, 0.03, 8.0), Rung(2, 0.06, 8.0)), finalists=1, rate=1.0, falls=False
)
"""With mini-batches a pass over the data is better spent on the winner than on telling neighbours
apart, and a short first rung can mislead: those that go on stand for the whole grid. At a falling
rate a β above 1 can look better than it is: it calms q(u) early."""


def race_of(settings: Settings) -> Race:
    """The race for data of this size: full-batch training is for small data."""
    return _SMALL if settings.batch_size is None else _LARGE


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


def check_grid(grid: list[float]) -> None:
    """Refuse a grid without values, or with values that no divergence can be weighed by."""
    if not grid or not all(math.isfinite(beta) and beta >= 0 for beta in grid):
        raise ValueError(f"the grid of beta needs finite values ≥ 0, got {grid}")


def race_chunk(settings: Settings) -> int:
    """One length of chunk for all stages (one compilation), that hardly rounds the shortest up.

    Otherwise a short fit would spend most of its time on hopeless candidates.
    """
    shortest = race_of(settings).rungs[0].share * settings.steps
    return max(1, round(shortest / math.ceil(shortest / settings.chunk)))


def race_cost(grid_size: int, race: Race) -> float:
    """The work of a race and its final training, in units of one fit.

    >>> round(race_cost(24, _LARGE), 1), round(race_cost(24, _SMALL), 1)
    (1.6, 3.3)
    """
    rungs = sum(min(grid_size, rung.size or grid_size) * rung.share for rung in race.rungs)
    return _WARM_UP + rungs + min(race.finalists, grid_size) * race.rest


def race_fits(settings: Settings, grid: list[float] | None, num_data: int) -> float:
    """`race_cost` of choosing β from this grid (None: the usual one)."""
    return race_cost(len(grid or beta_grid(num_data)), race_of(settings))


def select_beta(
    gp: GP,
    stages: Stages,
    settings: Settings,
    num_data: int,
    row_losses: Callable[[GP], np.ndarray],
    grid: list[float] | None = None,
    chunk: int | None = None,
) -> BetaChoice:
    """Race the grid and train the finalists, each for `settings.steps` in all.

    `row_losses` gives the loss of every held-out row; their differences between two candidates
    say how sure it is that one is better. Past `settings.deadline` no further candidate enters;
    β nearest 1 had their turn by then.
    """
    grid = beta_grid(num_data) if grid is None else sorted(set(grid), reverse=True)
    check_grid(grid)
    chunk = race_chunk(settings) if chunk is None else chunk
    race, spent = race_of(settings), 0.0

    def validation(gp: GP) -> float:
        return float(np.mean(row_losses(gp)))

    def stage(
        name: str, begin: GP, share: float, beta: float, *, rate=1.0, falls=False, last=False
    ):
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
            decay=falls or last,
        )
        if last:
            return stages.run(name, begin, own, beta, validation)
        with warnings.catch_warnings():  # a candidate that fails just loses the race
            warnings.simplefilter("ignore", TrainingWarning)
            return stages.run(name, begin, own, beta)

    warm = stage("warm-up (β = 1)", gp, _WARM_UP, 1.0)
    alive: dict[float, GP] = dict.fromkeys(grid, warm.gp)
    losses: dict[float, np.ndarray] = {}
    standing = grid
    for size, share, apart in race.rungs:
        entering = spread(standing, apart)[:size]
        if settings.deadline < math.inf:
            entering = sorted(entering, key=_distance_from_one)
        for beta in entering:
            if losses and settings.out_of_time:
                break
            trained = stage(
                f"β = {beta:.4g}", alive[beta], share, beta, rate=race.rate, falls=race.falls
            )
            alive[beta], losses[beta] = trained.gp, judged(trained, row_losses)
        standing = ranked({beta: losses[beta] for beta in entering if beta in losses})
    finals: dict[float, Trained] = {}
    able = [beta for beta in standing if np.all(np.isfinite(losses[beta]))] or standing[:1]
    for beta in able[: race.finalists]:
        if finals and settings.out_of_time:
            break
        before = losses[beta]
        trained = stage(f"final (β = {beta:.4g})", alive[beta], race.rest, beta, last=True)
        losses[beta] = judged(trained, row_losses)
        if np.mean(before) < np.mean(losses[beta]):  # it only overfitted
            trained, losses[beta] = trained._replace(gp=alive[beta]), before
        finals[beta] = trained
    winner = ranked({beta: losses[beta] for beta in finals})[0]
    curve = {beta: float(np.mean(losses[beta])) for beta in grid if beta in losses}
    return BetaChoice(winner, finals[winner], curve, spent)


def judged(trained: Trained, row_losses: Callable[[GP], np.ndarray]) -> np.ndarray:
    """Losses of held-out rows, or one that loses against all: of a run that failed, or whose losses
    are no numbers.
    """
    losses = np.full(1, np.nan) if trained.reason == FAILED else row_losses(trained.gp)
    return losses if np.all(np.isfinite(losses)) else np.full(1, np.inf)


def spread(standing: list[float], ratio: float = 4.0) -> list[float]:
    """The order such that nobody follows a close neighbour: first those `ratio` apart.

    Three neighbours in the final would all be wrong together if the early rungs misled.

    >>> spread([0.5, 1.0, 0.25, 4.0, 0.1])
    [0.5, 4.0, 0.1, 1.0, 0.25]
    """
    first: list[float] = []
    for beta in standing:
        if all(not 1 / ratio < (beta + 1e-300) / (other + 1e-300) < ratio for other in first):
            first.append(beta)
    return first + [beta for beta in standing if beta not in first]


def ranked(losses: dict[float, np.ndarray]) -> list[float]:
    """Candidates in order: first those that may be the best, nearest to β = 1; then by loss.

    A candidate may be the best if its mean loss is within one standard error of the smallest,
    the error being that of the rows' differences.

    >>> ranked({0.1: np.array([1.0, 2.0]), 1.0: np.array([1.1, 2.0]), 8.0: np.array([3.0, 4.1])})
    [1.0, 0.1, 8.0]
    """
    means = {beta: float(np.mean(rows)) for beta, rows in losses.items()}
    best = min(means, key=lambda beta: means[beta])

    def may_be_best(beta: float) -> bool:
        if not math.isfinite(means[beta]):
            return False
        difference = losses[beta] - losses[best]
        error = np.std(difference) / np.sqrt(max(1, len(difference) - 1))
        return bool(np.mean(difference) <= error)

    def order(beta: float) -> tuple[bool, float, float]:
        fit_to_win = may_be_best(beta)
        return (
            not fit_to_win,
            _distance_from_one(beta) if fit_to_win else means[beta],
            means[beta],
        )

    return sorted(losses, key=order)


def _distance_from_one(beta: float) -> float:
    return abs(math.log(beta)) if beta > 0 else math.inf
