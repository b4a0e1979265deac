"""Findings of a report as sentences, with their uncertainty."""

from functools import singledispatch
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp import metrics
from directgp.predictive import ClassProbabilities, Predictive
from directgp.report.calibration_check import (
    LEVELS,
    Reliability,
    few_rows,
    pit_band,
    pit_leaves_band,
)
from directgp.report.judged import LEVEL, Judged, pit
from directgp.report.numbers import percent, with_error

_NEAR = 0.05
"""Outside chance, but with all shares this close to what they should be: nearly calibrated."""


class Finding(NamedTuple):
    """A sentence, its tone (good, plain, warn), and the number behind it (name, value)."""

    tone: Literal["good", "plain", "warn"]
    short: str
    sentence: str
    measured: tuple[str, str]


def largest_gap(values: Float[np.ndarray, "N"]) -> float:
    """The largest distance of the curves of PIT values from what they should be.

    Of the share of rows below quantiles and of the share inside central intervals.
    """
    below = np.searchsorted(np.sort(values), LEVELS, side="right") / len(values)
    inside = np.searchsorted(np.sort(2 * np.abs(values - 0.5)), LEVELS, side="right") / len(values)
    return float(max(np.abs(below - LEVELS).max(), np.abs(inside - LEVELS)[1:-1].max()))


@singledispatch
def calibrated(predictive: Predictive, y: Float[np.ndarray, "N"]) -> Finding:
    """Whether the model is calibrated: for numbers and counts, from the PIT."""
    values = pit(predictive, y)
    gap = largest_gap(values)
    inside = np.abs(values - 0.5) <= LEVEL / 2
    share, error = metrics.standard_error(inside.astype(np.float64))
    facts = (
        f"Intervals that promise {percent(LEVEL, 0)} hold {percent(share)} of the rows "
        f"(± {percent(error)}); the largest gap of any quantile or interval is {percent(gap)}."
    )
    seen = (f"Rows in their {percent(LEVEL, 0)} interval", f"{percent(share)} ± {percent(error)}")
    if not pit_leaves_band(values):
        return _within_chance(len(y), facts, seen)
    bias = float(np.mean(values)) - 0.5
    if share < LEVEL - max(0.02, 2 * error):
        short, why = "over-confident", "Its intervals are too narrow."
    elif share > LEVEL + max(0.02, 2 * error):
        short, why = "too careful", "Its intervals are wider than they need to be."
    elif abs(bias) > max(0.02, 2 / np.sqrt(12 * len(y))):
        short = "biased"
        why = f"Its predictions are more often too {'low' if bias > 0 else 'high'}."
    else:
        short, why = "wrong in shape", "The shape of its distribution differs from the data's."
    if gap <= _NEAR:
        return Finding("plain", f"nearly calibrated, slightly {short}", f"{why} {facts}", seen)
    return Finding("warn", short, f"{why} {facts}", seen)


