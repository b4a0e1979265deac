"""From a model, a table and a cost file to actions; and to what they cost where y is known."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from directgp.cli.console import Voice, table
from directgp.cli.errors import UserError
from directgp.cli.models import TableModel
from directgp.cli.rows import Rows, unseen
from directgp.data import TargetEncoder, read_table
from directgp.data.cells import Where, numbers
from directgp.data.messages import did_you_mean
from directgp.data.target import known_target
from directgp.decisions import Cost, Decision, cost_from, decide
from directgp.decisions.policies import Policy, compare_policies
from directgp.decisions.toml import read_settings
from directgp.predictive import Predictive
from directgp.report.decision import Decided, saving
from directgp.report.judged import Table, baseline
from directgp.report.numbers import with_error


class PricedColumns(Mapping[str, np.ndarray]):
    """The columns of a table as the numbers a cost asks for; remembers which were asked."""

    def __init__(self, rows: pa.Table):
        self._rows = rows
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        self.asked.add(name)
        return numbers(self._rows[name], Where(name))

    def __contains__(self, name: object) -> bool:
        return name in self._rows.column_names

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.column_names)

    def __len__(self) -> int:
        return self._rows.num_columns


def cost_settings(path: Path | None, facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the file says, or the cost that the model was trained for."""
    if path is not None:
        return read_settings(path)
    if "cost" not in facts:
        raise UserError("this model was not trained for a cost; say what mistakes cost by --cost")
    return facts["cost"]


def labelled_cost(
    settings: Mapping[str, Any], target: TargetEncoder, columns: Mapping[str, Any] | None
) -> Cost:
    """The cost, for the classes of a model if it has any."""
    cost = cost_from(settings, columns)
    return cost.for_labels(target.labels) if target.labels else cost


class Judgement(NamedTuple):
    """What the actions cost on rows whose target is known and that were not trained on."""

    rows: Rows
    decision: Decision
    policies: list[Policy]
    realised: np.ndarray
    """Of every row of the table; NaN where the target is not known."""

    warning: str
    source: str


@dataclass(frozen=True)
class Task:
    """Everything that was decided, and what is known of how it went."""

    model: Path
    loaded: TableModel
    rows: pa.Table
    source: str
    keep: Sequence[str]
    cost: str
    decision: Decision
    judgement: Judgement | None

    @classmethod
    def read(
        cls, model: Path, data: Path, cost: Path | None, keep: Sequence[str], voice: Voice
    ) -> "Task":
        """Read, decide, and judge the rows whose target is known."""
        loaded = TableModel.load(model)
        settings = cost_settings(cost, loaded.facts)
        rows = read_table(data)
        for name in keep:
            if name not in rows.column_names:
                raise UserError(
                    f"there is no column {name!r} to keep; {did_you_mean(name, rows.column_names)}"
                )
        columns = PricedColumns(rows)
        priced = labelled_cost(settings, loaded.target, columns)
        encoded = loaded.encoder.encode(rows)
        for note in encoded.notes:
            if note.column not in columns.asked:
                voice.say(f"Column {note}.")
        decision = decide(loaded.fitted.predict(encoded.X), priced)
        name, judgement = loaded.target.name, None
        if name in rows.column_names and known_target(rows, name).any():
            everything = Rows(rows, encoded.X, np.full(rows.num_rows, np.nan))
            judgement = judge(loaded, everything, settings, decision.predictive, data.name, voice)
        words = described(settings)
        return cls(model, loaded, rows, data.name, keep, words, decision, judgement)

    @property
    def decided(self) -> Decided:
        """For the report."""
        if self.judgement is None:
            return Decided(self.model.stem, self.decision, self.cost)
        known, decision, policies, *_ = self.judgement
        return Decided(self.model.stem, self.decision, self.cost, decision, known.y, policies)

    @property
    def shown(self) -> Table:
        """The rows as the report shows them."""
        if self.judgement is None:
            return self.loaded.table(Rows(self.rows, np.empty((0, 0)), np.empty(0)), self.source)
        judged = self.judgement
        return self.loaded.table(judged.rows, judged.source, judged.warning)

    def columns(self) -> dict[str, Any]:
        """The table that is written: one row for each row of DATA, in its order."""
        columns = decision_columns(self.decision)
        if self.judgement is not None:
            columns["realised_cost"] = self.judgement.realised
        clash = sorted(set(columns) & set(self.keep))
        if clash:
            raise UserError(f"column {clash[0]!r} is also a column of the output; rename it")
        return {name: self.rows[name].to_pylist() for name in self.keep} | columns

    def told(self) -> tuple[dict[str, Any], list[Any]]:
        """Facts for machines; a table and a sentence for people."""
        found, judged = saving(self.decided), self.judgement
        facts: dict[str, Any] = {
            "model": self.model,
            "target": self.loaded.target.name,
            "rows": self.rows.num_rows,
            "expected_cost": float(self.decision.expected_cost.mean()),
        }
        sentence = f"{found.short[:1].upper()}{found.short[1:]}. {found.sentence}"
        if judged is None:
            return facts, [sentence]
        facts["realised"] = {
            "rows": len(judged.rows),
            "seen_in_training": bool(judged.warning),
            "policies": [
                {
                    "name": policy.name,
                    "cost": policy.mean,
                    "error": policy.error,
                    "more": policy.more,
                    "more_error": policy.more_error,
                }
                for policy in judged.policies
            ],
        }
        lines = [
            (p.name, with_error(p.mean, p.error), with_error(p.more, p.more_error) if k else "")
            for k, p in enumerate(judged.policies)
        ]
        title = f"{self.model.stem}: cost a row on {len(judged.rows):,} rows (± one standard error)"
        return facts, [table(title, ("policy", "cost", "more than the model's"), lines), sentence]


