"""Implementation of ``directgp decide``: actions for the rows of a table, and realised costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from directgp.cli.calibrated_columns import calibrated
from directgp.cli.console import Terminal, table
from directgp.cli.cost_columns import PricedColumns, labelled_cost
from directgp.cli.errors import UserError
from directgp.cli.models import TableModel
from directgp.cli.read_rows import Rows
from directgp.cli.unseen_rows import report_unseen
from directgp.decisions import Decision, decide
from directgp.decisions.cost_file import CostSettings, describe_cost
from directgp.decisions.exact_inference import decide_for_rows
from directgp.decisions.policies import Policy, compare_policies
from directgp.report.decision import Decided, saving
from directgp.report.findings import Finding
from directgp.report.judged import Judged, Table, baseline
from directgp.report.numbers import with_error
from directgp.tables import read_table
from directgp.tables.arrow_values import python_values
from directgp.tables.prediction_columns import beside_kept, check_kept
from directgp.tables.target import known_target


def written_cost(path: Path | None, facts: Mapping[str, Any], trusted: str | None) -> CostSettings:
    """The settings of the user's cost file, or those of the cost that the model was trained for.

    Args:
        path: the cost file, or None.
        facts: the training options in the model file.
        trusted: the function that may be imported if the model file names it.
    """
    if path is not None:
        found = CostSettings.read(path)
    elif facts.get("cost"):
        found = CostSettings(facts["cost"])
    else:
        raise UserError(
            "this model was not trained for a cost; give the cost of mistakes by --cost"
        )
    if trusted is None:
        return found
    if found.settings.get("function") != trusted:
        raise UserError(
            f"the cost does not name the function {trusted!r}; leave out --trust-function"
        )
    return replace(found, trusted=(trusted,))


class RealisedCosts(NamedTuple):
    """Realised costs on rows whose target is known and that the model was not trained on."""

    rows: Rows
    decision: Decision
    policies: list[Policy]
    realised: np.ndarray
    """For every row of the table; NaN where the target is not known."""

    warning: str
    seen: bool | None
    """Whether all these rows are training rows; None if unknown."""
    source: str


@dataclass(frozen=True)
class TableDecisions:
    """The decisions for a table, with realised costs where the target is known."""

    model: Path
    loaded: TableModel
    rows: pa.Table
    source: str
    keep: Sequence[str]
    cost: str
    decision: Decision
    known: RealisedCosts | None

    @classmethod
    def read(
        cls,
        model: Path,
        data: Path,
        cost: Path | None,
        keep: Sequence[str],
        terminal: Terminal,
        trusted: str | None = None,
        transductive: bool = False,
    ) -> "TableDecisions":
        """Read a table, decide for every row, and compute realised costs where y is known.

        Args:
            model: the model file.
            data: the table.
            cost: the cost file; None: the cost that the model was trained for.
            keep: columns of the table to repeat in the output.
            terminal: for messages.
            trusted: see `written_cost`.
            transductive: run the model's loss-EM for these rows.
        """
        loaded = TableModel.load(model)
        written = written_cost(cost, loaded.facts, trusted)
        if written.trusted:
            terminal.info(f"Importing {written.trusted[0]}, which the cost names.")
        rows = read_table(data)
        check_kept(keep, rows.column_names)
        columns = PricedColumns(rows)
        priced = labelled_cost(written, loaded.target, columns)
        encoded = loaded.encoder.encode(rows)
        for note in encoded.notes:
            if note.column not in columns.asked:
                terminal.info(f"Column {note}.")
        if transductive:
            decision = decide_for_rows(loaded.fitted, encoded.X, priced)
        else:
            decision = decide(calibrated(loaded, loaded.predict(encoded.X)[0], rows), priced)
        name, known = loaded.target.name, None
        if name in rows.column_names and known_target(rows, name).any():
            unknown = np.full(rows.num_rows, np.nan)
            everything = Rows(rows, encoded.X, unknown, np.arange(rows.num_rows) + 1)
            known = realised_costs(loaded, everything, written, decision, data.name, terminal)
        return cls(model, loaded, rows, data.name, keep, str(written), decision, known)

    @property
    def decided(self) -> Decided:
        """The input of the report."""
        if self.known is None:
            return Decided(self.model.stem, self.decision, self.cost)
        rows, decision, policies, *_ = self.known
        return Decided(self.model.stem, self.decision, self.cost, decision, rows.y, policies)

    @property
    def shown(self) -> Table:
        """The rows as the report shows them."""
        if self.known is None:
            return self.loaded.table(Rows(self.rows, np.empty((0, 0)), np.empty(0)), self.source)
        return self.loaded.table(self.known.rows, self.known.source, self.known.warning)

    def columns(self) -> dict[str, Any]:
        """The output table: one row for each row of DATA, in the same order."""
        columns = decision_columns(self.decision)
        if self.known is not None:
            columns["realised_cost"] = self.known.realised
        kept = {name: python_values(self.rows[name]) for name in self.keep}
        return beside_kept(kept, columns)

    def summary(self) -> tuple[dict[str, Any], list[Any]]:
        """The result of the command: facts for --json; a table and a sentence to print."""
        found, known = saving(self.decided), self.known
        facts: dict[str, Any] = {
            "model": self.model,
            "target": self.loaded.target.name,
            "rows": self.rows.num_rows,
            "expected_cost": float(self.decision.expected_cost.mean()),
        }
        if known is None:
            return facts, [sentence(found)]
        facts["realised"] = {"seen_in_training": known.seen} | policy_facts(known.policies)
        lines = [
            (p.name, with_error(p.mean, p.error), with_error(p.more, p.more_error) if k else "")
            for k, p in enumerate(known.policies)
        ]
        count = len(known.rows)
        title = f"{self.model.stem}: cost per row on {count:,} rows (± one standard error)"
        return facts, [
            table(title, ("policy", "cost", "more than the model's"), lines),
            sentence(found),
        ]


def realised_costs(
    loaded: TableModel,
    rows: Rows,
    written: CostSettings,
    decision: Decision,
    source: str,
    terminal: Terminal,
) -> RealisedCosts:
    """Realised costs of the actions where the target is known, in at least one row.

    Args:
        loaded: the model.
        rows: all rows of the table.
        written: the cost.
        decision: the actions of these rows.
        source: the name of the table.
        terminal: for a note on rows that are left out.
    """
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
    source = report_unseen(found, len(truth), "costs", source, terminal)
    kept, decision = decided(fresh)
    policies = compare_policies(decision, kept.y, baseline(decision.predictive, loaded.training[0]))
    return RealisedCosts(kept, decision, policies, realised, warning, seen, source)


def cost_of(
    judged: Judged, rows: Rows, loaded: TableModel, settings: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    """Realised cost of a model's actions on rows that it was not trained on.

    Args:
        judged: its predictions for these rows.
        rows: the rows.
        loaded: the model.
        settings: the cost.

    Returns:
        Facts for --json, and a sentence.
    """
    cost = labelled_cost(settings, loaded.target, PricedColumns(rows.table))
    decision = decide(judged.predictive, cost)
    policies = compare_policies(decision, judged.y, baseline(judged.predictive, loaded.training[0]))
    decided = Decided(judged.name, decision, describe_cost(settings), decision, judged.y, policies)
    return policy_facts(policies), sentence(saving(decided))


def policy_facts(policies: Sequence[Policy]) -> dict[str, Any]:
    """The costs of the policies, for --json."""
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
    """A finding as one line."""
    return f"{found.short[:1].upper()}{found.short[1:]}. {found.sentence}"


def decision_columns(decision: Decision) -> dict[str, Any]:
    """Columns: the action of every row and its expected cost; the second best and its cost."""
    columns: dict[str, Any] = {"action": decision.named}
    if decision.action.ndim == 2:
        columns = {"lower": decision.action[:, 0], "upper": decision.action[:, 1]}
    columns["expected_cost"] = decision.expected_cost
    if decision.second_best is not None:
        columns["second_best"] = decision.cost.called(decision.second_best)
        columns["second_best_cost"] = decision.second_best_cost
    return columns
