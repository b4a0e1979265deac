"""Figures of predicted numbers and counts."""

import itertools

import numpy as np
from jaxtyping import Float

from directgp.predictive import CountMixture
from directgp.report.calibration_check import INTERVALS, LEVELS, num_bars, outside, pit_band
from directgp.report.chart import Chart, limits
from directgp.report.judged import LEVEL, Judged
from directgp.report.numbers import number, percent

_SHOWN = 260
_CHANCE = "simultaneous 95 % band of a calibrated model"
_STYLES = ("one", "two", "three", "four", "five", "six")


def calibration_curve(values: Float[np.ndarray, "N"]) -> str:
    """Share of y below each predicted quantile, with the band of a calibrated model."""
    shares = np.searchsorted(np.sort(values), LEVELS, side="right") / len(values)
    gap = int(np.argmax(np.abs(shares - LEVELS)))
    chart = Chart((0, 1), (0, 1), x_label="predicted probability", y_label="share of rows below")
    chart.band(LEVELS, *pit_band(len(values), LEVELS), "grey", _CHANCE)
    chart.line((0, 1), (0, 1), "guide", "perfect")
    chart.line(LEVELS, shares, "one", "this model")
    at = {p: float(np.interp(p, LEVELS, shares)) for p in (0.1, 0.5, 0.9)}
    seen = ", ".join(f"{percent(s)} of rows lie below the {p:.0%} quantile" for p, s in at.items())
    return chart.figure(
        "Calibration curve",
        f"{seen}. The largest gap is {percent(float(abs(shares[gap] - LEVELS[gap])))}, "
        f"at probability {LEVELS[gap]:.2f}.",
        "On the diagonal, the share of rows below a quantile equals its level.",
    )


def pit_histogram(values: Float[np.ndarray, "N"], randomised: bool) -> str:
    """Histogram of PIT values: flat if calibrated.

    Args:
        values: the PIT values.
        randomised: whether they are randomised, for counts.
    """
    bins = num_bars(len(values))
    edges = np.linspace(0, 1, bins + 1)
    density = np.histogram(values, edges)[0] * bins / len(values)
    shares = density / bins
    low, high = (float(each[0]) for each in pit_band(len(values), np.array([1 / bins])))
    top = 1.1 * max(bins * high, float(density.max()))
    chart = Chart(
        (0, 1), (0, top), x_label="predicted probability of a smaller y", y_label="density"
    )
    chart.band((0, 1), (bins * low,) * 2, (bins * high,) * 2, "grey", _CHANCE)
    chart.bars(edges, density, "one").level(1.0)
    count = int(np.sum(outside(shares, np.full(bins, low), np.full(bins, high))))
    kind = "Randomised PIT" if randomised else "PIT"
    drawn = " For counts, PIT values are uniform within the jumps of the cdf." if randomised else ""
    return chart.figure(
        f"{kind} histogram",
        f"{bins} bars between {density.min():.2f} and {density.max():.2f}, where 1 is perfect; "
        f"{count} are outside the band. The lowest tenth holds "
        f"{percent(float(np.mean(values <= 0.1)))} of the rows, the highest "
        f"{percent(float(np.mean(values > 0.9)))}.",
        "Flat: calibrated; ∩: too wide; ∪: too narrow; sloped: biased." + drawn,
    )


def coverage_curve(judged: dict[str, Float[np.ndarray, "N"]]) -> str:
    """Nominal against observed coverage of central intervals, for one model or several."""
    chart = Chart((0, 1), (0, 1), x_label="nominal coverage", y_label="share of rows inside")
    rows = len(next(iter(judged.values())))
    levels = np.concatenate([[0.0], INTERVALS, [1.0]])
    chart.band(levels, *pit_band(rows, levels), "grey", _CHANCE)
    chart.line((0, 1), (0, 1), "guide")
    seen = []
    for (name, values), css in zip(judged.items(), itertools.cycle(_STYLES), strict=False):
        distance = np.sort(2 * np.abs(values - 0.5))
        shares = np.searchsorted(distance, LEVELS, side="right") / len(distance)
        chart.line(LEVELS, shares, css, name if len(judged) > 1 else "")
        at = {p: float(np.interp(p, LEVELS, shares)) for p in (0.5, 0.9, 0.95)}
        shown = ", ".join(f"{p:.0%} intervals hold {percent(s)}" for p, s in at.items())
        seen.append(f"{name}: {shown}" if len(judged) > 1 else shown)
    chart.note(0.03, 0.93, "above: intervals too wide").note(0.97, 0.04, "below: too narrow", "end")
    return chart.figure(
        "Coverage of intervals",
        "; ".join(seen) + ".",
        "Share of rows inside their central interval, at every level.",
    )


