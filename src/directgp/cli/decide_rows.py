"""The work of ``directgp decide``: actions for the rows of a table, and their realised costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from directgp.cli.calibrated_columns import calibrated
from directgp.cli.console import Voice, table
from directgp.cli.cost_columns import PricedColumns, labelled_cost
from directgp.cli.errors import UserError
from directgp.cli.models import TableModel
from directgp.cli.read_rows import Rows
from directgp.cli.unseen import report_unseen
from directgp.decisions import Decision, decide
from directgp.decisions.exact_inference import decide_for_rows
from directgp.decisions.policies import Policy, compare_policies
from directgp.decisions.toml import WrittenCost, in_words
from directgp.report.decision import Decided, saving
from directgp.report.judged import Judged, Table, baseline
from directgp.report.numbers import with_error
from directgp.report.words import Finding
from directgp.tables import read_table
from directgp.tables.arrow_values import python_values
from directgp.tables.prediction_columns import beside_kept, check_kept
from directgp.tables.target import known_target


def written_cost(path: Path | None, facts: Mapping[str, Any], trusted: str | None) -> WrittenCost:
    """What the user's cost file says, or the cost that the model was trained for.

    `trusted` is the function that may be imported for a model file that names it.
    """
    if path is not None:
        found = WrittenCost.read(path)
    elif facts.get("cost"):
        found = WrittenCost(facts["cost"])
    else:
        raise UserError("this model was not trained for a cost; say what mistakes cost by --cost")
    if trusted is None:
        return found
    if found.settings.get("function") != trusted:
        raise UserError(
            f"the cost names no function {trusted!r}, so there is nothing to import; leave out "
            "--trust-function"
        )
    return replace(found, trusted=(trusted,))


class Judgement(NamedTuple):
    """What the actions cost on rows whose target is known and that were not trained on."""

    rows: Rows
    decision: Decision
    policies: list[Policy]
    realised: np.ndarray
    """Of every row of the table; NaN where the target is not known."""

    warning: str
    seen: bool | None
    """Whether all these rows were trained on; None if the model does not know."""
    source: str


@dataclass(frozen=True)
class Task:
    """The decisions for a table, with realised costs where the target is known."""

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
        cls,
        model: Path,
        data: Path,
        cost: Path | None,
        keep: Sequence[str],
        voice: Voice,
        trusted: str | None = None,
        transductive: bool = False,
    ) -> "Task":
        """Read, decide, and judge the rows whose target is known."""
        loaded = TableModel.load(model)
        written = written_cost(cost, loaded.facts, trusted)
        if written.trusted:
            voice.say(f"Importing {written.trusted[0]}, which the cost names.")
        rows = read_table(data)
        check_kept(keep, rows.column_names)
        columns = PricedColumns(rows)
        priced = labelled_cost(written, loaded.target, columns)
        encoded = loaded.encoder.encode(rows)
        for note in encoded.notes:
            if note.column not in columns.asked:
                voice.say(f"Column {note}.")
        if transductive:
            decision = decide_for_rows(loaded.fitted, encoded.X, priced)
        else:
            decision = decide(calibrated(loaded, loaded.predict(encoded.X)[0], rows), priced)
        name, judgement = loaded.target.name, None
        if name in rows.column_names and known_target(rows, name).any():
            unknown = np.full(rows.num_rows, np.nan)
            everything = Rows(rows, encoded.X, unknown, np.arange(rows.num_rows) + 1)
            judgement = judge(loaded, everything, written, decision, data.name, voice)
        return cls(model, loaded, rows, data.name, keep, str(written), decision, judgement)

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
        kept = {name: python_values(self.rows[name]) for name in self.keep}
        return beside_kept(kept, columns)

    def told(self) -> tuple[dict[str, Any], list[Any]]:
        """Facts for machines; a table and a sentence for people."""
        found, judged = saving(self.decided), self.judgement
        facts: dict[str, Any] = {
            "model": self.model,
            "target": self.loaded.target.name,
            "rows": self.rows.num_rows,
            "expected_cost": float(self.decision.expected_cost.mean()),
        }
        if judged is None:
            return facts, [sentence(found)]
        facts["realised"] = {"seen_in_training": judged.seen} | policy_facts(judged.policies)
        lines = [
            (p.name, with_error(p.mean, p.error), with_error(p.more, p.more_error) if k else "")
            for k, p in enumerate(judged.policies)
        ]
        count = len(judged.rows)
        title = f"{self.model.stem}: cost per row on {count:,} rows (± one standard error)"
        return facts, [
            table(title, ("policy", "cost", "more than the model's"), lines),
            sentence(found),
        ]


def judge(
    loaded: TableModel,
    rows: Rows,
    written: WrittenCost,
    decision: Decision,
    source: str,
    voice: Voice,
) -> Judgement:
    """What the actions cost where the target is known, at least in some rows."""
    chosen = np.flatnonzero(known_target(rows.table, loaded.target.name))
    some = rows.take(np.isin(np.arange(len(rows)), chosen))
    truth = replace(some, y=loaded.target.encode(some.table[loaded.target.name]))

    def decided(which: np.ndarray) -> tuple[Rows, Decision]:
        taken = truth.take(which)
        cost = labelled_cost(written, loaded.target, PricedColumns(taken.table))
        return taken, decision.take(chosen[which], cost)

    realised = np.full(len(rows), np.nan)
    realised[chosen] = decided(np.ones(len(truth), bool))[1].realised(truth.y)
    fresh, warning, seen = found = loaded.unseen(truth, "costs")
    source = report_unseen(found, len(truth), "costs", source, voice)
    judged, decision = decided(fresh)
    policies = compare_policies(
        decision, judged.y, baseline(decision.predictive, loaded.training[0])
    )
    return Judgement(judged, decision, policies, realised, warning, seen, source)


def cost_of(
    judged: Judged, rows: Rows, loaded: TableModel, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """What acting by a model costs on rows it was not trained on: facts, and a sentence."""
    cost = labelled_cost(settings, loaded.target, PricedColumns(rows.table))
    decision = decide(judged.predictive, cost)
    policies = compare_policies(decision, judged.y, baseline(judged.predictive, loaded.training[0]))
    decided = Decided(judged.name, decision, in_words(settings), decision, judged.y, policies)
    return policy_facts(policies), sentence(saving(decided))


def policy_facts(policies: Sequence[Policy]) -> dict[str, Any]:
    """Costs for machines."""
    return {
        "rows": len(policies[0].costs),
        "policies": [
            {
                "name": policy.name,
                "cost": policy.mean,
                "error": policy.error,
                "more": policy.more,
                "more_error": policy.more_error,
            }
            for policy in policies
        ],
    }


def sentence(found: Finding) -> str:
    """A finding in a line."""
    return f"{found.short[:1].upper()}{found.short[1:]}. {found.sentence}"


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
