"""Models on disk: what was fitted, together with how to read a table for it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from directgp.cli.errors import UserError
from directgp.cli.rows import Learnable, Rows, fingerprints
from directgp.cli.training import Options
from directgp.data import TableEncoder, TargetEncoder
from directgp.decisions.toml import in_words
from directgp.fitting import FittedGP
from directgp.persistence import load, save
from directgp.report import Judged, Table, Targets, relevance

_MOST_FINGERPRINTS = 2_000_000


@dataclass(frozen=True)
class TableModel:
    """A fitted model that reads tables."""

    fitted: FittedGP
    encoder: TableEncoder
    target: TargetEncoder
    training: Targets
    seen: np.ndarray
    facts: dict[str, Any]
    summary: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, fitted: FittedGP, learnable: Learnable, options: Options) -> "TableModel":
        """The model of a finished training."""
        train = learnable.train
        known = fingerprints(train) if len(train) <= _MOST_FINGERPRINTS else np.zeros(0, np.uint64)
        facts = options.facts() | {
            "likelihood": learnable.likelihood,
            "source": learnable.source.name,
            "rows": len(train),
            "rows_aside": 0 if learnable.aside is None else len(learnable.aside),
        }
        targets = Targets.of(train.y, len(learnable.target.labels))
        return cls(fitted, learnable.encoder, learnable.target, targets, known, facts)

    @property
    def classes(self) -> list[str] | None:
        """The user's names of the classes."""
        return [str(label) for label in self.target.labels] or None

    def save(self, path: Path) -> None:
        """Write everything to one file."""
        extras = {
            "encoder": self.encoder.to_json(),
            "target": self.target.to_json(),
            "training": json.dumps(self.training),
            "seen": self.seen,
            "facts": json.dumps(self.facts),
        }
        save(
            self.fitted,
            path,
            extras=extras,
            features=dict.fromkeys(self.encoder.names, "number"),
        )

    @classmethod
    def load(cls, path: Path) -> "TableModel":
        """Read what `save` wrote."""
        if not path.exists():
            raise UserError(f"there is no file {path}; give a model written by directgp fit")
        loaded = load(path)
        extras = loaded.extras
        if "encoder" not in extras or "target" not in extras:
            raise UserError(
                f"{path} holds a model without its table (it was saved from Python); use it there"
            )
        mean, variance, counts = json.loads(extras["training"])
        return cls(
            loaded.fitted,
            TableEncoder.from_json(extras["encoder"]),
            TargetEncoder.from_json(extras["target"]),
            Targets(mean, variance, tuple(counts)),
            np.asarray(extras["seen"]),
            json.loads(extras["facts"]),
            loaded.summary,
        )

    def judged(self, rows: Rows, name: str) -> Judged:
        """Predictions for these rows beside their truth."""
        fitted = self.fitted
        return Judged(
            name,
            fitted.predict(rows.X),
            rows.y,
            fitted.history,
            fitted.beta,
            fitted.beta_curve,
            relevance(fitted.gp.model, self.encoder.names),
            fitted.seconds,
        )

    def table(self, rows: Rows, name: str, warning: str = "") -> Table:
        """The rows as a report shows them."""
        return Table(
            name,
            self.target.name,
            self.classes,
            rows.columns(self.encoder.sources),
            training=self.training,
            warning=warning,
            facts=self.described(),
        )

    def described(self) -> dict[str, str]:
        """How the model was made, in words."""
        facts, fitted = self.facts, self.fitted
        size = fitted.gp.model.posteriors[0].mean.shape[-1]
        chosen = "chosen on held-out rows" if fitted.beta_curve else "given"
        return {
            "trained on": f"{facts['rows']:,} rows of {facts['source']}",
            "inputs": f"{len(self.encoder.names)} numbers from {len(self.encoder.sources)} columns",
            "target": f"{self.target.name} ({self.target.task})",
            "loss": in_words(facts["cost"]) if facts.get("cost") else facts["loss"],
            "β": f"{fitted.beta:.4g}, {chosen}",
            "likelihood": facts["likelihood"],
            "kernel": facts["kernel"],
            "inducing points": f"{size:,}",
            "training": f"{fitted.seconds:.1f} s, {fitted.reason}",
            "seed": str(facts["seed"]),
        }
