"""Reading and writing the model files of the commands."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from directgp.cli.baselines import baselines, numeric_columns
from directgp.cli.describe_model import describe_calibration, describe_model
from directgp.cli.errors import UserError
from directgp.cli.hints import hints_of
from directgp.cli.read_rows import Rows, TrainingTable
from directgp.cli.training import Options
from directgp.cli.training_record import facts_of, read_remembered, remembered
from directgp.cli.unseen_rows import Unseen, rows_not_trained_on
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.fitting.ridge_baseline import RidgeBaseline
from directgp.fitting.stacking import Stack
from directgp.metrics import joint_score_table
from directgp.persistence import DamagedModelFile, save
from directgp.persistence.bounded_json import read_json
from directgp.persistence.errors import one_line
from directgp.persistence.inspection import KEY as INSPECTION
from directgp.persistence.inspection import Inspection
from directgp.persistence.table_model import (
    CALIBRATION,
    TablePredictor,
    read_calibration,
    read_table_model,
)
from directgp.predictive import Predictive
from directgp.report import Judged, Table, Targets, relevance, relevance_means
from directgp.report.effects import effects
from directgp.report.judged import LENGTH_SCALES
from directgp.report.permutation import PERMUTED, permutation_importance
from directgp.report.relevance import BY_COLUMN, OF_STACK, by_column
from directgp.tables import TargetEncoder
from directgp.version import __version__


@dataclass(frozen=True)
class TableModel(TablePredictor):
    """A predictor for tables, with a summary of its training rows, its options and hints."""

    training: tuple[Targets, ...]
    seen: np.ndarray
    """Fingerprints of the training rows; empty if they were not stored."""
    facts: dict[str, Any]
    summary: Mapping[str, Any] = field(default_factory=dict)
    linear: RidgeBaseline | None = None
    """A ridge regression of the training rows, for a single regression target."""

    @classmethod
    def of(cls, fitted: Fitted, training_table: TrainingTable, options: Options) -> "TableModel":
        """The model made by a fit.

        Args:
            fitted: the result of the fit.
            training_table: the rows it was trained on.
            options: the options it was trained with.
        """
        facts = facts_of(training_table, options) | {
            "source": training_table.source.name,
            "hints": hints_of(fitted, training_table, options),
        }
        known, training = remembered(training_table)
        targets, encoder = training_table.targets, training_table.encoder
        linear = None
        if [target.task for target in targets] == ["regression"]:
            rows = training_table.train
            linear = RidgeBaseline.fit(rows.X, rows.y, options.seed)
        return cls(fitted, encoder, targets, training, known, facts, linear=linear)

    @property
    def target(self) -> TargetEncoder:
        """The target of a model with one target; several are a `UserError`."""
        return self.targets[self._only()]

    def _only(self) -> int:
        if len(self.targets) != 1:
            raise UserError(
                f"this model predicts {len(self.targets)} columns ({self.name}); give one that "
                "predicts a single column"
            )
        return 0

    @property
    def name(self) -> str:
        """The names of the targets."""
        return ", ".join(target.name for target in self.targets)

    @property
    def classes(self) -> list[str] | None:
        """The labels of the classes; None for regression and counts."""
        return class_names(self.target)

    def save(self, path: Path) -> None:
        """Write everything to one file."""
        extras = {
            "encoder": self.encoder.to_json(),
            "target": [target.to_json() for target in self.targets],
            "training": [json.dumps(each) for each in self.training],
            "seen": self.seen,
            "facts": json.dumps(self.facts),
        }
        model = self.fitted.gp.model if isinstance(self.fitted, FittedGP) else None
        if model is None or getattr(model, "kernel", None) is not None:  # else slopes take long
            extras[INSPECTION] = json.dumps(self.inspection().to_dict())
        if self.linear is not None:
            extras["linear"] = self.linear.to_json()
        if self.calibration is not None:
            extras[CALIBRATION] = self.calibration.to_stored()
        save(
            self.fitted,
            path,
            extras=extras,
            features=dict.fromkeys(self.encoder.names, "number"),
        )

    @classmethod
    def load(cls, path: Path) -> "TableModel":
        """Read what `save` wrote."""
        loaded, fitted, encoder, targets = read_table_model(path)
        try:
            training, seen, facts = read_remembered(loaded.extras, targets)
            linear = None
            if "linear" in loaded.extras:
                linear = RidgeBaseline.of(read_json(loaded.extras["linear"]), len(encoder.names))
        except (ValueError, TypeError, LookupError) as error:
            raise DamagedModelFile(
                f"{path} is inconsistent ({one_line(error)}); fit the model again"
            ) from None
        calibration = read_calibration(loaded, path)
        known = (fitted, encoder, targets, training, seen, facts, loaded.summary, linear)
        return cls(*known, calibration=calibration)

    def inspection(self) -> Inspection:
        """What ``directgp inspect`` shows."""
        shares, meaning = self.relevance()
        return Inspection(
            targets=[target.name for target in self.targets],
            task=self.targets[0].task,
            classes=[class_names(target) or [] for target in self.targets],
            inputs=list(self.encoder.names),
            columns=[[note.column, note.text] for note in self.encoder.report],
            relevance=shares,
            relevance_means=meaning,
            beta=getattr(self.fitted, "beta", None),
            seconds=self.fitted.seconds,
            options=self.facts,
            described=self.described(),
            version=self.summary.get("directgp", __version__),
        )

    def unseen(self, rows: Rows, judged_by: str) -> Unseen:
        """The rows that the model was not trained on; see `rows_not_trained_on`.

        Args:
            rows: the candidates.
            judged_by: "scores", "costs" or "calibration", for messages.
        """
        return rows_not_trained_on(self.seen, rows, judged_by)

    def judged(self, rows: Rows, name: str) -> Judged:
        """Predictions of the only target for these rows, with their true values."""
        return self.judged_targets(rows, name, "")[self._only()][0]

    def judged_targets(
        self,
        rows: Rows,
        name: str,
        table_name: str,
        warning: str = "",
        advance: Callable[[], object] | None = None,
    ) -> list[tuple[Judged, Table]]:
        """For every target, the input of a report: predictions and rows where it is known.

        Args:
            rows: the rows.
            name: the name of the model.
            table_name: the name of the table.
            warning: shown at the top of the report.
            advance: called after every column whose permutation importance is computed.
        """
        predicted, found = self.predict(rows.X), []
        for number, (target, predictive) in enumerate(zip(self.targets, predicted, strict=True)):
            known = rows.with_output(number)
            if not len(known):
                raise UserError(f"target {target.name!r} is missing in all rows to evaluate")
            at = slice(None) if rows.y.ndim == 1 else np.isfinite(rows.y[:, number])
            own = self._judged(name, predictive[at], known, number, advance)
            if len(self.targets) == 1:
                plain = baselines(self.fitted, self.linear, known.X)
                columns = numeric_columns(self.encoder, own.relevance)
                drawn = effects(lambda X: self.predict(X)[0], known.X, columns)
                own = replace(own, baselines=plain, effects=drawn)
            found.append((own, self._table(known, number, table_name, warning)))
        return found

    def joint_scores(self, rows: Rows) -> dict[str, tuple[float, float]] | None:
        """Joint scores of all targets of a row; None for a single target."""
        if len(self.targets) == 1 or not isinstance(self.fitted, FittedGP):
            return None
        return joint_score_table(self.fitted.predict_joint(rows.X), rows.y)

    def _judged(
        self,
        name: str,
        predictive: Predictive,
        rows: Rows,
        number: int,
        advance: Callable[[], object] | None,
    ) -> Judged:
        fitted = self.fitted
        if not isinstance(fitted, FittedGP):
            sources = self.encoder.sources_of_inputs
            shares = permutation_importance(
                fitted.predict, rows.X, rows.y, sources, advance=advance
            )
            own = {"relevance": shares, "seconds": fitted.seconds, "relevance_means": PERMUTED}
            return Judged(name, predictive, rows.y, **own)
        return Judged(
            name,
            predictive,
            rows.y,
            fitted.history,
            fitted.beta,
            fitted.beta_curve,
            relevance(fitted.gp.model, self.encoder.names, fitted.model_inputs(rows.X, number)),
            fitted.seconds,
            relevance_means(fitted.gp.model),
        )

    def relevance(self) -> tuple[dict[str, float], str]:
        """The relevance of every column as a share, and a sentence that explains it."""
        fitted, names = self.fitted, self.encoder.names
        if isinstance(fitted, Stack):
            shares, meaning = fitted.relevance(names), OF_STACK
        elif not isinstance(fitted, FittedGP):
            shares, meaning = relevance(fitted, names), LENGTH_SCALES
        else:
            shares, meaning = relevance(fitted.gp.model, names), relevance_means(fitted.gp.model)
        sources = dict(zip(names, self.encoder.sources_of_inputs, strict=True))
        return by_column(shares, sources), f"{meaning} {BY_COLUMN}"

    def table(self, rows: Rows, name: str, warning: str = "") -> Table:
        """The rows as the report of a model with one target shows them.

        Args:
            rows: the rows.
            name: the name of the table.
            warning: shown at the top of the report.
        """
        return self._table(rows, self._only(), name, warning)

    def _table(self, rows: Rows, number: int, name: str, warning: str) -> Table:
        return Table(
            name,
            self.targets[number].name,
            class_names(self.targets[number]),
            rows.columns(self.encoder.sources),
            rows.names,
            training=self.training[number],
            warning=warning,
            hints=tuple(self.facts.get("hints", ())),
            facts=self.described(),
        )

    def described(self) -> dict[str, str]:
        """Description of the model and its training, by name."""
        facts = self.facts
        return {
            "trained on": f"{facts['rows']:,} rows of {facts['source']}",
            "inputs": f"{len(self.encoder.names)} numbers from {len(self.encoder.sources)} columns",
            "target": f"{self.name} ({self.targets[0].task})",
            **describe_model(self.fitted, facts),
            **describe_calibration(self.calibration),
            "seed": str(facts["seed"]),
        }


def class_names(target: TargetEncoder) -> list[str] | None:
    """The labels of the classes; None for regression and counts."""
    return [str(label) for label in target.labels] or None
