"""The file of ``directgp fit``: a fitted model with its table encoders and calibration."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from directgp.calibration import KINDS, Calibration
from directgp.errors import DirectGPError
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.persistence.bounded_json import read_json
from directgp.persistence.errors import DamagedModelFile, ModelFileError, one_line
from directgp.persistence.model_file import Loaded, load
from directgp.predictive import JointPredictive, Predictive
from directgp.tables import TableEncoder, TargetEncoder

CALIBRATION = "calibration"
"""Its key among the extras of a file."""


@dataclass(frozen=True)
class TablePredictor:
    """A fitted model that predicts tables.

    `encoder` turns columns into inputs, and `encode(table).notes` reports unusual values; `targets`
    has the name of every target, with its class labels.
    """

    fitted: Fitted
    encoder: TableEncoder
    targets: tuple[TargetEncoder, ...]
    calibration: Calibration | None = field(default=None, kw_only=True)
    """From ``directgp calibrate``: see its `bounds`, `classes` and `distribution`."""

    def predict(self, X: np.ndarray) -> tuple[Predictive, ...]:
        """The predictive distribution of every target, for encoded rows."""
        found = self.fitted.predict(X)
        return (found,) if isinstance(found, Predictive) else found

    def predict_joint(self, table: Any) -> JointPredictive:
        """All targets of each row of a table together; see `FittedGP.predict_joint`."""
        if not isinstance(self.fitted, FittedGP):
            raise DirectGPError("predict_joint is for several targets, and this model has one")
        return self.fitted.predict_joint(self.encoder.encode(table).X)

    def hyperparameters(self) -> dict[str, Any]:
        """Length-scales, variance and noise in the units of the table; see `FittedGP`."""
        return self.fitted.hyperparameters(self.encoder.names)

    def predict_table(self, table: Any) -> Predictive | tuple[Predictive, ...]:
        """The predictive distribution of each row; a tuple of them for several targets.

        `table` is a pandas, polars or Arrow table, a mapping of columns, or the path of a CSV or
        Parquet file, with the input columns of training in any order.
        """
        found = self.predict(self.encoder.encode(table).X)
        return found[0] if len(found) == 1 else found


def load_table_model(path: str | os.PathLike[str]) -> TablePredictor:
    """Read a model that ``directgp fit`` wrote, to predict tables from Python."""
    loaded, fitted, encoder, targets = read_table_model(path)
    calibration = read_calibration(loaded, path)
    return TablePredictor(fitted, encoder, targets, calibration=calibration)


def read_calibration(loaded: Loaded, path: str | os.PathLike[str]) -> Calibration | None:
    """The calibration in a model file, or None.

    Args:
        loaded: the content of the file.
        path: the file, for errors.
    """
    if CALIBRATION not in loaded.extras:
        return None
    try:
        found = Calibration.from_stored(loaded.extras[CALIBRATION])
        if found.kind != KINDS[loaded.fitted.likelihood.support] or loaded.fitted.num_outputs != 1:
            raise DirectGPError("its calibration does not belong to the model")
    except ValueError as error:
        raise DamagedModelFile(
            f"{path} is inconsistent ({one_line(error)}); calibrate the model again"
        ) from None
    return found


def read_table_model(
    path: str | os.PathLike[str],
) -> tuple[Loaded, Fitted, TableEncoder, tuple[TargetEncoder, ...]]:
    """The content of a file, and the fields of a `TablePredictor`."""
    if not Path(path).exists():
        raise ModelFileError(f"there is no file {path}; give a model written by directgp fit")
    loaded = load(Path(path))
    extras = loaded.extras
    if "encoder" not in extras or "target" not in extras:
        raise ModelFileError(
            f"{path} holds a model without its table (it was saved from Python); read it there, by "
            "directgp.load or the estimator's own load"
        )
    try:
        for text in (*several(extras["target"]), extras["encoder"]):
            read_json(text)  # refuses too large or nested JSON; `from_json` checks the rest
        targets = tuple(TargetEncoder.from_json(text) for text in several(extras["target"]))
        encoder = TableEncoder.from_json(extras["encoder"])
        _check_together(loaded, encoder, targets)
    except ValueError as error:
        raise DamagedModelFile(
            f"{path} is inconsistent ({one_line(error)}); fit the model again"
        ) from None
    return loaded, loaded.fitted, encoder, targets


def _check_together(
    loaded: Loaded, encoder: TableEncoder, targets: tuple[TargetEncoder, ...]
) -> None:
    """Raise an error for encoders that do not belong to the model."""
    if list(loaded.features) != list(encoder.names):
        raise DirectGPError("the columns of the table are not the inputs of the model")
    fitted = loaded.fitted
    outputs = fitted.num_outputs
    if len(targets) != outputs:
        raise DirectGPError(f"it names {len(targets)} targets, the model has {outputs}")
    likelihood = fitted.likelihood
    classes = 0 if likelihood.outcomes is None else len(likelihood.outcomes)
    for target in targets:
        if len(target.labels) != classes:
            raise DirectGPError(
                f"target {target.name[:40]!r} has {len(target.labels)} classes, the model {classes}"
            )


def several(stored: Any) -> list:
    """A list of texts; files of the first format have one text instead."""
    return stored if isinstance(stored, list) else [stored]