def against_truth(judged: Judged, target: str) -> str:
    """Predicted against true values, with intervals, for a sample of rows.

    Args:
        judged: predictions and observed targets.
        target: the name of the target.
    """
    rows = np.arange(len(judged.y))
    if len(rows) > _SHOWN:
        rows = np.sort(np.random.default_rng(0).choice(rows, _SHOWN, replace=False))
    predictive, y = judged.predictive[rows], judged.y[rows]
    mean, (lower, upper) = predictive.mean, predictive.interval(LEVEL)
    inside = (lower <= y) & (y <= upper)
    x_range = limits(mean)
    y_range = limits(y, mean, lower, upper)
    chart = Chart(x_range, y_range, x_label=f"predicted {target}", y_label=f"true {target}")
    chart.spans(mean, lower, upper, "thin", f"{percent(LEVEL, 0)} interval")
    chart.line(x_range, x_range, "guide", "prediction = truth")
    tips = [f"true {number(a)}, predicted {number(b)}" for a, b in zip(y, mean, strict=True)]
    named = np.asarray(tips, dtype=object)
    chart.dots(mean[inside], y[inside], "one", "inside its interval", names=named[inside])
    chart.dots(mean[~inside], y[~inside], "hollow", "outside", radius=3.2, names=named[~inside])
    whole = np.corrcoef(judged.predictive.mean, judged.y)[0, 1] if np.ptp(judged.y) > 0 else np.nan
    counted = "all rows" if len(rows) == len(judged.y) else f"{len(rows)} rows drawn at random"
    return chart.figure(
        "Predicted and true values",
        f"{counted}: {int(inside.sum())} lie inside their {percent(LEVEL, 0)} interval and "
        f"{int((~inside).sum())} outside. Over all {len(judged.y):,} rows the correlation between "
        f"prediction and truth is {number(float(whole), 3)}.",
        f"Each dot is one row ({counted}); the bar is its interval.",
    )


def sharpness(judged: Judged, target: str) -> str:
    """RMSE against predicted standard deviation, in groups of rows.

    Args:
        judged: predictions and observed targets.
        target: the name of the target.
    """
    std = judged.predictive.std
    error = np.abs(judged.y - judged.predictive.mean)
    bins = np.array_split(np.argsort(std, kind="stable"), min(10, max(1, len(std) // 20)))
    promised = [float(np.sqrt(np.mean(std[b] ** 2))) for b in bins]
    happened = [float(np.sqrt(np.mean(error[b] ** 2))) for b in bins]
    top = limits([0.0], promised, happened)[1]
    chart = Chart((0, top), (0, top), x_label=f"predicted std of {target}", y_label="error (RMSE)")
    chart.line((0, top), (0, top), "guide", "calibrated")
    chart.line(promised, happened, "one").dots(promised, happened, "one", radius=4)
    ratio = np.quantile(std, 0.95) / max(np.quantile(std, 0.05), 1e-300)
    order, error_order = (np.argsort(np.argsort(each)) for each in (std, error))
    known = len(std) > 2 and np.corrcoef(order, error_order)[0, 1] > 2 / np.sqrt(len(std) - 1)
    verdict = "its rank correlation with the errors is not significant."
    if ratio <= 1.5:
        verdict = "the predicted uncertainty is almost constant."
    elif known:
        verdict = "it is rank-correlated with the errors."
    return chart.figure(
        "Error against predicted uncertainty",
        f"In {len(bins)} groups of rows by predicted standard deviation, from "
        f"{number(promised[0])} to {number(promised[-1])}, the RMSE goes from "
        f"{number(happened[0])} to {number(happened[-1])}.",
        f"Rows grouped by predicted standard deviation. Its 95 % quantile is "
        f"{number(float(ratio), 3)} times its 5 % quantile; {verdict}",
    )


def residuals(judged: Judged, target: str) -> str:
    """Errors against predictions, with their mean in groups of rows."""
    mean = np.asarray(judged.predictive.mean)
    error = judged.y - mean
    some = np.arange(len(error))
    if len(some) > _SHOWN:
        some = np.sort(np.random.default_rng(0).choice(some, _SHOWN, replace=False))
    groups = np.array_split(np.argsort(mean, kind="stable"), min(8, max(1, len(mean) // 20)))
    places = [float(np.mean(mean[group])) for group in groups]
    means = np.array([float(np.mean(error[group])) for group in groups])
    spreads = np.array([float(np.std(error[group]) / np.sqrt(len(group))) for group in groups])
    chart = Chart(
        limits(mean),
        limits(error[some], means - 2 * spreads, means + 2 * spreads),
        x_label=f"predicted {target}",
        y_label="true − predicted",
    )
    chart.level(0.0)
    chart.dots(mean[some], error[some], "hollow", "a row")
    chart.spans(places, means - 2 * spreads, means + 2 * spreads, "error")
    chart.dots(places, means, "one", "mean of a group ± two standard errors", radius=4)
    off = int(np.sum(np.abs(means) > 2 * spreads))
    return chart.figure(
        "Errors against predictions",
        f"In {len(groups)} groups of rows by prediction the mean error is between "
        f"{number(float(means.min()), 3)} and {number(float(means.max()), 3)}; in {off} it is "
        "further from 0 than two standard errors.",
        "No slope and no bend should be left in the errors. One group in twenty is off by chance.",
    )


def is_count(judged: Judged) -> bool:
    """Whether the targets are counts, whose PIT is randomised."""
    return isinstance(judged.predictive, CountMixture)
