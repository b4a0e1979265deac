"""The result of `directgp fit`: scores on the held-out rows, the report, and what is printed."""

from pathlib import Path
from typing import Any, NamedTuple

from directgp.cli.decide_rows import cost_of
from directgp.cli.models import TableModel
from directgp.cli.read_rows import TrainingTable
from directgp.cli.scores import scored_targets
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.stacking import Stack
from directgp.report import report_of_targets

_SEEN = "no rows were held out: these are training rows, whose scores are too optimistic"


class Outcome(NamedTuple):
    """The result of a command: facts for --json, lines to print, and the HTML of the report."""

    facts: dict[str, Any]
    words: list[Any]
    page: str = ""


def outcome_of(model: TableModel, output: Path) -> Outcome:
    """The result of a model without scores.

    Args:
        model: the trained model.
        output: the path of the model file.
    """
    fitted = model.fitted
    facts = {"model": output, "seconds": fitted.seconds, **model.facts}
    facts |= {"target": model.name, "task": model.targets[0].task}
    if isinstance(fitted, Stack):
        facts["weights"] = fitted.shares
        made_of = ", ".join(f"{name} {share:.0%}" for name, share in facts["weights"].items())
    elif isinstance(fitted, FittedExactRegression):
        facts |= {"log_evidence": fitted.log_evidence, "optimism": fitted.optimism}
        made_of = f"exact GP, log evidence {fitted.log_evidence:.4g}"
    elif isinstance(fitted, FittedExact):
        facts |= {"log_evidence": fitted.log_evidence, "converged": fitted.converged}
        made_of = f"{fitted.inference}, log evidence {fitted.log_evidence:.4g}"
    else:
        facts |= {"beta": fitted.beta, "reason": fitted.reason}
        made_of = f"β = {fitted.beta:.3g}"
    hints = [f"Hint: {hint}." for hint in model.facts["hints"]]
    return Outcome(facts, [*hints, f"Model: {output} ({made_of}; {fitted.seconds:.0f} s)"])


def judged(
    model: TableModel, training_table: TrainingTable, output: Path, report: Path | None
) -> Outcome:
    """The result of a model with its scores on the held-out rows.

    Without held-out rows there are scores only with a report: those of the training rows, with a
    warning.

    Args:
        model: the trained model.
        training_table: the rows it was trained on, and those held out.
        output: the path of the model file.
        report: the path of the report, None for none.
    """
    facts, last, _ = outcome_of(model, output)
    aside = training_table.aside
    if aside is None and report is None:
        return Outcome(facts, last)
    if aside is None:
        rows, which, warning, key = training_table.train, "training rows", _SEEN, "training_rows"
    else:
        rows, which, warning, key = aside, "held-out rows", "", "held_out"
    name = f"{training_table.source.name}, {which}"
    found = model.judged_targets(rows, output.stem, name, warning)
    facts[key], words = scored_targets(found, model.joint_scores(rows))
    cost = model.facts["cost"]
    if cost is not None:
        facts[key]["cost"], sentence = cost_of(found[0][0], rows, model, cost)
        words.append(sentence)
    if report is None:
        return Outcome(facts, [*words, *last])
    facts["report"] = report
    return Outcome(facts, [*words, f"Report: {report}", *last], report_of_targets(found))
