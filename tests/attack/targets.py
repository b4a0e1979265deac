"""Sound model files of every kind, and how a user reads each of them.

The GPs are those of `untrained`, stacks and exact GPs those of `target_stacks`; here are what
estimators and `directgp fit` write. `tests/attack/test_targets.py` says that nothing is left out.
"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import directgp as dg
from directgp.cli.app import run
from directgp.cli.cost_columns import labelled_cost
from directgp.cli.decide_rows import written_cost
from directgp.cli.models import TableModel
from directgp.decisions import Cost
from directgp.errors import DirectGPError
from directgp.tables import write_table
from tests.attack.target_stacks import exact_models, stacks
from tests.attack.untrained import NEW, STRUCTURES, Found, Target, described, structures

ROWS = np.random.default_rng(1).normal(size=(24, 3))
COST = '{kind}false_positive = 1\nfalse_negative = 5\npositive = "yes"\n'


def targets(folder: Path, *, few: bool = False) -> list[Target]:
    """One of every kind, or a few; made without training wherever that can be."""
    chosen = ("sparse", "sigma points") if few else STRUCTURES
    made = [*structures(folder, chosen), _estimator(folder), *stacks(folder)]
    if few:
        return made
    more = [*exact_models(folder), *_several(folder), *_tables(folder), *_costs(folder)]
    return [*made, *more]


def _estimator(folder: Path) -> Target:
    """A classifier that was trained for a cost."""
    labels = np.where(ROWS[:, 0] > 0, "yes", "no")
    cost = dg.BinaryCost(1, 5, positive="yes")
    model = dg.GPClassifier(loss=cost, beta=1.0, max_steps=3, num_inducing=4)
    model.fit(ROWS, labels)
    model.save(folder / "sound")

    def read(path: Path) -> Found:
        loaded = dg.GPClassifier.load(path)
        decision = loaded.decide(NEW)
        return {
            "probabilities": loaded.predict_proba(NEW),
            "labels": np.asarray(loaded.predict(NEW)),
            "actions": np.asarray(decision.named),
            "costs": decision.expected_cost,
        }

    return Target("estimator", (folder / "sound").read_bytes(), read)


def _several(folder: Path) -> list[Target]:
    """Estimators of two targets, of numbers and of classes."""
    numbers = np.column_stack([ROWS[:, 0], ROWS[:, 1] - ROWS[:, 2]])
    quick = {"max_steps": 3, "num_inducing": 4, "beta": 1.0}
    kinds = {
        "estimator of two numbers": (dg.GPRegressor(**quick), numbers),
        "estimator of two classes": (dg.GPClassifier(**quick), (numbers > 0).astype(int)),
    }
    found = []
    for name, (model, y) in kinds.items():
        model.fit(ROWS, y).save(folder / "sound")

        read = partial(_read_several, type(model))
        found.append(Target(name, (folder / "sound").read_bytes(), read))
    return found


def _read_several(of: Any, path: Path) -> Found:
    loaded = of.load(path)
    each = enumerate(loaded.predict_distribution(NEW))
    found = {f"{k} {n}": v for k, one in each for n, v in described(one).items()}
    return found | {"said": np.asarray(loaded.predict(NEW))}


def _costs(folder: Path) -> list[Target]:
    """Costs beside a model: a user's own extras, by which loaded models decide."""
    prices = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0]])
    of_numbers = [dg.NewsvendorCost(4, 1), dg.SquareCost(2.0), dg.IntervalCost(1.0, 5.0)]
    of_classes = [dg.CostMatrix(prices), dg.RejectCost(dg.BinaryCost(1, 5), 0.3)]
    found = []
    for name, structure, costs in (
        ("costs of numbers", "square", of_numbers),
        ("costs of classes", "for a cost", of_classes),
    ):
        (sound,) = structures(folder, (structure,))
        path = folder / "sound"
        path.write_bytes(sound.data)
        dg.save(dg.load(path).fitted, path, extras={"costs": costs})
        found.append(Target(name, path.read_bytes(), _read_costs))
    return found


def _read_costs(path: Path) -> Found:
    loaded = dg.load(path)
    predictive: Any = loaded.fitted.predict(NEW)
    found = described(predictive)
    costs = loaded.extras.get("costs")
    if not isinstance(costs, list) or not all(isinstance(each, Cost) for each in costs):
        raise DirectGPError("a user looks at extras before using them")
    for number, cost in enumerate(costs):
        decision = dg.decide(predictive, cost)
        found[f"actions {number}"] = np.asarray(decision.named)
        found[f"costs {number}"] = decision.expected_cost
    return found


def _tables(folder: Path) -> list[Target]:
    """What `directgp fit` writes: a table with numbers, levels, dates and missing values."""
    rng = np.random.default_rng(4)
    size = rng.normal(size=30)
    table = {
        "size": [None if k == 3 else float(v) for k, v in enumerate(size)],
        "kind": [("flat", "house", "barn")[k % 3] for k in range(30)],
        "day": [f"2024-01-{k % 28 + 1:02d}" for k in range(30)],
        "sold": np.where(size + 0.3 * rng.normal(size=30) > 0, "yes", "no").tolist(),
    }
    data, cost = folder / "table.csv", folder / "cost.toml"
    write_table(data, table)
    cost.write_text(COST.format(kind='kind = "binary"\n'))
    model = folder / "sound.dgp"
    fit = ["fit", data, "-t", "sold", "-o", model, "--missing", "indicator", "--cost", cost]
    quick = ["--beta", "1", "--max-steps", "3", "--num-inducing", "4", "--quiet"]
    assert run([str(each) for each in (*fit, *quick)]) == 0

    def read(path: Path) -> Found:
        loaded = TableModel.load(path)
        encoded = loaded.encoder.encode(data)
        loaded.described()
        json.dumps(loaded.facts)
        predictive = loaded.predict(encoded.X)[0]
        written = written_cost(None, loaded.facts, None)
        decision = dg.decide(predictive, labelled_cost(written, loaded.target, None))
        return {
            "X": encoded.X,
            "probabilities": predictive.probabilities,
            "labels": np.asarray([str(label) for label in loaded.target.labels]),
            "actions": np.asarray(decision.named),
            "costs": decision.expected_cost,
        }

    return [Target("table", model.read_bytes(), read)]
