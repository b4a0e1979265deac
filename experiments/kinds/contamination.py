"""Robustness: outliers in the training rows, evaluation on clean rows."""

from pathlib import Path

import numpy as np

from experiments.datasets import Rows, rows_of
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.kinds.fit import about, scored, scores_of
from experiments.method import train

_OWN = ("contamination", "outlier", "outlier_spread", "observations")
_GRID = np.linspace(-5.0, 15.0, 201)


def contaminated(y: np.ndarray, record: Record) -> np.ndarray:
    """Targets of which a share is moved by `outlier` standard deviations, up or down at random."""
    rng = np.random.default_rng([record["seed"], 77])
    count = round(record["contamination"] * len(y))
    chosen = rng.permutation(len(y))[:count]
    moved = y.copy()
    size = record["outlier"] + record["outlier_spread"] * rng.standard_normal(count)
    moved[chosen] += y.std() * size * rng.choice([-1.0, 1.0], count)
    return moved


@kinds.register("fit-contaminated")
def fit_contaminated(record: Record, folder: Path) -> Outcome:
    """Train (and validate) on rows with a share of outliers, and score clean test rows.

    Scores are in units of the clean training targets.
    """
    clean = rows_of(record, folder)
    rows = clean._replace(y=contaminated(clean.y, record))
    if len(clean.y_valid):
        rows = rows._replace(y_valid=contaminated(clean.y_valid, record))
    return scored(train(_method(record), rows), rows)


@kinds.register("contaminated-normal")
def contaminated_normal(record: Record, _folder: Path) -> Outcome:
    """`gvi` Fig. 1, left: N(0, 1) observations, a share of them around `outlier` instead.

    The model is a normal with unknown mean and variance: a GP with one inducing point and inputs
    that are all alike. The curve is its predictive density; `nll` is that of clean values.
    """
    rng = np.random.default_rng(record["seed"])
    y = rng.standard_normal(record["observations"])
    count = round(record["contamination"] * len(y))
    y[:count] = record["outlier"] + record["outlier_spread"] * rng.standard_normal(count)
    X, clean = np.zeros((len(y), 1)), rng.standard_normal(2000)
    rows = Rows(X, y, X[:0], y[:0], np.zeros((len(clean), 1)), clean)
    fitted = train(_method(record), rows)
    predictive = fitted.predict(np.zeros((len(_GRID), 1)))
    density = np.exp(predictive.log_prob(_GRID))
    scores = scores_of(fitted.predict(rows.X_test), clean) | about(fitted)
    scores |= {"mean": float(predictive.mean[0]), "std": float(predictive.variance[0] ** 0.5)}
    curve = {"y": _GRID.tolist(), "density": [float(f"{value:.5g}") for value in density]}
    return Outcome(scores | {"off_centre": abs(scores["mean"])}, curve)


def _method(record: Record) -> Record:
    return {name: value for name, value in record.items() if name not in _OWN}
