"""The report of ``directgp demo``: predictive bands of three models, and their scores."""

from collections.abc import Mapping, Sequence

import numpy as np

from directgp import metrics
from directgp.report import demo_models as demo
from directgp.report import html
from directgp.report.chart import Chart, limits
from directgp.report.comparison import choose, comparison_parts, table_of
from directgp.report.judged import LEVEL, Judged, Table
from directgp.report.numbers import number, percent

Shown = tuple[demo.Problem, Mapping[str, demo.Outcome]]


def judged_outcomes(outcomes: Mapping[str, demo.Outcome]) -> list[Judged]:
    """The outcomes of a problem as the input of a report."""
    return [
        Judged(
            name,
            outcome.predictive,
            outcome.y,
            outcome.history,
            float(np.median(outcome.betas)),
            outcome.beta_curve,
            seconds=outcome.seconds,
        )
        for name, outcome in outcomes.items()
    ]


def demo_report(shown: Sequence[Shown]) -> str:
    """One page: figures of the generated problem, then the scores of other problems."""
    (problem, outcomes), *others = shown
    judged = judged_outcomes(outcomes)
    bands = html.section(
        "Predictive bands",
        html.side_by_side([_band(problem, m) for m in judged], columns=3),
        intro="All three models have one constant noise level; the noise of the data varies with "
        "x. Only the direct loss scores the predictive distribution, so its standard deviation "
        "follows the data.",
    )
    rest = "".join(_other(other, results) for other, results in others)
    rows = Table(problem.name, columns={"x": problem.splits[0].test.X[:, 0].tolist()})
    return html.page(*comparison_parts(judged, rows, bands + rest))


def _other(problem: demo.Problem, outcomes: Mapping[str, demo.Outcome]) -> str:
    judged = judged_outcomes(outcomes)
    choice = choose(judged)
    return html.section(
        f"Another table: {problem.name}", table_of(judged, choice), intro=f"{choice.title}."
    )


def _band(problem: demo.Problem, judged: Judged) -> str:
    """Mean and interval along x, the true interval, and some of the data."""
    x = problem.splits[0].test.X[:, 0]
    order = np.argsort(x)[:: max(1, len(x) // 200)]
    some = judged.predictive[order]
    lower, upper = some.interval(LEVEL)
    true_lower, true_upper = demo.truth(x[order]).interval(LEVEL)
    rng = np.random.default_rng(0)
    drawn = rng.choice(len(x), min(len(x), 250), replace=False)
    chart = Chart(
        (float(x.min()), float(x.max())), limits(judged.y[drawn]), x_label="x", y_label="y"
    )
    chart.dots(x[drawn], judged.y[drawn], "grey", "test rows", radius=1.8)
    chart.band(x[order], lower, upper, "one", f"{percent(LEVEL, 0)} interval")
    chart.line(x[order], some.mean, "one", "mean")
    chart.line(x[order], true_lower, "dotted", f"true {percent(LEVEL, 0)} interval")
    chart.line(x[order], true_upper, "dotted")
    nll = metrics.nll(judged.predictive, judged.y)
    std, true_std = judged.predictive.std, demo.true_std(x)
    return chart.figure(
        f"{judged.name}: NLL {number(nll, 2)}",
        f"The predicted standard deviation of y goes from {number(float(std.min()), 2)} to "
        f"{number(float(std.max()), 2)}; the true one from "
        f"{number(float(true_std.min()), 2)} to {number(float(true_std.max()), 2)}. "
        f"Test NLL {number(nll, 3)}.",
        "A good band follows the dotted lines.",
    )
