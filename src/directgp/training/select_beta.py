"""The choice of β on held-out rows, by one split or by cross-validation: successive halving.

The grid is n, n/2, n/4, …, 0.01 (`dlm` section 6.1), the same for every loss. Candidates share one
warm-up at β = 1. Every rung trains each surviving β for some steps and keeps the better ones, with
a minimum ratio between them, because neighbouring values are misjudged together by a short rung.
The finalists are trained for all steps. `beta_ranking` compares candidates.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.training.beta_ranking import distance_from_one, ranked
from directgp.training.judgement import Judge, Judgement, judged, judgement
from directgp.training.loop import GP, Settings, Trained, TrainingWarning
from directgp.training.resumable import Stages

_WARM_UP, _LEAST_BETA = 0.3, 0.01


class Rung(NamedTuple):
    """One round of successive halving: the number of candidates, and how long each is trained."""

    size: int | None
    """The number of values of β; None means the whole grid."""
    share: float
    """Steps of each, as a share of those of a fit."""
    apart: float = 1.0
    """Minimum ratio between surviving values of β, as long as there are enough of them."""


class Race(NamedTuple):
    """The rounds of successive halving, and how many candidates are trained for all steps."""

    rungs: tuple[Rung, ...]
    finalists: int
    rate: float
    """Learning rate of the rungs, relative to that of a fit."""
    falls: bool
    """Whether it decays in each rung."""

    @property
    def rest(self) -> float:
        """The remaining steps of a finalist, as a share of those of a fit."""
        return 1.0 - _WARM_UP - sum(rung.share for rung in self.rungs)


_SMALL = Race(
    (Rung(None, 0.03), Rung(8, 0.05), Rung(3, 0.10, 4.0)), finalists=3, rate=0.5, falls=True
)
"""For small data, where a small β looks good before training converges: several finalists."""
_FOLDS = Race((Rung(None, 0.02), Rung(5, 0.05, 4.0)), finalists=2, rate=0.5, falls=True)
"""For cross-validation, with more held-out rows and a final fit of the winner: fewer finalists."""
_LARGE = Race(
    (Rung(None, 0.015), Rung(6, 0.03, 8.0), Rung(2, 0.06, 8.0)), finalists=1, rate=1.0, falls=False
)
"""For mini-batches: epochs are better spent on the winner than on comparing neighbours, and a short
first rung can mislead, so survivors are spread over the whole grid. The rate does not decay,
because a β above 1, whose q(u) converges early, would then look better than it is."""


def race_of(settings: Settings, refits: bool = False) -> Race:
    """The race for data of this size; full-batch training is for small data.

    Args:
        settings: of a whole fit.
        refits: whether the winner is trained again on all rows (cross-validation).
    """
    if refits:
        return _FOLDS
    return _SMALL if settings.batch_size is None else _LARGE


class Fold(NamedTuple):
    """The initial model, the training of it (`stages`) and the evaluation on held-out rows."""

    start: GP
    stages: Stages
    judge: Judge


class BetaChoice(NamedTuple):
    """The chosen β, and how it was chosen."""

    beta: float
    trained: Trained | None
    """The winner; None if it is to be trained again on all rows."""
    held_out: Float[np.ndarray, "V"]
    """The loss of the winner at every held-out row of all folds."""
    curve: dict[float, float]
    """The last mean loss of every β tried."""
    cost: float
    """The work, in units of one fit."""
    more_noise: float = 0.0
    """The amount to add to the noise of a winner that is trained again, from held-out rows."""


def beta_grid(num_data: int) -> list[float]:
    """n, n/2, n/4, … down to and ending with 0.01.

    >>> [round(beta, 3) for beta in beta_grid(1)]
    [1.0, 0.5, 0.25, 0.125, 0.062, 0.031, 0.016, 0.01]
    """
    halvings = int(np.floor(np.log2(num_data / _LEAST_BETA)))
    return [num_data / 2.0**k for k in range(halvings + 1)] + [_LEAST_BETA]


def check_grid(grid: list[float | int]) -> None:
    """Raise an error for an empty grid, or for values that are negative or not finite."""
    if not grid or not all(math.isfinite(beta) and beta >= 0 for beta in grid):
        raise DirectGPError(f"the grid of beta needs finite values ≥ 0, got {grid}")


def race_chunk(settings: Settings, num_folds: int = 0) -> int:
    """The length of the chunks of all stages, which divides the shortest stage with little
    rounding.

    One length needs one compilation. Much rounding would spend the time of a short fit on
    candidates.

    Args:
        settings: of a whole fit.
        num_folds: of cross-validation; 0 for one split.
    """
    shortest = race_of(settings, num_folds > 0).rungs[0].share * settings.steps
    return max(1, round(shortest / math.ceil(shortest / settings.chunk)))


def race_cost(grid_size: int, race: Race, num_folds: int = 0) -> float:
    """The number of steps of a race and of the training of its winner, in units of one fit.

    Args:
        grid_size: the number of values of β.
        race: its rounds.
        num_folds: of cross-validation; 0 for one split.

    >>> round(race_cost(24, _LARGE), 1), round(race_cost(24, _SMALL), 1)
    (1.6, 3.3)
    """
    rungs = sum(min(grid_size, rung.size or grid_size) * rung.share for rung in race.rungs)
    fold = _WARM_UP + rungs + min(race.finalists, grid_size) * race.rest
    return fold if num_folds == 0 else num_folds * fold + 1.0


def race_fits(
    settings: Settings, grid: list[float | int] | None, num_data: int, num_folds: int = 1
) -> float:
    """`race_cost` for data of this size.

    Args:
        settings: of a whole fit.
        grid: values of β; None: the default grid.
        num_data: the number of rows.
        num_folds: of cross-validation; 0 for one split.
    """
    return race_cost(len(grid or beta_grid(num_data)), race_of(settings, num_folds > 0), num_folds)


def select_beta(
    folds: Sequence[Fold],
    settings: Settings,
    num_data: int,
    grid: list[float | int] | None = None,
    chunk: int | None = None,
    refits: bool = False,
) -> BetaChoice:
    """Choose β from the grid by successive halving; finalists get `settings.steps` in all.

    Every candidate is trained in each fold and compared by the held-out rows of all folds. With
    `refits` the winner is then trained on all rows by `train_with_beta`. Without it there is one
    fold; each finalist keeps the parameters of its smallest held-out loss, and the winner is
    returned. After `settings.deadline` no further candidate is trained; candidates are trained in
    the order of their distance to β = 1.

    Args:
        folds: where candidates are trained and judged, one or several.
        settings: of a whole fit.
        num_data: the number of rows n, from which the grid starts.
        grid: values of β instead of n, n/2, …, 0.01.
        chunk: the length of all chunks, by default `race_chunk`.
        refits: whether the winner is to be trained once more on all rows.

    Returns:
        The chosen β and, unless `refits`, the model trained with it.
    """
    grid = beta_grid(num_data) if grid is None else sorted(set(grid), reverse=True)
    check_grid(grid)
    chunk = race_chunk(settings, len(folds) if refits else 0) if chunk is None else chunk
    race, alone, spent = race_of(settings, refits), not refits, 0.0
    judges = [fold.judge for fold in folds]

    def trained_on(
        fold: Fold, name: str, begin: GP, share: float, beta: float, rate=1.0, falls=False
    ) -> Trained:
        nonlocal spent
        own = _part_of(settings, share, chunk)
        spent += own.steps / settings.steps
        own = replace(
            own,
            tolerance=0.0,
            patience=None,
            learning_rate=rate * settings.learning_rate,
            decay=falls,
        )
        with warnings.catch_warnings():  # a candidate that fails has an infinite loss
            warnings.simplefilter("ignore", TrainingWarning)
            return fold.stages.run(name, begin, own, beta)

    def trained_to_the_end(fold: Fold, begin: GP, beta: float) -> Trained:
        nonlocal spent
        own = _part_of(settings, race.rest, chunk)
        spent += own.steps / settings.steps

        def validation(gp: GP) -> float:
            return float(np.mean(judgement([gp], [fold.judge]).losses))

        name = f"final (β = {beta:.4g})"
        return fold.stages.run(name, begin, own, beta, validation if alone else None)

    warm = [trained_on(fold, "warm-up (β = 1)", fold.start, _WARM_UP, 1.0).gp for fold in folds]
    alive: dict[float, list[GP]] = dict.fromkeys(grid, warm)
    found: dict[float, Judgement] = {}
    standing = grid
    for size, share, apart in race.rungs:
        entering = far_apart_first(standing, apart)[:size]
        if settings.deadline < math.inf:
            entering = sorted(entering, key=distance_from_one)
        for beta in entering:
            if found and settings.out_of_time:
                break
            runs = [
                trained_on(fold, f"β = {beta:.4g}", gp, share, beta, race.rate, race.falls)
                for fold, gp in zip(folds, alive[beta], strict=True)
            ]
            alive[beta] = [run.gp for run in runs]
            found[beta] = judged(runs, judges, more_noise=refits)
        standing = ranked({beta: found[beta].losses for beta in entering if beta in found})
    finals: dict[float, list[Trained]] = {}
    able = [beta for beta in standing if np.all(np.isfinite(found[beta].losses))] or standing[:1]
    for beta in able[: race.finalists]:
        if finals and settings.out_of_time:
            break
        before = found[beta]
        runs = [
            trained_to_the_end(fold, gp, beta) for fold, gp in zip(folds, alive[beta], strict=True)
        ]
        found[beta] = judged(runs, judges, more_noise=refits)
        if alone and np.mean(before.losses) < np.mean(found[beta].losses):  # it only overfitted
            runs, found[beta] = [runs[0]._replace(gp=alive[beta][0])], before
        finals[beta] = runs
    winner = ranked({beta: found[beta].losses for beta in finals})[0]
    curve = {beta: float(np.mean(found[beta].losses)) for beta in grid if beta in found}
    trained = finals[winner][0] if alone else None
    return BetaChoice(winner, trained, found[winner].rows, curve, spent, found[winner].more_noise)


def train_with_beta(
    gp: GP, stages: Stages, settings: Settings, choice: BetaChoice, chunk: int
) -> Trained:
    """Train with the chosen β for all steps, after the same warm-up at β = 1 as the candidates.

    Args:
        gp: where training starts.
        stages: of this fit.
        settings: of a whole fit.
        choice: from `select_beta`; its `more_noise` is added to the noise at the end.
        chunk: the length of chunks.
    """
    warm = replace(_part_of(settings, _WARM_UP, chunk), tolerance=0.0, patience=None, decay=False)
    begin = stages.run("warm-up (β = 1)", gp, warm, 1.0).gp
    rest = _part_of(settings, 1.0 - _WARM_UP, chunk)
    trained = stages.run(f"training (β = {choice.beta:.4g})", begin, rest, choice.beta)
    if not choice.more_noise:
        return trained
    likelihood = trained.gp.likelihood.with_more_noise(choice.more_noise)
    assert likelihood is not None
    return trained._replace(gp=trained.gp._replace(likelihood=likelihood))


def _part_of(settings: Settings, share: float, chunk: int) -> Settings:
    """Settings for a share of a fit, in whole chunks."""
    steps = chunk * max(1, math.ceil(round(share * settings.steps) / chunk))
    return replace(settings, steps=steps, chunk=chunk)


def far_apart_first(standing: list[float], ratio: float = 4.0) -> list[float]:
    """Reorder values of β: first the best ones that differ by a factor `ratio`, then the others.

    Args:
        standing: values of β, the best first.
        ratio: minimum ratio between values of the first group.

    >>> far_apart_first([0.5, 1.0, 0.25, 4.0, 0.1])
    [0.5, 4.0, 0.1, 1.0, 0.25]
    """
    first: list[float] = []
    for beta in standing:
        if all(not 1 / ratio < (beta + 1e-300) / (other + 1e-300) < ratio for other in first):
            first.append(beta)
    return first + [beta for beta in standing if beta not in first]
