"""Figures of decisions: cost against threshold or action, expected against realised cost."""

from functools import singledispatch
from typing import Any

import numpy as np

from directgp import metrics
from directgp.decisions.actions import Decision, threshold_curve
from directgp.decisions.class_costs import BinaryCost, TableCost
from directgp.decisions.costs import Cost, IntervalCost
from directgp.decisions.policies import Policy
from directgp.report.chart import Chart, limits
from directgp.report.differences import Paired, differences
from directgp.report.numbers import number, with_error

_SHOWN = 260


@singledispatch
def cost_curve(cost: Cost, decision: Decision, y: np.ndarray | None) -> str:
    """Numbers: cost of one action for all rows, compared with the model's actions.

    Args:
        cost: the cost.
        decision: the model's actions.
        y: the observed targets, for realised costs; None if unknown.
    """
    grid, expected = decision.curve()
    return _against(grid, "the same action for all rows", decision, y, grid, expected)


@cost_curve.register
def _(cost: IntervalCost, decision: Decision, y: np.ndarray | None) -> str:
    grid, expected = decision.curve()
    width = grid[:, 1] - grid[:, 0]
    return _against(width, "width of one interval for all rows", decision, y, grid, expected)


@cost_curve.register
def _(cost: TableCost, decision: Decision, y: np.ndarray | None) -> str:
    """A list of actions: the cost of the same action for all rows."""
    grid, expected = decision.curve()
    promised = expected.mean(axis=0)
    real = [] if y is None else [_constant(decision, y, action) for action in grid]
    seen = [*promised, *(mean for mean, _ in real), float(decision.expected_cost.mean())]
    places = np.arange(len(grid), 0, -1.0)
    chart = Chart(
        (0.0, 1.12 * max(seen)),
        (0.4, len(grid) + 0.9),
        x_label="cost per row",
        y_label="",
        height=90 + 62 * len(grid),
        named_y=False,
    )
    own = float(decision.expected_cost.mean() if y is None else decision.realised(y).mean())
    chart.line((own, own), (0.4, len(grid) + 0.9), "guide", "the model's own actions")
    chart.dots(promised, places, "hollow", "expected", radius=4.5)
    if real:
        means, errors = np.array(real).T
        errors = np.nan_to_num(errors)
        chart.sideways(places, means - 2 * errors, means + 2 * errors, "error")
        chart.dots(means, places, "one", "realised, ± two standard errors", radius=5)
    for name, place in zip(cost.names, places, strict=True):
        chart.note(0.02 * max(seen), place + 0.26, f"always “{name}”")
    described = "; ".join(
        f"always “{name}”: expected {number(float(p))}"
        + ("" if y is None else f", realised {with_error(*real[k])}")
        for k, (name, p) in enumerate(zip(cost.names, promised, strict=True))
    )
    return chart.figure(
        "Cost against action",
        f"{described}. The model's own actions cost {number(own)} per row.",
        "Mean cost per row if every row gets the same action.",
    )


@cost_curve.register
def _(cost: BinaryCost, decision: Decision, y: np.ndarray | None) -> str:
    """Two classes: realised (or expected) cost as a function of the threshold."""
    name = cost.names[cost.act]
    best = float(np.median(cost.threshold))
    low = max(min(0.01, best / 8.0), 1e-4)
    thresholds = np.geomspace(low, 0.99, 120)
    p = decision.predictive.probabilities[:, cost.act]  # pyright: ignore[reportAttributeAccessIssue]
    if y is None:
        averages = cost.averages(decision.predictive)
        act, leave = averages[:, cost.act], averages[:, 1 - cost.act]
        mean = np.array([np.where(p > t, act, leave).mean() for t in thresholds])
        error = np.zeros_like(mean)
        always, never = float(act.mean()), float(leave.mean())
    else:
        curve = threshold_curve(decision.predictive, y, cost, thresholds=thresholds)  # pyright: ignore[reportArgumentType]
        mean, error = curve.mean, np.nan_to_num(curve.error)
        always, never = (_constant(decision, y, k)[0] for k in (cost.act, 1 - cost.act))
    # Cut off costs far above the cheaper end, which would compress the rest of the curve.
    top = 1.08 * float(min(np.max(mean + error), 4.0 * min(mean[0], mean[-1]) or np.inf))
    chart = Chart(
        (low, 1.0),
        (0.0, top),
        x_label=f"act where P(“{name}”) exceeds",
        y_label="cost per row",
        log_x=True,
    )
    kind = "expected" if y is None else "realised"
    if y is not None:
        chart.band(thresholds, mean - error, mean + error, "one", "± one standard error")
    chart.line(thresholds, mean, "one", f"{kind} cost")
    own = float(decision.expected_cost.mean() if y is None else decision.realised(y).mean())
    if cost.varies:
        chart.level(own, "guide", "the model's actions, a threshold for each row")
        place = "Prices per row give each row its own threshold"
        reading = "The curve has one threshold for all rows; the model's actions should be below."
    else:
        shown = max(best, low)  # the threshold is 0 if false alarms cost nothing
        chart.line((shown, shown), (0.0, top), "guide", f"Bayes threshold: {number(best, 3)}")
        place = f"The Bayes threshold is {number(best, 3)}"
        reading = "With calibrated probabilities the dashed line is at the minimum of the curve."
    lowest = int(np.argmin(mean))
    return chart.figure(
        "Cost against threshold",
        f"{place}, with cost {number(own)} per row. The minimum of the curve is "
        f"{number(float(mean[lowest]))}, at {number(float(thresholds[lowest]), 3)}; acting always "
        f"costs {number(always)}, never {number(never)}.",
        f"On the left more rows are acted on, on the right fewer. {reading}",
    )


