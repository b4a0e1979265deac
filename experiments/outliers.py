"""Gross outliers in the training targets: does the model of clean data survive them?

    python -m experiments.outliers            # every dataset, method and seed, then the picture

5 % of the training targets of power and concrete are moved by ten standard deviations, up or down.
Test rows stay clean, so a method that bears outliers scores as the ELBO does without any. Scores
are in units of the clean training targets. `scores(dataset, method, seed)` is one run.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.quality import split
from directgp import Direct, GammaLoss, Gibbs, LogLoss, fit, metrics
from directgp.plots import COLOURS
from experiments.store import Store

DATASETS = ("power", "concrete")
SEEDS = range(3)
SHARE, SIZE = 0.05, 10.0
CLEAN = "ELBO, no outliers"
METHODS = {
    CLEAN: Gibbs(LogLoss()),
    "ELBO": Gibbs(LogLoss()),
    "γ, Gibbs": Gibbs(GammaLoss(1.1)),
    "γ, direct": Direct(GammaLoss(1.1)),
}
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "outliers.png"
_COLOURS = ("black", "vermilion", "sky", "blue")


def contaminated(y: np.ndarray, seed: int) -> np.ndarray:
    """Targets (standardised) of which a twentieth is moved by ten standard deviations."""
    rng = np.random.default_rng([seed, 20])
    moved = rng.choice(len(y), round(SHARE * len(y)), replace=False)
    spoilt = y.copy()
    spoilt[moved] += SIZE * rng.choice([-1.0, 1.0], len(moved))
    return spoilt


def scores(dataset: str, method: str, seed: int) -> dict[str, float]:
    """Test NLL, RMSE and CRPS on clean rows of one model trained on spoilt ones."""
    X, y, _, _, X_test, y_test = split(dataset, seed)
    targets = y if method == CLEAN else contaminated(y, seed)
    fitted = fit(
        X, targets, loss=METHODS[method], beta=1.0, num_inducing=100, max_steps=600, seed=seed
    )
    found = metrics.score_table(fitted.predict(X_test), y_test)
    return {name: float(found[name]) for name in ("nll", "rmse", "crps")}


def run(store: Store) -> None:
    """All runs that are not in the store yet."""
    for seed in SEEDS:
        for dataset in DATASETS:
            for method in METHODS:
                key = f"{dataset}/{method}/{seed}"
                if key not in store:
                    row = {"dataset": dataset, "method": method, "seed": seed}
                    store.add(key, row | scores(dataset, method, seed))
                    print(store.rows[key], flush=True)


def table(store: Store) -> str:
    """Mean over seeds, as a markdown table."""
    lines = ["| method | " + " | ".join(f"{d} NLL | {d} RMSE" for d in DATASETS) + " |"]
    lines.append("|---|" + "---|" * (2 * len(DATASETS)))
    for method in METHODS:
        cells = [
            f"{np.mean([row[name] for row in store.where(dataset=dataset, method=method)]):.3f}"
            for dataset in DATASETS
            for name in ("nll", "rmse")
        ]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(store: Store) -> None:
    """Every run as a dot: NLL and RMSE on clean test rows, beside the fit without outliers."""
    figure = Figure(figsize=(9.5, 5.6), layout="constrained")
    for line, dataset in zip(figure.subplots(2, 2, sharey=True), DATASETS, strict=True):
        for axes, name in zip(line, ("nll", "rmse"), strict=True):
            for place, (method, colour) in enumerate(zip(METHODS, _COLOURS, strict=True)):
                values = [row[name] for row in store.where(dataset=dataset, method=method)]
                axes.plot(values, [-place] * len(values), "o", color=COLOURS[colour], alpha=0.8)
                if method == CLEAN:
                    axes.axvline(np.mean(values), color="#888888", linestyle="--", linewidth=0.9)
            axes.set_yticks([-place for place in range(len(METHODS))], list(METHODS))
            axes.set(title=f"{dataset}: test {name.upper()} on clean rows")
            axes.grid(axis="x", alpha=0.3)
    figure.suptitle("Trained with 5 % gross outliers (dashes: the ELBO without them)")
    figure.savefig(PICTURE, dpi=80)


if __name__ == "__main__":
    runs = Store("outliers")
    run(runs)
    print(table(runs))
    draw(runs)
