"""The sections of a report on one model: scores, figures, training, inputs, worst rows."""

from collections.abc import Collection
from functools import singledispatch

import numpy as np

from directgp.predictive import ClassProbabilities, Predictive
from directgp.report import effects, figures_classes, figures_numbers, figures_training, html
from directgp.report.judged import LEVEL, Judged, Table, pit, scores_with_errors
from directgp.report.numbers import number, percent, with_error

_WORST = 10
_MOST_INPUTS = 15

MEANING = {
    "nll": ("NLL", "negative log predictive density per row, in nats"),
    "rmse": ("RMSE", "root mean squared error of the mean, in the units of the target"),
    "crps": ("CRPS", "the mean absolute error for distributions, in the units of the target"),
    "mre": ("MRE", "mean relative error of the mean, |error| / max(1, y)"),
    "coverage": (
        "Coverage",
        f"share of rows inside their {percent(LEVEL, 0)} interval; nominal {percent(LEVEL, 0)}",
    ),
    "interval_width": (
        "Interval width",
        f"mean width of the {percent(LEVEL, 0)} interval",
    ),
    "error_rate": ("Error rate", "share of rows whose most probable class is wrong"),
    "brier": ("Brier score", "squared error of the probabilities"),
    "auc": (
        "AUC",
        "probability that a row of a class ranks above one of another; 0.5 is chance, 1 is best",
    ),
}
"""Title and meaning of each score; scores without an entry (mse) are not shown."""


def scores(judged: Judged, baseline: Predictive, what: str) -> str:
    """A table of all scores ± standard errors, with those of the baselines.

    Args:
        judged: predictions and observed targets.
        baseline: the prediction without inputs.
        what: the name of the baseline.
    """
    shown = {"this model": judged.predictive, what: baseline, **judged.baselines}
    found = [scores_with_errors(predictive, judged.y) for predictive in shown.values()]
    rows = [
        (title, *(shown_score(name, *each[name]) for each in found), meaning)
        for name, (title, meaning) in meanings(judged).items()
        if name in found[0]
    ]
    caption = f"Scores on {len(judged.y):,} rows, ± one standard error. {better(found[0])}"
    columns = ("score", *shown, "meaning")
    return html.table(caption, columns, rows, wordy=(len(columns) - 1,))


def better(shown: Collection[str]) -> str:
    """The sentence on the direction of the shown scores.

    >>> better(["nll", "auc"])
    'Lower is better, except for AUC, where higher is.'
    """
    if "auc" in shown:
        return "Lower is better, except for AUC, where higher is."
    if "coverage" in shown:
        return "Lower is better, except for coverage."
    return "Lower is better."


def meanings(judged: Judged) -> dict[str, tuple[str, str]]:
    """`MEANING`, with a note on coverage for counts."""
    if not figures_numbers.is_count(judged):
        return MEANING
    title, meaning = MEANING["coverage"]
    return MEANING | {"coverage": (title, f"{meaning}; by the randomised PIT")}


def shown_score(name: str, mean: float, error: float) -> str:
    """A score ± its standard error; shares as percentages.

    Args:
        name: a key of `MEANING`.
        mean: the score.
        error: its standard error.
    """
    if name in ("coverage", "error_rate"):
        return f"{percent(mean)} ± {percent(error)}" if np.isfinite(error) else percent(mean)
    return with_error(mean, error)


@singledispatch
def figures(predictive: Predictive, judged: Judged, rows: Table) -> str:
    """Figures of calibration and accuracy, for numbers and counts.

    Args:
        predictive: the predictions.
        judged: the same with observed targets.
        rows: the rows in the user's units and names.
    """
    values = pit(predictive, judged.y)
    return html.section(
        "Calibration",
        html.side_by_side(
            [
                figures_numbers.calibration_curve(values),
                figures_numbers.pit_histogram(values, figures_numbers.is_count(judged)),
                figures_numbers.coverage_curve({judged.name: values}),
            ],
            columns=3,
        ),
    ) + html.section(
        "Accuracy",
        html.side_by_side(
            [
                figures_numbers.against_truth(judged, rows.target),
                figures_numbers.sharpness(judged, rows.target),
                figures_numbers.residuals(judged, rows.target),
            ]
        ),
    )


