"""Test loss during training, for different gradient estimators."""

from pathlib import Path

from experiments.datasets import rows_of
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.kinds.fit import about
from experiments.method import train


@kinds.register("learning-curve")
def learning_curve(record: Record, folder: Path) -> Outcome:
    """Train at a given β; the test NLL (standardised units) after every chunk of steps.

    The test rows do not affect training. `nll` is the last value of the curve.
    """
    rows = rows_of(record, folder)
    fitted = train(record, rows, validation=(rows.X_test, rows.y_test))
    history = fitted.history
    batch = record.get("batch", 1000)
    per_epoch = 1 if batch == "full" else max(1, len(rows.y) // batch)
    curve = {
        "step": history["step"],
        "epoch": [step / per_epoch for step in history["step"]],
        "nll": history["validation"],
    }
    scores = {"nll": curve["nll"][-1], "best_nll": min(curve["nll"])}
    return Outcome(scores | about(fitted), curve)
