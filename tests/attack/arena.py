"""Whether the default estimators are too sure of themselves on the tables of the arena.

Each table is split as in the arena; of more than 5,000 training rows a random 5,000 are kept. What
is asked is the same as of small subsets (`overconfidence`).
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.arena import ours
from benchmarks.arena.tables import Table, all_tables, split
from tests.attack.overconfidence import judge_classes, judge_numbers
from tests.attack.result import Result, Tell, silent

_MOST_ROWS = 5000
_FITS: dict[str, Callable[..., Any]] = {
    "regression": ours.regressor,
    "counts": ours.count_regressor,
    "classification": ours.classifier,
}


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Fit the default estimators to the `count` smallest tables, smallest first."""
    result = Result()
    for table in sorted(all_tables(), key=lambda table: table.rows)[:count]:
        began = time.monotonic()
        with result.timed(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcome, numbers = _outcome(table, seed)
            except (OSError, SystemExit, ModuleNotFoundError) as error:
                outcome, numbers = "not there", str(error)
        tell(f"{table.name}: {numbers} ({time.monotonic() - began:.0f} s)")
        said = outcome if outcome in ("sound", "not there") else f"{table.name}: {outcome}"
        result.add(table.kind, said, ("sound", "not there"), tell)
    return result


def _outcome(table: Table, seed: int) -> tuple[str, str]:
    problem, truth = split(table, seed, _MOST_ROWS)
    found = _FITS[table.kind](problem)
    if table.kind == "classification":
        known = np.isin(truth, problem.y)
        shares = found[np.arange(len(truth)), truth][known]
        return judge_classes(shares, problem.y, truth[known])
    return judge_numbers(found, problem.y, truth, table.kind == "counts")