@figures.register
def _(predictive: ClassProbabilities, judged: Judged, rows: Table) -> str:
    """Figures for classes: reliability, confidence, confusion matrix, precision and recall."""
    parts = predictive, judged.y, rows
    return html.section(
        "Calibration",
        html.side_by_side(
            [figures_classes.reliability(*parts), figures_classes.probabilities(*parts)]
        ),
    ) + html.section(
        "Confusion matrix",
        figures_classes.confusion(*parts),
        figures_classes.precision_and_recall(*parts),
    )


def training(judged: Judged) -> str:
    """The learning curve and the choice of β."""
    drawn = []
    if len(judged.history.get("step", ())) > 1:
        drawn.append(figures_training.learning_curve(judged.history))
    if judged.beta is not None and judged.beta in judged.beta_curve and len(judged.beta_curve) > 1:
        drawn.append(figures_training.beta_curve(judged.beta_curve, judged.beta))
    return html.section("Training", html.side_by_side(drawn)) if drawn else ""


def inputs(judged: Judged, target: str) -> str:
    """Relevance of the inputs, the largest first, and the effects of some."""
    helpful = {name: share for name, share in judged.relevance.items() if share > 0}
    shares = dict(list(helpful.items())[:_MOST_INPUTS])
    if not judged.relevance or len(judged.relevance) < 2:
        return ""
    left = len(helpful) - len(shares)
    rest = f" {left} less relevant inputs are not shown." if left else ""
    none = [name for name in judged.relevance if name not in helpful]
    if none:
        named = ", ".join(none[:_MOST_INPUTS]) + (", …" if len(none) > _MOST_INPUTS else "")
        rest += f" Without a clear share: {named}."
    drawn = [effects.figure(name, each, target) for name, each in judged.effects.items()]
    return html.section(
        "Relevance of inputs",
        html.meters(shares, "Relevance of inputs, largest first"),
        html.side_by_side(drawn, columns=3) if drawn else "",
        intro=judged.relevance_means + rest,
    )


def worst_rows(judged: Judged, rows: Table) -> str:
    """A table of the rows with the largest NLL, with the most relevant inputs.

    Args:
        judged: predictions and observed targets.
        rows: the rows in the user's units and names.
    """
    nll = -judged.predictive.log_prob(judged.y)
    worst = np.argsort(-nll, kind="stable")[:_WORST]
    some = judged.predictive[worst]
    heading, predicted = _predicted(some, rows)
    ranked = [name for name in judged.relevance if name in rows.columns]
    ranked += [name for name in rows.columns if name not in ranked]
    body = []
    for place, row in enumerate(worst.tolist()):
        given = [cell(rows.columns[column][row]) for column in ranked[:6]]
        cells = (_true(judged, rows, row), *predicted[place], number(float(nll[row]), 3))
        body.append((rows.row_name(row), *cells, *given))
    return html.section(
        "Rows with the largest NLL",
        html.table(
            f"The {len(worst)} rows with the largest NLL; {rows.row_order}.",
            ("row", f"true {rows.target}", *heading, "NLL", *ranked[:6]),
            body,
        ),
        intro="They may show errors in the data, or the effect of inputs that the model lacks.",
    )


@singledispatch
def _predicted(some: Predictive, rows: Table) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    lower, upper = some.interval(LEVEL)
    cells = zip(some.mean, lower, upper, strict=True)
    return ("predicted", f"{percent(LEVEL, 0)} interval"), [
        (number(mean), f"{number(low)} to {number(high)}") for mean, low, high in cells
    ]


@_predicted.register
def _(some: ClassProbabilities, rows: Table):
    best = some.predicted
    return ("predicted", "probability"), [
        (rows.class_name(int(k)), percent(p[k]))
        for k, p in zip(best, some.probabilities, strict=True)
    ]


def _true(judged: Judged, rows: Table, row: int) -> str:
    if isinstance(judged.predictive, ClassProbabilities):
        return rows.class_name(int(judged.y[row]))
    return number(float(judged.y[row]))


def cell(value) -> str:
    """A value of the user's table as text."""
    if isinstance(value, float | np.floating):
        return number(float(value))
    return "–" if value is None else str(value)
