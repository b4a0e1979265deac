"""Costs of decisions: exact inference against sparse models that are trained for the cost.

scikit-learn's breast cancer table, a missed tumour costs as much as 20 false alarms:

    python -m benchmarks.cost_aware_inference --rows 100 --splits 10

Every model sees the same training rows; those of loss-EM also know the inputs of the test rows,
without their classes. Costs are those of the test rows, a row.
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from directgp import BinaryCost, GPClassifier

COST = BinaryCost(false_positive=1, false_negative=20, positive="malignant")


def _sparse(loss: Any, seed: int, **options: Any) -> GPClassifier:
    return GPClassifier(loss=loss, beta=1.0, random_state=seed, **options)


MODELS: dict[str, Callable[[int], GPClassifier]] = {
    "sparse, log loss": lambda seed: _sparse("log", seed),
    "sparse, trained for the cost": lambda seed: _sparse(COST, seed),
    "laplace": lambda seed: GPClassifier(inference="laplace", loss=COST, random_state=seed),
    "linearised-loss-em": lambda seed: GPClassifier(
        inference="linearised-loss-em", loss=COST, random_state=seed
    ),
    "loss-em": lambda seed: GPClassifier(inference="loss-em", loss=COST, random_state=seed),
    "ep": lambda seed: GPClassifier(inference="ep", loss=COST, random_state=seed),
    "loss-ep": lambda seed: GPClassifier(inference="loss-ep", loss=COST, random_state=seed),
}


def run(rows: int, splits: int, names: list[str]) -> dict[str, np.ndarray]:
    """Mean cost of a test row for each model and split."""
    data: Any = load_breast_cancer()
    labels = data.target_names[data.target]
    found: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(splits):
        X, X_test, y, y_test = train_test_split(
            data.data, labels, train_size=rows, random_state=seed, stratify=labels
        )
        for name in names:
            model = MODELS[name](seed)
            if name.endswith("loss-em"):
                model.fit(X, y, X_test=X_test)
                decision = model.decide(X_test, transductive=True)
            else:
                decision = model.fit(X, y).decide(X_test, COST)
            found[name].append(float(decision.realised(y_test).mean()))
    return {name: np.array(costs) for name, costs in found.items()}


def main() -> None:
    """Print a table: mean cost, its standard error, and the paired difference to the first."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    asked = parser.parse_args()
    costs = run(asked.rows, asked.splits, asked.models)
    first, root = costs[asked.models[0]], np.sqrt(asked.splits)
    print("| model | cost per row | less than the first |\n|---|---|---|")
    for name, own in costs.items():
        less = first - own
        print(
            f"| {name} | {own.mean():.3f} ± {own.std(ddof=1) / root:.3f} "
            f"| {less.mean():+.3f} ± {less.std(ddof=1) / root:.3f} |"
        )


if __name__ == "__main__":
    main()
