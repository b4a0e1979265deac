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
"""From so many rows on, splits are random rows and not folds."""

costs = Registry("cost of a study")
costs.register("binary")(lambda ratio: BinaryCost(false_positive=1, false_negative=ratio))
costs.register("newsvendor")(lambda ratio: NewsvendorCost(under=ratio, over=1))


@kinds.register("realised-cost")
def realised_cost(record: Record, folder: Path) -> Outcome:
    """Train the method (with `for_cost`, then on for the cost), act by the Bayes rule, and pay.

    `cost` "binary": a miss costs `ratio` false alarms; "newsvendor": one too few costs `ratio`
    times one too many. Costs are a test row.
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
    return Outcome(paid | beside(cost, rows, np.asarray(decision.action)), course(fitted))


@singledispatch
def beside(cost: Any, rows: Rows, action: np.ndarray) -> dict[str, float]:
    """What to compare with: policies that do not look at the inputs."""
    raise ValueError(f"realised-cost does not know {type(cost).__name__}; use binary or newsvendor")


@beside.register
def _(cost: BinaryCost, rows: Rows, action: np.ndarray) -> dict[str, float]:
    never, always = np.zeros(len(rows.y_test), int), np.ones(len(rows.y_test), int)
    return {
        "acted": float(np.mean(action)),
        "never": float(cost.realised(rows.y_test, never).mean()),
        "always": float(cost.realised(rows.y_test, always).mean()),
    }


@beside.register
def _(cost: NewsvendorCost, rows: Rows, action: np.ndarray) -> dict[str, float]:
    order = np.quantile(rows.y, cost.under / (cost.under + cost.over))
    same = np.full(len(rows.y_test), order)
    return {
        "short": float(np.mean(rows.y_test > action)),
        "always": float(cost.realised(rows.y_test, same).mean()),
    }


def cut(record: Record, folder: Path) -> Rows:
    """Train, held-out and test rows: 5 folds of small data, random rows of large data."""
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
