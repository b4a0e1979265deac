"""Realised costs of decisions: classification with costs, newsvendor orders."""

from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from directgp.decisions import BinaryCost, NewsvendorCost, decide, fit_for_cost
from directgp.registry import Registry
from experiments.datasets import Rows, read
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.kinds.fit import course
from experiments.method import train

_OWN = ("cost", "ratio", "for_cost", "train_rows", "valid_rows", "test_rows")
_FOLDS = 5
_LARGE = 20_000
"""From this number of rows on, splits are random instead of folds."""

costs = Registry("cost of a study")
costs.register("binary")(lambda ratio: BinaryCost(false_positive=1, false_negative=ratio))
costs.register("newsvendor")(lambda ratio: NewsvendorCost(under=ratio, over=1))


@kinds.register("realised-cost")
def realised_cost(record: Record, folder: Path) -> Outcome:
    """Train the method (with `for_cost`, then for the cost), and compute costs of Bayes actions.

    `cost` "binary": a miss costs `ratio` times a false alarm; "newsvendor": too small an action
    costs `ratio` times too large a one. Costs are per test row.
    """
    rows = cut(record, folder)
    cost = costs.create(record["cost"], record["ratio"])
    fitted = train({name: value for name, value in record.items() if name not in _OWN}, rows)
    if record.get("for_cost"):
        held_out = (rows.X_valid, rows.y_valid)
        fitted = fit_for_cost(
            rows.X, rows.y, cost, model=fitted, validation=held_out, seed=record["seed"]
        )
    decision = decide(fitted.predict(rows.X_test), cost)
    paid = {
        "cost": float(decision.realised(rows.y_test).mean()),
        "expected": float(decision.expected_cost.mean()),
    }
    scores = paid | constant_policies(cost, rows, np.asarray(decision.action))
    return Outcome(scores, course(fitted))


@singledispatch
def constant_policies(cost: Any, rows: Rows, action: np.ndarray) -> dict[str, float]:
    """Realised costs of policies that ignore the inputs, and statistics of the actions.

    Args:
        cost: the cost.
        rows: the split.
        action: the actions of the test rows.
    """
    raise ValueError(f"realised-cost does not know {type(cost).__name__}; use binary or newsvendor")


@constant_policies.register
def _(cost: BinaryCost, rows: Rows, action: np.ndarray) -> dict[str, float]:
    never, always = np.zeros(len(rows.y_test), int), np.ones(len(rows.y_test), int)
    return {
        "acted": float(np.mean(action)),
        "never": float(cost.realised(rows.y_test, never).mean()),
        "always": float(cost.realised(rows.y_test, always).mean()),
    }


@constant_policies.register
def _(cost: NewsvendorCost, rows: Rows, action: np.ndarray) -> dict[str, float]:
    order = np.quantile(rows.y, cost.under / (cost.under + cost.over))
    same = np.full(len(rows.y_test), order)
    return {
        "short": float(np.mean(rows.y_test > action)),
        "always": float(cost.realised(rows.y_test, same).mean()),
    }


def cut(record: Record, folder: Path) -> Rows:
    """Training, held-out and test rows: 5 folds of small data, random rows of large data.

    Args:
        record: the job.
        folder: the folder of datasets.
    """
    X, y = read(record["data"], folder)
    seed, most = record["seed"], record["train_rows"]
    if len(y) < _LARGE:
        order = np.random.default_rng(0).permutation(len(y))
        test = np.sort(order[seed % _FOLDS :: _FOLDS])
        rest = np.random.default_rng(seed).permutation(np.setdiff1d(order, test))
        valid, learn = np.split(rest, [len(rest) // 5])
    else:
        order = np.random.default_rng(seed).permutation(len(y))
        learn, valid, test = np.split(order, [most, most + record["valid_rows"]])
    learn, valid = learn[:most], valid[: record.get("valid_rows")]
    test = test[: record.get("test_rows")]
    return Rows(X[learn], y[learn], X[valid], y[valid], X[test], y[test])
