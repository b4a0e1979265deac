"""A method trained on one split and scored on its test rows."""

from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from directgp import metrics
from directgp.predictive import Predictive
from experiments.datasets import Rows, rows_of
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.method import train

_POINTS = 12


@kinds.register("fit")
def fit_and_score(record: Record, folder: Path) -> Outcome:
    """Train on the split's training rows, choose β on its validation rows, score its test rows."""
    rows = rows_of(record, folder)
    fitted = train(record, rows)
    return scored(fitted, rows)


def scored(fitted: Any, rows: Rows) -> Outcome:
    """Test scores, facts about the fit, and its learning curve.

    Args:
        fitted: the trained model.
        rows: the split.
    """
    scores = scores_of(fitted.predict(rows.X_test), rows.y_test)
    return Outcome(scores | components(fitted, rows.X_test) | about(fitted), course(fitted))


def components(fitted: Any, X: np.ndarray) -> dict[str, float]:
    """Mean effective number of mixture components over rows; empty for a single Gaussian."""
    if fitted.gp.model.components == 1:
        return {}
    return {"components": float(np.mean(fitted.effective_components(X)))}


def course(fitted: Any) -> dict[str, list]:
    """The learning curve at `_POINTS` steps, rounded to save space in the store."""
    history = {name: values for name, values in fitted.history.items() if len(values)}
    count = max((len(values) for values in history.values()), default=0)
    chosen = np.unique(np.linspace(0, count - 1, min(count, _POINTS)).astype(int))
    return {
        name: [float(f"{values[k]:.5g}") for k in chosen]
        for name, values in history.items()
        if len(values) == count
    }


@singledispatch
def scores_of(predictive: Predictive, y: np.ndarray) -> dict[str, float]:
    """All scores of predictions (see `metrics.score_table`).

    Args:
        predictive: the predictions.
        y: the observed targets.
    """
    return metrics.score_table(predictive, y)


@scores_of.register(tuple)
def _(predictives: Sequence[Predictive], y: np.ndarray) -> dict[str, float]:
    """Several outputs: the mean over outputs."""
    tables = [metrics.score_table(p, column) for p, column in zip(predictives, y.T, strict=True)]
    return {name: float(np.mean([table[name] for table in tables])) for name in tables[0]}


def about(fitted: Any) -> dict[str, Any]:
    """Facts about a fit besides its scores."""
    return {"beta": fitted.beta, "fit_seconds": fitted.seconds, "ended": fitted.reason}
