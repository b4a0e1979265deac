"""Realised test cost of ELBO, direct loss and cost-trained models; orders of a newsvendor.

    python -m experiments.decisions              # everything that is missing, then the page
    python -m experiments.decisions thyroid      # one dataset
    python -m experiments.decisions show         # the page of what is stored

Classes: thyroid (2.5 % positives; 5 folds) and airline2008 (5 random splits); a miss costs 5, 20 or
50 false alarms. All models act by the Bayes threshold. Counts: bike_count, ordering too few costs
4 times too many. `class_cost` and `order_cost` are the jobs: facts in, numbers out, nothing stored.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow.parquet as parquet

from benchmarks.quality import data_folder
from directgp import fit
from directgp.decisions import BinaryCost, NewsvendorCost, decide, fit_for_cost
from experiments.store import Store

SEEDS = range(5)
RATIOS = (5, 20, 50)
CLASSES = ("thyroid", "airline2008")
PLAIN = {"ELBO": ("elbo", 1.0), "DLM": ("direct-log", 1.0), "DLM, β = ⅓": ("direct-log", 1 / 3)}
"""Fits that know no cost: loss and β. The last has as much log loss for each KL as training for a
cost has (`LOG_WEIGHT` = 3), so that what the cost adds can be told from what a smaller β does."""
METHODS = (*PLAIN, "cost-trained")
ORDERS = {
    "Poisson": {"likelihood": "poisson"},
    "negative binomial": {"likelihood": "negative-binomial"},
    "DSPP, negative binomial": {
        "likelihood": "negative-binomial", "layers": 2, "width": 3, "num_sites": 4,
    },
}  # fmt: skip
UNDER, OVER = 4, 1
NOT_INPUTS = ("y", "arr_delay")
"""Whether a flight is late follows from its delay."""
TRAIN, HELD, TEST = 2000, 500, 10_000


@cache
def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and target."""
    table = parquet.read_table(data_folder() / f"{name}.parquet")
    columns = [column for column in table.column_names if column not in NOT_INPUTS]
    X = np.stack([table[column].to_numpy().astype(float) for column in columns], axis=1)
    return X, table["y"].to_numpy().astype(float)


def split(name: str, seed: int) -> tuple[np.ndarray, ...]:
    """Train, held-out and test rows: 5 folds of small data, random rows of large data."""
    X, y = read(name)
    if len(y) < 2 * TEST:
        order = np.random.default_rng(0).permutation(len(y))
        test = order[seed :: len(SEEDS)]
        rest = np.random.default_rng(seed).permutation(np.setdiff1d(order, test))
        held, train = rest[: len(rest) // 5], rest[len(rest) // 5 :][: 2 * TRAIN]
    else:
        order = np.random.default_rng(seed).permutation(len(y))
        train, held, test = np.split(order[: TRAIN + HELD + TEST], [TRAIN, TRAIN + HELD])
    return X[train], y[train], X[held], y[held], X[test], y[test]


@cache
def plain_fit(name: str, method: str, seed: int):
    """A classifier that knows no cost."""
    loss, beta = PLAIN[method]
    X, y, X_held, y_held, _, _ = split(name, seed)
    return fit(
        X,
        y,
        likelihood="bernoulli",
        mean="constant",
        loss=loss,
        beta=beta,
        num_inducing=50,
        validation=(X_held, y_held),
        batch_size=None,
        max_steps=300,
        seed=seed,
    )


def class_cost(name: str, method: str, ratio: int, seed: int) -> dict:
    """Realised and expected cost a test row, in false alarms; the share of rows acted on."""
    X, y, X_held, y_held, X_test, y_test = split(name, seed)
    cost = BinaryCost(false_positive=1, false_negative=ratio)
    began = time.process_time()
    if method in PLAIN:
        fitted = plain_fit(name, method, seed)
    else:
        start = plain_fit(name, "DLM", seed)
        fitted = fit_for_cost(X, y, cost, start=start, validation=(X_held, y_held), seed=seed)
    decision = decide(fitted.predict(X_test), cost)
    return {
        "cost": float(decision.realised(y_test).mean()),
        "expected": float(decision.expected_cost.mean()),
        "acted": float(np.mean(decision.action)),
        "never": ratio * float(y_test.mean()),
        "always": 1.0 - float(y_test.mean()),
        "cpu_seconds": time.process_time() - began,
    }


def order_cost(method: str, seed: int, train: int = 1000, test: int = 400) -> dict:
    """Realised and expected cost a row of ordering by the predictive, too few 4 × too many."""
    X, y, X_held, y_held, X_test, y_test = split("bike_count", seed)
    began = time.process_time()
    fitted = fit(
        X[:train],
        y[:train],
        mean="constant",
        beta=1.0,
        num_inducing=50,
        validation=(X_held[:HELD], y_held[:HELD]),
        batch_size=None,
        max_steps=200,
        seed=seed,
        **ORDERS[method],
    )
    decision = decide(fitted.predict(X_test[:test]), NewsvendorCost(UNDER, OVER))
    realised = decision.realised(y_test[:test])
    return {
        "cost": float(realised.mean()),
        "expected": float(decision.expected_cost.mean()),
        "short": float(np.mean(y_test[:test] > decision.action)),
        "always": float(
            NewsvendorCost(UNDER, OVER)
            .realised(y_test[:test], np.full(test, np.quantile(y[:train], UNDER / (UNDER + OVER))))
            .mean()
        ),
        "cpu_seconds": time.process_time() - began,
    }


def jobs() -> Iterator[tuple[str, dict]]:
    """Every run of the study: its key and its facts."""
    for seed in SEEDS:
        for name in CLASSES:
            for ratio in RATIOS:
                for method in METHODS:
                    facts = {"data": name, "method": method, "ratio": ratio, "seed": seed}
                    yield f"{name}/{method}/{ratio}/{seed}", facts
        for method in ORDERS:
            facts = {"data": "bike_count", "method": method, "ratio": UNDER, "seed": seed}
            yield f"bike_count/{method}/{seed}", facts


def result(facts: dict) -> dict:
    """The numbers of one job."""
    if facts["data"] in CLASSES:
        return class_cost(facts["data"], facts["method"], facts["ratio"], facts["seed"])
    return order_cost(facts["method"], facts["seed"])


def main(arguments: list[str]) -> None:
    """Run what is missing, then write the page."""
    from experiments.decisions_page import write

    store = Store("decisions")
    for key, facts in jobs() if "show" not in arguments else ():
        if key not in store and (not arguments or facts["data"] in arguments):
            store.add(key, facts | result(facts))
            print(key, store.rows[key]["cost"], flush=True)
    write(store)


if __name__ == "__main__":
    main(sys.argv[1:])