def expected_against_realised(decision: Decision, y: np.ndarray) -> str:
    """Expected against realised cost in groups of rows.

    Args:
        decision: the model's actions.
        y: the observed targets.
    """
    expected, real = decision.expected_cost, decision.realised(y)
    order = np.argsort(expected, kind="stable")
    groups = np.array_split(order, min(10, max(1, len(order) // 20)))
    predicted = np.array([expected[g].mean() for g in groups])
    found = np.array([metrics.standard_error(real[g]) for g in groups])
    mean, error = found[:, 0], np.nan_to_num(found[:, 1])
    high = limits([0.0], predicted, mean + error)[1]
    chart = Chart((0, high), (0, high), x_label="expected cost per row", y_label="realised cost")
    chart.line((0, high), (0, high), "guide", "as expected")
    chart.spans(predicted, mean - error, mean + error, "error")
    chart.dots(predicted, mean, "one", "groups of rows (± one standard error)", radius=4)
    return chart.figure(
        "Expected and realised cost",
        f"In {len(groups)} groups of rows by expected cost, from {number(float(predicted[0]))} to "
        f"{number(float(predicted[-1]))}, the realised cost goes from {number(float(mean[0]))} to "
        f"{number(float(mean[-1]))}. The mean over all rows is {number(float(expected.mean()))} "
        f"expected and {number(float(real.mean()))} realised.",
        "On the dashed line, realised costs equal expected costs.",
    )


def policy_gaps(policies: list[Policy]) -> str:
    """How much more the other policies cost than the model's actions, paired row by row."""
    _, *others = policies
    return differences(
        [Paired(p.name, p.more, p.more_error) for p in others],
        "cost per row above the model's",
        "more",
        "Right of the dashed line the model's actions are cheaper; a bar that crosses it is no "
        "clear difference.",
    )


def _against(x, label: str, decision: Decision, y, grid, expected) -> str:
    promised = expected.mean(axis=0)
    own = float(decision.expected_cost.mean() if y is None else decision.realised(y).mean())
    real = None if y is None else np.array([_constant(decision, y, a) for a in grid])
    seen = promised if real is None else np.concatenate([promised, real[:, 0]])
    # Cut off costs far above the best, which would compress the rest of the curve.
    top = float(min(seen.max(), 6.0 * seen.min() or np.inf)) * 1.05
    chart = Chart((x[0], x[-1]), (0.0, max(top, 1.1 * own)), x_label=label, y_label="cost per row")
    chart.line(x, promised, "two", "expected")
    if real is not None:
        chart.band(x, real[:, 0] - real[:, 1], real[:, 0] + real[:, 1], "one")
        chart.line(x, real[:, 0], "one", "realised, ± one standard error")
    chart.level(own, "guide", "the model's actions, one for each row")
    curve = promised if real is None else real[:, 0]
    lowest = int(np.argmin(curve))
    return chart.figure(
        "Cost against action",
        f"With one action for all rows the cost is lowest at {number(float(x[lowest]))}, "
        f"{number(float(curve[lowest]))} per row; the model's actions cost {number(own)} per row.",
        "The gap between the minimum of the curve and the dashed line is the value of the "
        "predictions, which give each row its own action.",
    )


def _constant(decision: Decision, y: np.ndarray, action: Any) -> tuple[float, float]:
    same = np.broadcast_to(action, (len(y), *np.shape(action)))
    return metrics.standard_error(decision.cost.realised(y, same))
