"""Reading and writing the model files of the commands."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

from directgp.cli.baselines import baselines, numeric_columns
from directgp.cli.errors import UserError
from directgp.cli.hints import hints_of
from directgp.cli.model_words import calibration_in_words, model_in_words
from directgp.cli.read_rows import Learnable, Rows, fingerprints
from directgp.cli.training import Options
from directgp.cli.unseen import Unseen, rows_not_trained_on
from directgp.errors import DirectGPError
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.fitting.ridge_baseline import RidgeBaseline
from directgp.fitting.stacking import Stack
from directgp.metrics import joint_score_table
from directgp.persistence import DamagedModelFile, save
from directgp.persistence.bounded_json import read_json
from directgp.persistence.errors import one_line
from directgp.persistence.field_types import conforms
from directgp.persistence.inspection import KEY as INSPECTION
from directgp.persistence.inspection import Inspection
from directgp.persistence.table_model import (
    CALIBRATION,
    TablePredictor,
    read_calibration,
    read_table_model,
    several,
)
from directgp.predictive import Predictive
from directgp.report import Judged, Table, Targets, relevance, relevance_means
from directgp.report.effects import effects
from directgp.report.judged import LENGTH_SCALES
from directgp.report.permutation import PERMUTED, permutation_importance
from directgp.report.relevance import BY_COLUMN, OF_STACK, by_column
from directgp.tables import TargetEncoder
from directgp.version import __version__

_MOST_FINGERPRINTS = 2_000_000


@dataclass(frozen=True)
class TableModel(TablePredictor):
    """A predictor for tables with a record of its training: rows, options, hints."""

    training: tuple[Targets, ...]
    seen: np.ndarray
    """Fingerprints of the training rows; none if the model does not know them."""
    facts: dict[str, Any]
    summary: Mapping[str, Any] = field(default_factory=dict)
    linear: RidgeBaseline | None = None
    """A ridge regression of the training rows, where there is one target of numbers."""

    @classmethod
    def of(cls, fitted: Fitted, learnable: Learnable, options: Options) -> "TableModel":
        """The model of a finished training."""
        facts = facts_of(learnable, options) | {
            "source": learnable.source.name,
            "hints": hints_of(fitted, learnable, options),
        }
        known, training = remembered(learnable)
        linear = None
        if [target.task for target in learnable.targets] == ["regression"]:
            linear = RidgeBaseline.fit(learnable.train.X, learnable.train.y, options.seed)
        targets, encoder = learnable.targets, learnable.encoder
        return cls(fitted, encoder, targets, training, known, facts, linear=linear)

    @property
    def target(self) -> TargetEncoder:
        """The target of a model that has one; several are a `UserError`."""
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
        """What is predicted."""
        return ", ".join(target.name for target in self.targets)

    @property
    def classes(self) -> list[str] | None:
        """The user's names of the classes."""
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
        if model is None or getattr(model, "kernel", None) is not None:  # else slopes take a while
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
            training, seen, facts = _remembered(loaded.extras, targets)
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
        """The rows that the model was not trained on; see `rows_not_trained_on`."""
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
        """Every target: predictions for the rows where it is known, and those rows.

        `advance` is called after each of the user's columns, where their relevance takes a while.
        """
        predicted, found = self.predict(rows.X), []
        for number, (target, predictive) in enumerate(zip(self.targets, predicted, strict=True)):
            known = rows.with_output(number)
            if not len(known):
                raise UserError(f"target {target.name!r} is missing in all rows to be judged")
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
        """The scores of all targets of a row together, where there are several."""
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
            seconds = fitted.seconds
            return Judged(
                name,
                predictive,
                rows.y,
                relevance=shares,
                seconds=seconds,
                relevance_means=PERMUTED,
            )
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
        """The share of every column as the model itself tells it, and what that means."""
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
        """The rows as a report of the only target shows them."""
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
        """How the model was made, in words."""
        facts = self.facts
        return {
            "trained on": f"{facts['rows']:,} rows of {facts['source']}",
            "inputs": f"{len(self.encoder.names)} numbers from {len(self.encoder.sources)} columns",
            "target": f"{self.name} ({self.targets[0].task})",
            **model_in_words(self.fitted, facts),
            **calibration_in_words(self.calibration),
            "seed": str(facts["seed"]),
        }


def facts_of(learnable: Learnable, options: Options) -> dict[str, Any]:
    """The part of a model's record that is known before it is trained."""
    return options.facts() | {
        "likelihood": learnable.likelihood,
        "holdout": learnable.holdout,
        "rows": len(learnable.train),
        "rows_aside": 0 if learnable.aside is None else len(learnable.aside),
    }


def remembered(learnable: Learnable) -> tuple[np.ndarray, tuple[Targets, ...]]:
    """What a model keeps of its training rows: fingerprints, unless there are too many of them,
    and a summary of each target."""
    train = learnable.train
    few = len(train) <= _MOST_FINGERPRINTS
    # As these rows will be coded when they are met again, not cross-fitted as for training.
    again = replace(train, X=learnable.encoder.encode(train.table).X) if few else train
    known = fingerprints(again) if few else np.zeros(0, np.uint64)
    return known, tuple(
        Targets.of(train.with_output(number).y, len(target.labels))
        for number, target in enumerate(learnable.targets)
    )


def class_names(target: TargetEncoder) -> list[str] | None:
    """The user's names of the classes; None for numbers and counts."""
    return [str(label) for label in target.labels] or None


def _remembered(
    extras: Mapping[str, Any], targets: Sequence[TargetEncoder]
) -> tuple[tuple[Targets, ...], np.ndarray, dict[str, Any]]:
    """What a model file knows of its training: the targets, the rows, the options.

    A file may hold anything, so everything is compared with what `save` writes.
    """
    training = tuple(_training(text) for text in several(extras["training"]))
    if len(training) != len(targets) or any(
        len(own.counts) != len(target.labels)
        for own, target in zip(training, targets, strict=False)
    ):
        raise DirectGPError("the training targets are not those of the model")
    seen, facts = extras["seen"], read_json(extras["facts"])
    if not isinstance(seen, np.ndarray) or seen.ndim != 1 or seen.dtype != np.uint64:
        raise DirectGPError("the fingerprints of the training rows are none")
    if not isinstance(facts, dict):
        raise DirectGPError("the options have no names")
    for name, hint in (get_type_hints(Options) | _OTHER_FACTS).items():
        if name in _OTHER_FACTS and name not in facts and name != "streamed":
            raise DirectGPError(f"nothing is said of {name}")
        if name in facts and not conforms(facts[name], hint | None if name == "loss" else hint):
            raise DirectGPError(f"{name} has a value of another type")
    return training, seen, facts


_OTHER_FACTS = {
    "likelihood": str,
    "kernel": str,
    "seed": int,
    "rows": int,
    "source": str,
    "hints": list[str],
    "streamed": bool,
}
"""What is known of every model besides its options."""


def _training(text: str) -> Targets:
    mean, variance, counts = read_json(text)
    if not conforms((mean, variance, counts), tuple[float, float, list[int]]):
        raise DirectGPError("the training targets are no numbers")
    return Targets(mean, variance, tuple(counts))
