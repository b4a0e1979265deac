"""Realised test cost of ELBO, direct loss and cost-trained models; orders of a newsvendor.

    python -m experiments.decisions              # everything that is missing
    python -m experiments.decisions thyroid      # one dataset
    python -m experiments.decisions show         # the tables of what is stored

Classes: thyroid (2.5 % positives) and airline2008, a miss costs 5, 20 or 50 false alarms, 5 splits.
All models act by the Bayes threshold. Counts: bike_count, ordering too few costs 4 times too many.
"""

from __future__ import annotations

import sys
from functools import cache

import numpy as np

from benchmarks.quality import read
from directgp import fit
from directgp.decisions import BinaryCost, NewsvendorCost, decide, fit_for_cost
from experiments.store import Store

SEEDS = range(5)
RATIOS = (5, 20, 50)
CLASSES = ("thyroid", "airline2008")
COUNTS = ("poisson", "negative-binomial")
TRAIN, TEST = 2000, 5000
PLAIN = {"ELBO": "elbo", "DLM": "direct-log"}


def split(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Train, validation (a quarter as many) and test rows."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))
    count = min(TRAIN, len(y) // 2)
    train, rest = order[:count], order[count:]
    valid, test = rest[: count // 4], rest[count // 4 :][:TEST]
    return X[train], y[train], X[valid], y[valid], X[test], y[test]


@cache
def plain_fit(name: str, method: str, seed: int, likelihood: str = "bernoulli"):
    """A fit that knows no cost."""
    X, y, X_valid, y_valid, _, _ = split(name, seed)
    return fit(
        X,
        y,
        likelihood=likelihood,
        mean="constant",
        loss=PLAIN[method],
        beta=1.0,
        num_inducing=50,
        validation=(X_valid, y_valid),
        batch_size=None,
        max_steps=300,
        seed=seed,
    )


def class_cost(name: str, method: str, ratio: int, seed: int) -> dict:
    """Realised cost a row, in false alarms."""
    X, y, X_valid, y_valid, X_test, y_test = split(name, seed)
    cost = BinaryCost(false_positive=1, false_negative=ratio)
    if method == "cost-trained":
        start = plain_fit(name, "DLM", seed)
        fitted = fit_for_cost(X, y, cost, start=start, validation=(X_valid, y_valid), steps=200)
    else:
        fitted = plain_fit(name, method, seed)
    decision = decide(fitted.predict(X_test), cost)
    realised = decision.realised(y_test)
    return {"cost": realised.mean(), "acted": float(np.mean(decision.action))}


def order_cost(likelihood: str, seed: int) -> dict:
    """Realised cost a row of ordering by the predictive, and what it was expected to be."""
    _, _, _, _, X_test, y_test = split("bike_count", seed)
    fitted = plain_fit("bike_count", "DLM", seed, likelihood)
    decision = decide(fitted.predict(X_test[:1000]), NewsvendorCost(under=4, over=1))
    realised = decision.realised(y_test[:1000])
    return {"cost": realised.mean(), "expected": decision.expected_cost.mean()}


def main(names: list[str]) -> None:
    """Run what is missing, then show."""
    store = Store("decisions")
    for seed in SEEDS if "show" not in names else ():
        for name in CLASSES:
            if names and name not in names:
                continue
            for ratio in RATIOS:
                for method in (*PLAIN, "cost-trained"):
                    key = f"{name}/{method}/{ratio}/{seed}"
                    if key not in store:
                        facts = {"data": name, "method": method, "ratio": ratio, "seed": seed}
                        store.add(key, facts | class_cost(name, method, ratio, seed))
        for likelihood in COUNTS if not names or "bike_count" in names else ():
            key = f"bike_count/{likelihood}/{seed}"
            if key not in store:
                facts = {"data": "bike_count", "method": likelihood, "ratio": 4, "seed": seed}
                store.add(key, facts | order_cost(likelihood, seed))
    show(store)


def show(store: Store) -> None:
    """Means and standard errors over splits."""
    groups = sorted({(r["data"], r["ratio"], r["method"]) for r in store.rows.values()})
    for data, ratio, method in groups:
        found = store.where(data=data, ratio=ratio, method=method)
        values = np.array([row["cost"] for row in found])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        print(
            f"{data:12} 1:{ratio:<3} {method:18} {values.mean():.4f} ± {error:.4f} ({len(values)})"
        )


if __name__ == "__main__":
    main(sys.argv[1:])