@calibrated.register
def _(predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> Finding:
    """For classes: predicted probabilities against how often they come true, in bins."""
    confidence = np.max(predictive.probabilities, axis=1)
    right = (predictive.predicted == y).astype(np.float64)
    promised = float(np.mean(confidence))
    difference, error = metrics.standard_error(right - confidence)
    reliability = Reliability(predictive, y)
    gap = reliability.mean_gap
    facts = (
        f"It is {percent(promised)} sure of its answers on average and right in "
        f"{percent(promised + difference)} (± {percent(error)}); "
        f"the mean gap over bins is {percent(gap)}."
    )
    seen = ("Gap of probabilities", percent(gap))
    if not reliability.leaves_band:
        return _within_chance(len(y), facts, seen)
    if abs(difference) <= 2 * error:
        short, why = "wrong in places", "Some of its probabilities are not what comes true."
    elif difference < 0:
        short, why = "over-confident", "It is surer than it should be."
    else:
        short, why = "too careful", "It is right more often than it says."
    if gap <= _NEAR and abs(difference) <= _NEAR:
        return Finding("plain", f"nearly calibrated, slightly {short}", f"{why} {facts}", seen)
    return Finding("warn", short, f"{why} {facts}", seen)


def _within_chance(rows: int, facts: str, seen: tuple[str, str]) -> Finding:
    """No count leaves its band: calibrated if the bands are narrow, else no sign against it."""
    if few_rows(rows):
        low, high = pit_band(rows, np.array([0.5]))
        unseen = f"So few rows cannot show errors below {percent(float(high[0] - low[0]) / 2, 0)}."
        short = f"no sign of miscalibration on {rows:,} rows"
        return Finding("plain", short, f"{facts} {unseen}", seen)
    return Finding("good", "well calibrated", facts, seen)


def gain(judged: Judged, baseline: Predictive, what: str) -> Finding:
    """How much better than the baseline, in NLL with its paired standard error, and in errors."""
    ours = metrics.row_scores(judged.predictive, judged.y, LEVEL)
    trivial = metrics.row_scores(baseline, judged.y, LEVEL)
    saved, error = metrics.standard_error(trivial["nll"] - ours["nll"])
    close = _closeness(ours, trivial, what)
    seen = ("Gain over the baseline", f"{with_error(saved, error)} nats")
    if saved > 2 * error:
        told = f"NLL is lower by {with_error(saved, error)} nats per row."
        return Finding("good", f"better than {what}", f"{close} {told}", seen)
    if saved < -2 * error:
        told = f"NLL is higher by {with_error(-saved, error)} nats per row: do not use it."
        return Finding("warn", f"worse than {what}", f"{close} {told}", seen)
    verb = "lower" if saved > 0 else "higher"
    told = f"NLL is {verb} by {with_error(abs(saved), error)} nats per row, which may be chance."
    tone = "plain" if saved > 0 else "warn"
    short, told = f"not clearly better than {what}", f"{told} {_MORE_ROWS}"
    ranked = _ranks_better(judged)
    if ranked:
        short = f"{short} in log loss on {len(judged.y):,} rows, but better than chance in ranking"
        told = f"{ranked} {told}"
    return Finding(tone, short, f"{close} {told}", seen)


class Against(NamedTuple):
    """A plain model beside a model: its NLL above that of the model, paired, and a sentence."""

    name: str
    nll: tuple[float, float]
    above: tuple[float, float]
    sentence: str


def against_baselines(judged: Judged) -> list[Against]:
    """How the model compares with each of its plain baselines."""
    ours, found = metrics.row_scores(judged.predictive, judged.y, LEVEL), []
    for name, predictive in judged.baselines.items():
        theirs = metrics.row_scores(predictive, judged.y, LEVEL)["nll"]
        saved, error = metrics.standard_error(theirs - ours["nll"])
        verb = "lower" if saved > 0 else "higher"
        told = f"NLL is {verb} by {with_error(abs(saved), error)} than that of {name}"
        if abs(saved) <= 2 * error:
            told += ", which may be chance"
        elif saved < 0:
            told += f": {name} is better on these rows"
        found.append(Against(name, metrics.standard_error(theirs), (saved, error), f"{told}."))
    return found


_MORE_ROWS = "More rows would tell: a larger --holdout of fit, or other rows to evaluate."


def _ranks_better(judged: Judged) -> str:
    """A sentence if classes are ranked clearly better than by chance, else empty."""
    if not isinstance(judged.predictive, ClassProbabilities) or len(np.unique(judged.y)) < 2:
        return ""
    area, error = metrics.auc_with_error(judged.predictive, judged.y)
    return f"AUC is {with_error(area, error)}." if area - 0.5 > 2 * error else ""


def _closeness(ours: dict, trivial: dict, what: str) -> str:
    if "error_rate" in ours:
        mine, theirs = (
            " ± ".join(percent(part) for part in metrics.standard_error(scores["error_rate"]))
            for scores in (ours, trivial)
        )
        return f"It errs in {mine} of the rows; {what} errs in {theirs}."
    mine, theirs = (_root_mean_square(scores["mse"]) for scores in (ours, trivial))
    ratio, error = _ratio_of_means(ours["mse"], trivial["mse"])
    share, spread = 1.0 - ratio**0.5, 0.5 * error / max(ratio, 1e-300) ** 0.5
    verb = "smaller" if share >= 0 else "larger"
    return (
        f"Its typical error (RMSE) is {with_error(*mine)}, {percent(abs(share), 0)} {verb} "
        f"(± {percent(spread, 0)}) than that of {what} ({with_error(*theirs)})."
    )


def _root_mean_square(squares: Float[np.ndarray, "N"]) -> tuple[float, float]:
    mean, error = metrics.standard_error(squares)
    return mean**0.5, 0.5 * error / max(mean, 1e-300) ** 0.5


def _ratio_of_means(
    above: Float[np.ndarray, "N"], below: Float[np.ndarray, "N"]
) -> tuple[float, float]:
    """The ratio and its standard error, of paired rows; 1 if both are 0."""
    first, second = float(np.mean(above)), float(np.mean(below))
    if not min(first, second) > 0:
        return float(first > 0 or not second > 0), 0.0
    _, error = metrics.standard_error(above / first - below / second)
    return first / second, first / second * error


def accuracy(judged: Judged, baseline: Predictive) -> tuple[str, str, str]:
    """The headline number of accuracy: its name, its value, and what it means."""
    ours = metrics.row_scores(judged.predictive, judged.y, LEVEL)
    theirs = metrics.row_scores(baseline, judged.y, LEVEL)
    if "error_rate" in ours:
        wrong, error = metrics.standard_error(ours["error_rate"])
        commonest = percent(1 - float(np.mean(theirs["error_rate"])))
        told = f"± {percent(error)}; always the commonest: {commonest}"
        return "Rows it gets right", percent(1 - wrong), told
    ratio, error = _ratio_of_means(ours["mse"], theirs["mse"])
    told = f"± {percent(error)}; 1 − MSE / MSE of the mean (R²)"
    return "Variance explained", percent(1.0 - ratio), told
