"""Figures of training: risk and penalty, and the choice of β."""

from collections.abc import Mapping, Sequence

import numpy as np

from directgp.report.chart import Chart, limits
from directgp.report.numbers import number


def learning_curve(history: Mapping[str, Sequence[float | int]]) -> str:
    """Objective = risk + penalty per row, and the validation loss where there is one."""
    step, risk, objective = (
        np.asarray(history[k], dtype=np.float64) for k in ("step", "risk", "objective")
    )
    validation = np.asarray(history.get("validation", []), dtype=np.float64)
    shown = np.concatenate([risk, objective, validation])
    shown = shown[np.isfinite(shown)]
    # The first steps may be far above the rest and would compress it.
    top = min(
        float(shown.max()),
        float(np.quantile(shown, 0.9) + 2 * np.ptp(np.quantile(shown, [0.1, 0.9]))),
    )
    chart = Chart(
        (float(step[0]), float(step[-1])),
        limits([shown.min(), top]),
        x_label="step",
        y_label="per row, standardised",
    )
    chart.band(step, risk, objective, "two", "penalty (β · divergence)")
    chart.line(step, objective, "ink", "objective")
    chart.line(step, risk, "one", "risk (loss on training rows)")
    after = ""
    if len(validation) == len(step) and len(step):
        chart.line(step, validation, "three", "validation loss")
        after = f" The validation loss ends at {number(float(validation[-1]))}."
    return chart.figure(
        "Learning curve",
        f"Over {int(step[-1]):,} steps the objective falls from {number(float(objective[0]))} to "
        f"{number(float(objective[-1]))}, of which risk is {number(float(risk[-1]))} and penalty "
        f"{number(float(objective[-1] - risk[-1]))}.{after}",
        "A flat end means that training was long enough; the shaded area is β · divergence.",
    )


def beta_curve(curve: Mapping[float, float], chosen: float) -> str:
    """The validation loss of every β that was tried.

    Args:
        curve: loss by β.
        chosen: the chosen β.
    """
    tried = sorted(beta for beta in curve if beta > 0 and np.isfinite(curve[beta]))
    losses = [curve[beta] for beta in tried]
    spread = np.quantile(losses, [0, 0.75])
    room = (spread[0] - 0.1 * np.ptp(spread), spread[1] + 0.5 * np.ptp(spread))
    chart = Chart(
        (tried[0], tried[-1]) if len(tried) > 1 else (tried[0] / 10, tried[0] * 10),
        limits(np.clip(losses, *room)),
        x_label="β, the weight of the penalty",
        y_label="validation loss per row",
        log_x=True,
    )
    chart.line(tried, losses, "one").dots(tried, losses, "one", radius=3.5)
    chart.dots([chosen], [curve[chosen]], "hollow", f"chosen: β = {number(chosen, 3)}", radius=6)
    return chart.figure(
        "Choice of β",
        f"{len(tried)} values from {number(tried[0], 3)} to {number(tried[-1], 3)} were tried; "
        f"β = {number(chosen, 3)} was chosen, with validation loss {number(curve[chosen])}.",
        "Of the candidates within one standard error of the best, the β nearest to 1 is chosen. "
        "Candidates that were dropped early were trained for fewer steps.",
    )
