"""Sentences for the results of a report, with their uncertainty."""

from functools import singledispatch
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp import metrics
from directgp.predictive import ClassProbabilities, Predictive
from directgp.report.judged import LEVEL, Judged, pit
from directgp.report.numbers import number, percent, with_error

_CLOSE, _FAR = 0.02, 0.05
"""Gaps between promised and real probability: below the first good, above the second bad."""


class Finding(NamedTuple):
    """A sentence, whether it is good news, and the number it rests on (its name, its value)."""

    tone: Literal["good", "plain", "warn"]
    short: str
    sentence: str
    measured: tuple[str, str]


class Gap(NamedTuple):
    """The mean distance between predicted probability and observed frequency."""

    mean: float
    noise: float
    """What a calibrated model would show on as many rows."""


def calibration_gap(values: Float[np.ndarray, "N"]) -> Gap:
    """Mean distance between the ECDF of PIT values and the diagonal, and what chance would give.

    For N independent uniforms E|ECDF(t) − t| ≈ √(2 t(1−t)/(πN)), on average over t ≈ 0.313/√N.
    """
    levels = np.linspace(0.01, 0.99, 99)
    shares = np.searchsorted(np.sort(values), levels, side="right") / len(values)
    return Gap(float(np.mean(np.abs(shares - levels))), 0.313 / float(np.sqrt(len(values))))


def calibration_band(num_rows: int) -> float:
    """How far the whole calibration curve of a calibrated model may stray: Kolmogorov's 95 %.

    sup |ECDF − diagonal| of N uniforms exceeds 1.358/(√N + 0.12 + 0.11/√N) in 5 % of all cases
    (Stephens 1970).

    >>> round(calibration_band(100), 3)
    0.134
    """
    root = float(np.sqrt(num_rows))
    return 1.358 / (root + 0.12 + 0.11 / root)


def largest_gap(values: Float[np.ndarray, "N"]) -> float:
    """The largest distance between the ECDF of PIT values and the diagonal."""
    ordered, count = np.sort(values), len(values)
    above = np.arange(1, count + 1) / count - ordered
    below = ordered - np.arange(count) / count
    return float(max(above.max(), below.max()))


@singledispatch
def calibrated(predictive: Predictive, y: Float[np.ndarray, "N"]) -> Finding:
    """Whether probabilities can be believed: for numbers and counts, from the PIT."""
    values = pit(predictive, y)
    gap = calibration_gap(values)
    inside = np.abs(values - 0.5) <= LEVEL / 2
    share, error = metrics.standard_error(inside.astype(np.float64))
    facts = (
        f"Intervals that promise {percent(LEVEL, 0)} hold {percent(share)} of the rows "
        f"(± {percent(error)}), and probabilities are off by {percent(gap.mean)} on average."
    )
    seen = (f"Rows in their {percent(LEVEL, 0)} interval", f"{percent(share)} ± {percent(error)}")
    inside_band = largest_gap(values) <= calibration_band(len(values))
    if (
        inside_band
        and gap.mean <= max(_CLOSE, 2 * gap.noise)
        and abs(share - LEVEL) <= max(0.03, 2 * error)
    ):
        return _believable(max(gap.mean, abs(share - LEVEL)), len(y), facts, seen)
    bias = float(np.mean(values)) - 0.5
    if share < LEVEL - max(0.02, 2 * error):
        short, why = "over-confident", "Its intervals are too narrow."
    elif share > LEVEL + max(0.02, 2 * error):
        short, why = "too careful", "Its intervals are wider than they need to be."
    elif abs(bias) > 0.02:
        short = "biased"
        why = f"It predicts too {'low' if bias > 0 else 'high'} more often than not."
    else:
        short, why = "wrong in shape", "The shape of its distribution differs from the data's."
    if gap.mean <= _FAR and abs(share - LEVEL) <= _FAR:
        return Finding("plain", f"nearly calibrated, slightly {short}", f"{why} {facts}", seen)
    return Finding("warn", short, f"{why} {facts}", seen)


