"""Formatting of scores for the console and for --json."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from directgp.cli.console import table
from directgp.report import Judged, Table, headline
from directgp.report.findings import against_baselines
from directgp.report.judged import scores_with_errors
from directgp.report.numbers import mean_and_error, with_error
from directgp.report.sections import meanings, shown_score


def scored(judged: Judged, rows: Table) -> tuple[dict[str, Any], list[Any]]:
    """The scores of a model for one target.

    Args:
        judged: its predictions with the observed targets.
        rows: the rows.

    Returns:
        Facts for --json, and lines to print.
    """
    found = scores_with_errors(judged.predictive, judged.y)
    calibrated, better = headline(judged, rows)
    compared = against_baselines(judged)
    facts = {
        "rows": len(judged.y),
        "scores": {k: {"mean": mean, "error": error} for k, (mean, error) in found.items()},
        "calibration": calibrated.short,
        "against_baseline": better.short,
        "baselines": {
            each.name: {
                "nll": _mean_and_error(each.nll),
                "nll_above_this_model": _mean_and_error(each.above),
            }
            for each in compared
        },
    }
    lines = [
        (title, shown_score(name, *found[name]), meaning)
        for name, (title, meaning) in meanings(judged).items()
        if name in found
    ]
    title = f"{judged.name}: scores on {len(judged.y):,} rows (± one standard error)"
    shown = table(title, ("score", "value", "meaning"), lines, wordy=(2,))
    sentences = [f"{_capital(f.short)}. {f.sentence}" for f in (better, calibrated)]
    sentences += [" ".join(each.sentence for each in compared)] if compared else []
    return facts, [shown, *sentences]


def _mean_and_error(found: tuple[float, float]) -> dict[str, float]:
    return {"mean": found[0], "error": found[1]}


def scored_targets(
    judged: Sequence[tuple[Judged, Table]], joint: Mapping[str, tuple[float, float]] | None = None
) -> tuple[dict[str, Any], list[Any]]:
    """`scored` for each of several targets; facts are then by target.

    Args:
        judged: predictions and rows of every target.
        joint: `metrics.joint_score_table` of all targets together.
    """
    if len(judged) == 1:
        return scored(*judged[0])
    facts, words = {}, []
    for each, rows in judged:
        facts[rows.target], lines = scored(replace(each, name=f"{each.name}, {rows.target}"), rows)
        words += lines
    if joint is None:
        return {"targets": facts}, words
    found = {name: {"mean": mean, "error": error} for name, (mean, error) in joint.items()}
    return {"targets": facts, "joint": found}, [*words, _joint_in_words(joint)]


def _joint_in_words(joint: Mapping[str, tuple[float, float]]) -> str:
    """A sentence on the joint prediction of all targets of a row."""
    (mean, error), (apart, apart_error), (gain, gain_error) = (
        joint[name] for name in ("joint_nll", "sum_of_nll", "gain")
    )
    how = with_error(abs(gain), gain_error)
    effect = f"predicted covariances improve it by {how}"
    if gain < 0:
        effect = f"predicted covariances worsen it by {how}; --loss joint-log trains them"
    alone = mean_and_error(apart, apart_error)[0]
    return (
        f"All targets of a row jointly: log loss {with_error(mean, error)}; the sum of the single "
        f"targets is {alone}: {effect}."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
