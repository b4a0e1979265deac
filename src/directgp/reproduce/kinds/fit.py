"""A method trained on one split and scored on its test rows."""

from collections.abc import Sequence
from functools import singledispatch
from pathlib import Path
from typing import Any

import numpy as np

from directgp import metrics
from directgp.predictive import Predictive
from directgp.reproduce.datasets import rows_of
from directgp.reproduce.execute import Outcome
from directgp.reproduce.job import Record
from directgp.reproduce.kinds import kinds
from directgp.reproduce.method import train


@kinds.register("fit")
def fit_and_score(record: Record, folder: Path) -> Outcome:
    """Train on the split's training rows, choose β on its validation rows, score its test rows."""
    rows = rows_of(record, folder)
    fitted = train(record, rows)
    return Outcome(scores_of(fitted.predict(rows.X_test), rows.y_test) | about(fitted))


@singledispatch
def scores_of(predictive: Predictive, y: np.ndarray) -> dict[str, float]:
    """Every score there is for what is predicted (see `metrics.score_table`)."""
    return metrics.score_table(predictive, y)


@scores_of.register(tuple)
def _(predictives: Sequence[Predictive], y: np.ndarray) -> dict[str, float]:
    """Several outputs: the mean over outputs."""
    tables = [metrics.score_table(p, column) for p, column in zip(predictives, y.T, strict=True)]
    return {name: float(np.mean([table[name] for table in tables])) for name in tables[0]}


def about(fitted: Any) -> dict[str, Any]:
    """What is worth keeping of a fit besides its scores."""
    fitted = getattr(fitted, "fitted", fitted)
    return {"beta": fitted.beta, "fit_seconds": fitted.seconds, "ended": fitted.reason}