@calibrated.register
def _(predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> Finding:
    """For classes: the confidence in the predicted class against how often it is right."""
    confidence = np.max(predictive.probabilities, axis=1)
    right = (predictive.predicted == y).astype(np.float64)
    promised = float(np.mean(confidence))
    difference, error = metrics.standard_error(right - confidence)
    gap = metrics.expected_calibration_error(predictive, y, bins=10)
    noise = 2 * _chance_gap(metrics.reliability_curve(predictive, y, bins=10))
    facts = (
        f"It is {percent(promised)} sure of its answers on average and right in "
        f"{percent(promised + difference)} (± {percent(error)}); "
        f"the mean gap over bins is {percent(gap)}."
    )
    seen = ("Gap of probabilities", percent(gap))
    if gap <= max(_CLOSE, noise) and abs(difference) <= max(_CLOSE, 2 * error):
        return _believable(max(gap, abs(difference)), len(y), facts, seen)
    short = "over-confident" if difference < 0 else "too careful"
    why = (
        "It is surer than it should be."
        if difference < 0
        else "It is right more often than it says."
    )
    if gap <= max(_FAR, 2 * noise) and abs(difference) <= _FAR:
        return Finding("plain", f"nearly calibrated, slightly {short}", f"{why} {facts}", seen)
    return Finding("warn", short, f"{why} {facts}", seen)


def _believable(gap: float, rows: int, facts: str, seen: tuple[str, str]) -> Finding:
    """A gap that chance explains: good if it is small, else there are too few rows to tell."""
    if gap <= _FAR:
        sentence = f"Its probabilities can be believed. {facts}"
        return Finding("good", "well calibrated", sentence, seen)
    sentence = f"{rows:,} rows are too few to say more. {facts}"
    return Finding("plain", "no sign of miscalibration", sentence, seen)


def _chance_gap(curve: metrics.ReliabilityCurve) -> float:
    """The mean gap over bins that perfect probabilities would show: Σ_b n_b/N E|p̂_b − p_b|."""
    spread = np.sqrt(curve.confidence * (1 - curve.confidence) / curve.rows)
    return float(np.sum(curve.rows * np.sqrt(2 / np.pi) * spread) / np.sum(curve.rows))


def gain(judged: Judged, baseline: Predictive, what: str) -> Finding:
    """How much better than the baseline, in NLL with its paired standard error, and in errors."""
    ours = metrics.row_scores(judged.predictive, judged.y, LEVEL)
    trivial = metrics.row_scores(baseline, judged.y, LEVEL)
    saved, error = metrics.standard_error(trivial["nll"] - ours["nll"])
    close = _closeness(ours, trivial, what)
    seen = ("Gain over knowing nothing", f"{number(saved, 3)} nats")
    if saved > 2 * error:
        told = f"NLL is lower by {with_error(saved, error)} nats a row."
        return Finding("good", f"better than {what}", f"{close} {told}", seen)
    if saved < -2 * error:
        told = f"NLL is higher by {with_error(-saved, error)} nats a row: do not use it as it is."
        return Finding("warn", f"worse than {what}", f"{close} {told}", seen)
    verb = "lower" if saved > 0 else "higher"
    told = f"NLL is {verb} by {with_error(abs(saved), error)} nats a row, which may be chance."
    tone = "plain" if saved > 0 else "warn"
    return Finding(tone, f"not clearly better than {what}", f"{close} {told}", seen)


def _closeness(ours: dict, trivial: dict, what: str) -> str:
    if "error_rate" in ours:
        mine, theirs = (float(np.mean(s["error_rate"])) for s in (ours, trivial))
        return f"It errs in {percent(mine)} of the rows; {what} errs in {percent(theirs)}."
    mine, theirs = (float(np.sqrt(np.mean(s["mse"]))) for s in (ours, trivial))
    share = 1.0 - mine / theirs if theirs > 0 else 0.0
    verb = "smaller" if share >= 0 else "larger"
    return (
        f"Its typical error (RMSE) is {number(mine)}, {percent(abs(share), 0)} {verb} than that of "
        f"{what} ({number(theirs)})."
    )


def accuracy(judged: Judged, baseline: Predictive) -> tuple[str, str, str]:
    """The headline number of accuracy: its name, its value, and what it means."""
    ours = metrics.score_table(judged.predictive, judged.y, LEVEL)
    theirs = metrics.score_table(baseline, judged.y, LEVEL)
    if "error_rate" in ours:
        commonest = f"always the commonest: {percent(1 - theirs['error_rate'])}"
        return "Rows it gets right", percent(1 - ours["error_rate"]), commonest
    share = 1.0 - ours["mse"] / theirs["mse"] if theirs["mse"] > 0 else 0.0
    return "Variance explained", percent(share), "1 − MSE / MSE of the mean (R²)"
