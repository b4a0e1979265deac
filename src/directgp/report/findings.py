"""Findings of a report as sentences, with uncertainty."""

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
"""Significantly miscalibrated, but with all shares this close to nominal: nearly calibrated."""


class Finding(NamedTuple):
    """A sentence, its short form, its tone, and the number it is based on (name, value)."""

    tone: Literal["good", "plain", "warn"]
    short: str
    sentence: str
    measured: tuple[str, str]


def largest_gap(values: Float[np.ndarray, "N"]) -> float:
    """The largest difference of observed and nominal shares, below quantiles or in intervals."""
    below = np.searchsorted(np.sort(values), LEVELS, side="right") / len(values)
    inside = np.searchsorted(np.sort(2 * np.abs(values - 0.5)), LEVELS, side="right") / len(values)
    return float(max(np.abs(below - LEVELS).max(), np.abs(inside - LEVELS)[1:-1].max()))


@singledispatch
def calibrated(predictive: Predictive, y: Float[np.ndarray, "N"]) -> Finding:
    """Whether the model is calibrated; for numbers and counts, from the PIT.

    Args:
        predictive: predictions.
        y: the observed targets.
    """
    values = pit(predictive, y)
    gap = largest_gap(values)
    inside = np.abs(values - 0.5) <= LEVEL / 2
    share, error = metrics.standard_error(inside.astype(np.float64))
    facts = (
        f"{percent(LEVEL, 0)} intervals contain {percent(share)} (± {percent(error)}) of the rows; "
        f"the largest gap of any quantile or interval is {percent(gap)}."
    )
    seen = (f"Rows in their {percent(LEVEL, 0)} interval", f"{percent(share)} ± {percent(error)}")
    if not pit_leaves_band(values):
        return _within_chance(len(y), facts, seen)
    bias = float(np.mean(values)) - 0.5
    if share < LEVEL - max(0.02, 2 * error):
        short, why = "over-confident", "Its intervals are too narrow."
    elif share > LEVEL + max(0.02, 2 * error):
        short, why = "under-confident", "Its intervals are too wide."
    elif abs(bias) > max(0.02, 2 / np.sqrt(12 * len(y))):
        short = "biased"
        why = f"Its predictions are more often too {'low' if bias > 0 else 'high'}."
    else:
        short, why = "wrong in shape", "The shape of the predictive distribution is wrong."
    if gap <= _NEAR:
        return Finding("plain", f"nearly calibrated, slightly {short}", f"{why} {facts}", seen)
    return Finding("warn", short, f"{why} {facts}", seen)


