"""`dlm` Fig. 1(d, e) and supplement: classes and counts, ELBO against direct loss, error bars.

    python -m experiments.nonconjugate            # every dataset, size, method and repetition
    python -m experiments.nonconjugate ringnorm   # one dataset

Protocol of the supplement: 10 % of all rows for validation, the training size from the rest, up to
1000 test rows, isotropic RBF, M from its Table 1, constant mean for classes and zero for counts,
5 repetitions. Direct loss by its closed form (probit) or quadrature (Poisson).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from benchmarks.quality import read
from directgp import RBF, fit, metrics
from directgp.training.initialise import typical_distance
from experiments.store import Store

SEEDS = range(5)
SIZES = (200, 500, 2000)


@dataclass(frozen=True)
class Dataset:
    """One dataset of the study."""

    name: str
    likelihood: str
    mean: str
    num_inducing: int


DATASETS = (
    Dataset("banana", "bernoulli", "constant", 53),
    Dataset("thyroid", "bernoulli", "constant", 37),
    Dataset("twonorm", "bernoulli", "constant", 74),
    Dataset("ringnorm", "bernoulli", "constant", 74),
    Dataset("abalone", "poisson", "zero", 41),
    Dataset("bike_count", "poisson", "zero", 100),
)
METHODS = {
    "ELBO": {"loss": "elbo", "beta": 1.0},
    "β-ELBO": {"loss": "elbo", "beta": "auto"},
    "DLM joint": {"loss": "direct-log", "beta": "auto"},
    "DLM fixed": {"loss": "direct-log", "beta": "auto", "hyperparameters": "from-elbo"},
}


def split(name: str, size: int, seed: int) -> tuple[np.ndarray, ...]:
    """Train, validation and test rows as the supplement says (section 4)."""
    X, y = read(name)
    order = np.random.default_rng(seed).permutation(len(y))
    held = len(y) // 10
    valid, rest = order[:held], order[held:]
    train, test = rest[:size], rest[size : size + 1000]
    return X[train], y[train], X[valid], y[valid], X[test], y[test]


def run_one(dataset: Dataset, size: int, method: str, seed: int) -> dict:
    """One fit and its test scores."""
    X, y, X_valid, y_valid, X_test, y_test = split(dataset.name, size, seed)
    spread = X.std(axis=0)
    scaled = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    fitted = fit(
        X,
        y,
        likelihood=dataset.likelihood,
        mean=dataset.mean,
        seed=seed,
        kernel=RBF(1.0, typical_distance(scaled, seed)),
        num_inducing=dataset.num_inducing,
        validation=(X_valid, y_valid),
        batch_size=None,
        max_steps=1500,
        precision="float64",
        **METHODS[method],
    )
    predictive = fitted.predict(X_test)
    row = {"nll": metrics.nll(predictive, y_test), "β": fitted.beta, "seconds": fitted.seconds}
    if dataset.likelihood == "bernoulli":
        row["error"] = metrics.error_rate(predictive, y_test)
    else:
        row["mre"] = metrics.mean_relative_error(predictive, y_test)
    return row


def main(names: list[str]) -> None:
    """Run what is missing."""
    store = Store("nonconjugate")
    for size in reversed(SIZES):
        for dataset in DATASETS:
            if names and dataset.name not in names:
                continue
            for method in METHODS:
                for seed in SEEDS:
                    key = f"{dataset.name}/{size}/{method}/{seed}"
                    if key not in store:
                        facts = {"data": dataset.name, "size": size, "method": method, "seed": seed}
                        store.add(key, facts | run_one(dataset, size, method, seed))
                rows = store.where(data=dataset.name, size=size, method=method)
                values = np.array([row["nll"] for row in rows])
                error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
                print(
                    f"{dataset.name} n={size} {method}: NLL {values.mean():.4f} ± {error:.4f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
