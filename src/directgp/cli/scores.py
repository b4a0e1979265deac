"""Scores in words and numbers, as commands print them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from directgp.cli.console import table
from directgp.report import Judged, Table, headline
from directgp.report.judged import scores_with_errors
from directgp.report.sections import meanings, shown_score


def scored(judged: Judged, rows: Table) -> tuple[dict[str, Any], list[Any]]:
    """The scores of a model: facts for --json, and lines to print."""
    found = scores_with_errors(judged.predictive, judged.y)
    calibrated, better = headline(judged, rows)
    facts = {
        "rows": len(judged.y),
        "scores": {k: {"mean": mean, "error": error} for k, (mean, error) in found.items()},
        "calibration": calibrated.short,
        "against_baseline": better.short,
    }
    lines = [
        (title, shown_score(name, *found[name]), meaning)
        for name, (title, meaning) in meanings(judged).items()
        if name in found
    ]
    title = f"{judged.name}: scores on {len(judged.y):,} rows (± one standard error)"
    shown = table(title, ("score", "value", "what it is"), lines, wordy=(2,))
    said = [f"{_capital(f.short)}. {f.sentence}" for f in (better, calibrated)]
    return facts, [shown, *said]


def scored_targets(judged: Sequence[tuple[Judged, Table]]) -> tuple[dict[str, Any], list[Any]]:
    """The same for each of several targets; facts are then by target."""
    if len(judged) == 1:
        return scored(*judged[0])
    facts, words = {}, []
    for each, rows in judged:
        facts[rows.target], said = scored(replace(each, name=f"{each.name}, {rows.target}"), rows)
        words += said
    return {"targets": facts}, words


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