@calibrated.register
def _(predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> Finding:
    """For classes: predicted probabilities against observed frequencies, in bins."""
    confidence = np.max(predictive.probabilities, axis=1)
    right = (predictive.predicted == y).astype(np.float64)
    promised = float(np.mean(confidence))
    difference, error = metrics.standard_error(right - confidence)
    reliability = Reliability(predictive, y)
    gap = reliability.mean_gap
    facts = (
        f"The mean predicted probability of the predicted class is {percent(promised)}, and "
        f"{percent(promised + difference)} (± {percent(error)}) are right; the mean gap over bins "
        f"is {percent(gap)}."
    )
    seen = ("Gap of probabilities", percent(gap))
    if not reliability.leaves_band:
        return _within_chance(len(y), facts, seen)
    if abs(difference) <= 2 * error:
        short, why = "miscalibrated", "Probabilities of some bins differ from frequencies."
    elif difference < 0:
        short, why = "over-confident", "Its probabilities are too extreme."
    else:
        short, why = "under-confident", "It is right more often than predicted."
    if gap <= _NEAR and abs(difference) <= _NEAR:
        return Finding("plain", f"nearly calibrated, slightly {short}", f"{why} {facts}", seen)
    return Finding("warn", short, f"{why} {facts}", seen)


def _within_chance(rows: int, facts: str, seen: tuple[str, str]) -> Finding:
    """All counts are in their bands: calibrated if these are narrow, else no finding."""
    if few_rows(rows):
        low, high = pit_band(rows, np.array([0.5]))
        unseen = f"So few rows cannot show gaps below {percent(float(high[0] - low[0]) / 2, 0)}."
        short = f"no sign of miscalibration on {rows:,} rows"
        return Finding("plain", short, f"{facts} {unseen}", seen)
    return Finding("good", "well calibrated", facts, seen)


def gain(judged: Judged, baseline: Predictive, what: str) -> Finding:
    """Gain over the baseline: in NLL, with a paired standard error, and in errors.

    Args:
        judged: predictions and observed targets.
        baseline: the prediction without inputs.
        what: the name of the baseline.
    """
    ours = metrics.row_scores(judged.predictive, judged.y, LEVEL)
    trivial = metrics.row_scores(baseline, judged.y, LEVEL)
    saved, error = metrics.standard_error(trivial["nll"] - ours["nll"])
    close = _closeness(ours, trivial, what)
    seen = ("Gain over the baseline", f"{with_error(saved, error)} nats")
    if saved > 2 * error:
        by = f"NLL is lower by {with_error(saved, error)} nats per row."
        return Finding("good", f"better than {what}", f"{close} {by}", seen)
    if saved < -2 * error:
        by = f"NLL is higher by {with_error(-saved, error)} nats per row: do not use this model."
        return Finding("warn", f"worse than {what}", f"{close} {by}", seen)
    verb = "lower" if saved > 0 else "higher"
    by = f"NLL is {verb} by {with_error(abs(saved), error)} nats per row, no clear difference."
    tone = "plain" if saved > 0 else "warn"
    short, by = f"not clearly better than {what}", f"{by} {_MORE_ROWS}"
    ranked = _ranks_better(judged)
    if ranked:
        short = f"{short} in log loss on {len(judged.y):,} rows, but better than chance in ranking"
        by = f"{ranked} {by}"
    return Finding(tone, short, f"{close} {by}", seen)


class BaselineComparison(NamedTuple):
    """A baseline compared with a model: its NLL, and how much higher than the model's it is."""

    name: str
    nll: tuple[float, float]
    above: tuple[float, float]
    sentence: str


def against_baselines(judged: Judged) -> list[BaselineComparison]:
    """The comparison of the model with each of its baselines."""
    ours, found = metrics.row_scores(judged.predictive, judged.y, LEVEL), []
    for name, predictive in judged.baselines.items():
        theirs = metrics.row_scores(predictive, judged.y, LEVEL)["nll"]
        saved, error = metrics.standard_error(theirs - ours["nll"])
        verb = "lower" if saved > 0 else "higher"
        sentence = f"NLL is {verb} by {with_error(abs(saved), error)} than that of {name}"
        if abs(saved) <= 2 * error:
            sentence += ", which may be chance"
        elif saved < 0:
            sentence += f": {name} is better on these rows"
        theirs_mean = metrics.standard_error(theirs)
        found.append(BaselineComparison(name, theirs_mean, (saved, error), f"{sentence}."))
    return found


_MORE_ROWS = "Evaluate on more rows, or fit with a larger --holdout."


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
        return f"Its error rate is {mine}; that of {what} is {theirs}."
    mine, theirs = (_root_mean_square(scores["mse"]) for scores in (ours, trivial))
    ratio, error = _ratio_of_means(ours["mse"], trivial["mse"])
    share, spread = 1.0 - ratio**0.5, 0.5 * error / max(ratio, 1e-300) ** 0.5
    verb = "smaller" if share >= 0 else "larger"
    return (
        f"Its RMSE is {with_error(*mine)}, {percent(abs(share), 0)} {verb} "
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
    """The headline number of accuracy.

    Args:
        judged: predictions and observed targets.
        baseline: the prediction without inputs.

    Returns:
        Its name, its value and its meaning.
    """
    ours = metrics.row_scores(judged.predictive, judged.y, LEVEL)
    theirs = metrics.row_scores(baseline, judged.y, LEVEL)
    if "error_rate" in ours:
        wrong, error = metrics.standard_error(ours["error_rate"])
        commonest = percent(1 - float(np.mean(theirs["error_rate"])))
        meaning = f"± {percent(error)}; always the commonest class: {commonest}"
        return "Accuracy", percent(1 - wrong), meaning
    ratio, error = _ratio_of_means(ours["mse"], theirs["mse"])
    meaning = f"± {percent(error)}; 1 − MSE / MSE of the mean (R²)"
    return "Variance explained", percent(1.0 - ratio), meaning
