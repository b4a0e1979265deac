"""Does each loss win on its own score? Stacks trained for every loss, judged by every score.

    python -m benchmarks.arena.own_scores

prints mean scores of the default estimator on tables of the arena (standardised units).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.arena.tables import Problem, all_tables, split

TABLES = (
    "yacht", "boston", "diabetes", "energy", "concrete", "SaratogaHouses", "Hitters", "bdims",
)  # fmt: skip
SEEDS = 1, 2, 3
LOSSES = "log", "crps", "pinball", "square"
_LEVELS = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def scores(problem: Problem, predicted: Any, y: np.ndarray) -> dict[str, float]:
    """The mean of every score, by the loss that it is; for targets of deviation 1."""
    scale = float(problem.y.std())
    beyond = y[:, None] - np.column_stack([predicted.quantile(level) for level in _LEVELS])
    pinball = np.maximum(_LEVELS * beyond, (_LEVELS - 1.0) * beyond)
    return {
        "log": -float(np.mean(predicted.log_prob(y))) - float(np.log(scale)),
        "crps": float(np.mean(predicted.crps(y))) / scale,
        "pinball": float(np.mean(pinball)) / scale,
        "square": float(np.mean((predicted.mean - y) ** 2)) / scale**2,
    }


def measured(
    names: Sequence[str] = TABLES, seeds: Sequence[int] = SEEDS
) -> dict[tuple[str, str], dict[str, float]]:
    """Mean scores over the seeds, by table and by the loss that was trained for."""
    from directgp import GPRegressor

    found = {}
    tables = {table.name: table for table in all_tables() if table.kind == "regression"}
    for name in names:
        splits = [split(tables[name], seed) for seed in seeds]
        for loss in LOSSES:
            each = []
            for problem, y in splits:
                model = GPRegressor(loss=loss, random_state=problem.seed)
                model.fit(problem.X, problem.y)
                each.append(scores(problem, model.predict_distribution(problem.X_test), y))
            found[name, loss] = {
                score: float(np.mean([own[score] for own in each])) for score in LOSSES
            }
            shown = " ".join(f"{score} {value:.4f}" for score, value in found[name, loss].items())
            print(f"{name:<16} trained for {loss:<8} {shown}", flush=True)
    return found


def main(names: Sequence[str]) -> None:
    """Measure, and say on how many tables the loss wins on its own score."""
    found = measured(names or TABLES)
    for loss in LOSSES[1:]:
        pairs = [(found[n, loss][loss], found[n, "log"][loss]) for n in names or TABLES]
        own, by_log = np.mean(pairs, axis=0)
        wins = sum(mine < theirs for mine, theirs in pairs)
        print(f"{loss}: {own:.4f}, trained for log {by_log:.4f}; lower on {wins} of {len(pairs)}")


if __name__ == "__main__":
    main(sys.argv[1:])