def judge(
    loaded: TableModel,
    rows: Rows,
    settings: Mapping[str, Any],
    predictive: Predictive,
    source: str,
    voice: Voice,
) -> Judgement:
    """What the actions cost where the target is known, at least in some rows."""
    chosen = np.flatnonzero(known_target(rows.table, loaded.target.name))
    some = rows.take(np.isin(np.arange(len(rows)), chosen))
    truth = replace(some, y=loaded.target.encode(some.table[loaded.target.name]))

    def decided(which: np.ndarray) -> tuple[Rows, Decision]:
        taken = truth.take(which)
        cost = labelled_cost(settings, loaded.target, PricedColumns(taken.table))
        return taken, decide(predictive[chosen[which]], cost)

    realised = np.full(len(rows), np.nan)
    realised[chosen] = decided(np.ones(len(truth), bool))[1].realised(truth.y)
    fresh, warning = unseen(truth, loaded.seen), ""
    if loaded.facts.get("streamed"):
        warning = "this model was streamed and does not know which rows it was trained on; if "
        warning += "these are among them, the costs flatter it"
    elif not fresh.any():
        warning = "all these rows were trained on, so the costs flatter the model"
        fresh = np.ones(len(truth), bool)
    elif not fresh.all():
        voice.say(
            f"{len(truth) - fresh.sum():,} of {len(truth):,} rows were trained on; what actions "
            f"cost is judged on the other {fresh.sum():,}."
        )
        source = f"{source}, rows it was not trained on"
    if warning:
        voice.warn(warning)
    judged, decision = decided(fresh)
    policies = compare_policies(decision, judged.y, baseline(decision.predictive, loaded.training))
    return Judgement(judged, decision, policies, realised, warning, source)


def decision_columns(decision: Decision) -> dict[str, Any]:
    """The action of every row, what it is expected to cost, the second best and its cost."""
    columns: dict[str, Any] = {"action": decision.named}
    if decision.action.ndim == 2:
        columns = {"lower": decision.action[:, 0], "upper": decision.action[:, 1]}
    columns["expected_cost"] = decision.expected_cost
    if decision.second_best is not None:
        columns["second_best"] = decision.cost.called(decision.second_best)
        columns["second_best_cost"] = decision.second_best_cost
    return columns


def described(settings: Mapping[str, Any]) -> str:
    """A cost in a line.

    >>> described({"kind": "newsvendor", "under": 4, "over": {"column": "price"}})
    'newsvendor, under 4, over from the column price'
    """
    parts = [str(settings.get("kind"))]
    for name, value in settings.items():
        if name == "kind":
            continue
        if isinstance(value, Mapping) and isinstance(value.get("column"), str):
            times = f", times {value['times']:g}" if "times" in value else ""
            parts.append(f"{name} from the column {value['column']}{times}")
        elif isinstance(value, Mapping) and "kind" in value:
            parts.append(f"{name} ({described(value)})")
        else:
            parts.append(f"{name} {value}")
    return ", ".join(parts)
