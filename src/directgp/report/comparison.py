"""The report that compares several models on the same rows and recommends one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from directgp import metrics
from directgp.predictive import ClassProbabilities, Predictive
from directgp.report import findings, html, sections
from directgp.report.differences import Paired, differences
from directgp.report.evaluation import body_of
from directgp.report.figures_numbers import coverage_curve, is_count
from directgp.report.judged import LEVEL, Judged, Table, pit, scores_with_errors
from directgp.report.numbers import number, percent, with_error


class Choice(NamedTuple):
    """The recommended model, the differences of the others from it, and reasons as sentences."""

    name: str
    against: tuple[Paired, ...]
    title: str
    reasons: tuple[str, ...]


def choose(models: Sequence[Judged]) -> Choice:
    """Recommend the model with the smallest NLL, with paired standard errors against the others.

    The reasons also compare point predictions, intervals and calibration, including where another
    model is better.
    """
    rows = {m.name: metrics.row_scores(m.predictive, m.y, LEVEL) for m in models}
    best = min(models, key=lambda m: float(np.mean(rows[m.name]["nll"])))
    against = tuple(
        Paired(m.name, *metrics.standard_error(rows[m.name]["nll"] - rows[best.name]["nll"]))
        for m in models
        if m is not best
    )
    beaten = [p for p in against if p.clear]
    tied = [p for p in against if not p.clear]
    if not tied:
        title = f"Use {best.name}: it is clearly better than {_listed([p.name for p in beaten])}"
    elif beaten:
        title = (
            f"Use {best.name}: clearly better than {_listed([p.name for p in beaten])}, "
            f"about as good as {_listed([p.name for p in tied])}"
        )
    else:
        title = f"No clear winner: {best.name} is ahead, within two standard errors"
    reasons = [
        f"NLL per row is {with_error(p.mean, p.error)} nats lower than that of {p.name}"
        + (", a clear difference." if p.clear else ", within two standard errors.")
        for p in against
    ]
    reasons += [_points(best, m, rows) for m in models if m is not best]
    reasons.append(findings.calibrated(best.predictive, best.y).sentence)
    reasons += [each.sentence for each in findings.against_baselines(best)]
    return Choice(best.name, against, title, tuple(r for r in reasons if r))


def _points(best: Judged, other: Judged, rows: dict) -> str:
    """A sentence on the difference in point predictions."""
    score = "error_rate" if "error_rate" in rows[best.name] else "mse"
    mean, error = metrics.standard_error(rows[other.name][score] - rows[best.name][score])
    if abs(mean) <= 2 * error:
        return f"Its point predictions are about as good as those of {other.name}."
    ours, theirs = (float(np.mean(rows[m.name][score])) for m in (best, other))
    if score == "mse":
        seen = f"RMSE {number(ours**0.5)} against {number(theirs**0.5)}"
    else:
        seen = f"{percent(ours)} wrong against {percent(theirs)}"
    return (
        f"Its point predictions are clearly {'better' if mean > 0 else 'worse'} than those of "
        f"{other.name} ({seen})."
    )


def comparison_report(models: Sequence[Judged], rows: Table) -> str:
    """One self-contained HTML page that compares models and recommends one of them.

    Args:
        models: predictions of each model for the same rows.
        rows: the same rows in the user's units and names.
    """
    return html.page(*comparison_parts(models, rows))


def comparison_parts(
    models: Sequence[Judged], rows: Table, extra: str = ""
) -> tuple[str, str, str]:
    """Title, header and body of the page.

    Args:
        models: predictions of each model for the same rows.
        rows: the same rows in the user's units and names.
        extra: HTML to add below the scores.
    """
    choice = choose(models)
    best = next(m for m in models if m.name == choice.name)
    clear = all(p.clear for p in choice.against)
    first, *others = choice.reasons
    header = (
        f'<p class="kicker">{len(models)} models compared on {html.text(rows.name)}, '
        f"{len(best.y):,} held-out rows</p>"
        f"<h1>{html.text(choice.title)}</h1>"
        + html.warning(rows.warning)
        + html.verdict(
            "good" if clear else "plain", ("Why:", first), *[("", reason) for reason in others]
        )
        + html.hints(rows.hints)
    )
    body = [html.section("Scores", table_of(models, choice), _forest(models, choice)), extra]
    body.append(
        html.section(
            f"The recommended model: {choice.name}",
            intro="The rest of this page describes this model.",
        )
    )
    body.append(body_of(best, rows))
    return choice.title, header, "\n".join(body)


def table_of(models: Sequence[Judged], choice: Choice) -> str:
    """A table of the scores of all models ± standard errors.

    Args:
        models: the models.
        choice: the recommendation, whose row is marked.
    """
    scored = {m.name: scores_with_errors(m.predictive, m.y) for m in models}
    shown = [name for name in sections.MEANING if name in scored[choice.name]]
    against = {p.name: p for p in choice.against}
    best = next(m for m in models if m.name == choice.name)
    body = []
    for m in models:
        cells = [sections.shown_score(name, *scored[m.name][name]) for name in shown]
        paired = against.get(m.name)
        gap = "recommended" if paired is None else f"+{with_error(paired.mean, paired.error)}"
        beta = "" if m.beta is None else number(m.beta, 3)
        seconds = "" if m.seconds is None else number(m.seconds, 3)
        body.append((m.name, cells[0], gap, *cells[1:], beta, seconds))
    for each in best.baselines.items():
        name, cells, gap = baseline_row(each, best, shown)
        body.append((name, cells[0], gap, *cells[1:], "", ""))
    titles = [sections.MEANING[name][0] for name in shown]
    how = " Coverage is measured by the randomised PIT." if is_count(models[0]) else ""
    return html.table(
        f"Scores on the same rows, ± one standard error. {sections.better(shown)}{how} "
        "The NLL gap is paired, row by row.",
        ("model", titles[0], "NLL gap", *titles[1:], "β", "seconds"),
        body,
        chosen=[m.name for m in models].index(choice.name),
    )


def baseline_row(
    baseline: tuple[str, Predictive], best: Judged, shown: Sequence[str]
) -> tuple[str, list[str], str]:
    """A baseline as a row of the table of models: its name, its scores, and its gap in NLL.

    Args:
        baseline: its name and its predictions.
        best: the recommended model, which its NLL is compared with.
        shown: names of the scores.
    """
    name, predictive = baseline
    found = scores_with_errors(predictive, best.y)
    gap = metrics.row_scores(predictive, best.y)["nll"]
    gap = gap - metrics.row_scores(best.predictive, best.y)["nll"]
    mean, error = metrics.standard_error(gap)
    cells = [sections.shown_score(score, *found[score]) for score in shown]
    sign = "+" if mean >= 0 else ""
    return f"baseline: {name}", cells, f"{sign}{with_error(mean, error)}"


def _forest(models: Sequence[Judged], choice: Choice) -> str:
    """Paired differences with their uncertainty, and coverage side by side."""
    drawn = []
    if choice.against:
        drawn.append(
            differences(
                choice.against,
                f"NLL per row above that of {choice.name}",
                "above",
                "A bar that crosses the dashed line is no clear difference.",
            )
        )
    if not isinstance(models[0].predictive, ClassProbabilities):
        drawn.append(coverage_curve({m.name: pit(m.predictive, m.y) for m in models}))
    return html.side_by_side(drawn)


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
