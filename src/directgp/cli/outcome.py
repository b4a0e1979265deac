"""What a new model is worth: scores on the rows kept aside, the report, and the last words."""

from pathlib import Path
from typing import Any, NamedTuple

from directgp.cli.decide_rows import cost_of
from directgp.cli.models import TableModel
from directgp.cli.read_rows import Learnable
from directgp.cli.scores import scored_targets
from directgp.report import report_of_targets

_SEEN = "no rows were kept aside, so these are the training rows and the scores flatter the model"


class Outcome(NamedTuple):
    """What is said of a model: facts for machines, words for people, and a page if one is asked."""

    facts: dict[str, Any]
    words: list[Any]
    page: str = ""


def outcome_of(model: TableModel, output: Path) -> Outcome:
    """What is said of every model, also of one that is not judged."""
    fitted = model.fitted
    facts = {"model": output, "beta": fitted.beta, "seconds": fitted.seconds, **model.facts}
    facts |= {"target": model.name, "task": model.targets[0].task, "reason": fitted.reason}
    hints = [f"Hint: {hint}." for hint in model.facts["hints"]]
    return Outcome(
        facts, [*hints, f"Model: {output} (β = {fitted.beta:.3g}, {fitted.seconds:.0f} s)"]
    )


def judged(model: TableModel, learnable: Learnable, output: Path, report: Path | None) -> Outcome:
    """The model on the rows kept aside; if there are none, only a report shows training rows."""
    facts, last, _ = outcome_of(model, output)
    aside = learnable.aside
    if aside is None and report is None:
        return Outcome(facts, last)
    if aside is None:
        rows, which, warning, key = learnable.train, "training rows", _SEEN, "training_rows"
    else:
        rows, which, warning, key = aside, "rows kept aside", "", "held_out"
    name = f"{learnable.source.name}, {which}"
    found = model.judged_targets(rows, output.stem, name, warning)
    facts[key], words = scored_targets(found)
    cost = model.facts["cost"]
    if cost is not None:
        facts[key]["cost"], told = cost_of(found[0][0], rows, model, cost)
        words.append(told)
    if report is None:
        return Outcome(facts, [*words, *last])
    facts["report"] = report
    return Outcome(facts, [*words, f"Report: {report}", *last], report_of_targets(found))
