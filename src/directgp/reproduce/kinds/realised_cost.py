"""What acting on predictions cost in the end: classes with costs, orders of a newsvendor."""

from pathlib import Path

import numpy as np

from directgp.decisions import BinaryCost, NewsvendorCost, decide, fit_for_cost
from directgp.registry import Registry
from directgp.reproduce.datasets import Rows, rows_of
from directgp.reproduce.execute import Outcome
from directgp.reproduce.job import Record
from directgp.reproduce.kinds import kinds
from directgp.reproduce.method import train

_OWN = ("cost", "cost_steps", "test_rows")
costs = Registry("cost of a study")
costs.register("binary")(BinaryCost)
costs.register("newsvendor")(NewsvendorCost)


@kinds.register("realised-cost")
def realised_cost(record: Record, folder: Path) -> Outcome:
    """Train the method (with `cost_steps`, then on for the cost), act by Bayes, and pay.

    `cost` is {name = "binary", false_positive = 1, false_negative = 20} or {name = "newsvendor",
    under = 4, over = 1}; all methods act by the Bayes rule for it.
    """
    rows = rows_of(record, folder)
    method = {name: value for name, value in record.items() if name not in _OWN}
    options = dict(record["cost"])
    cost = costs.create(options.pop("name"), **options)
    fitted = train(method, rows)
    if "cost_steps" in record:
        fitted = _for_cost(fitted, rows, cost, record["cost_steps"])
    count = record.get("test_rows", len(rows.y_test))
    decision = decide(fitted.predict(rows.X_test[:count]), cost)
    paid = decision.realised(rows.y_test[:count])
    return Outcome(
        {
            "cost": float(paid.mean()),
            "expected": float(decision.expected_cost.mean()),
            "action": float(np.mean(decision.action)),
            "beta": fitted.beta,
        }
    )


def _for_cost(fitted, rows: Rows, cost, steps: int):
    valid = (rows.X_valid, rows.y_valid)
    return fit_for_cost(rows.X, rows.y, cost, start=fitted, validation=valid, steps=steps)
