"""Plots of predictions and of training with matplotlib.

    band              mean and central intervals against one input
    local_score       any row score, averaged along one input
    pit_histogram     histogram of PIT values: flat if calibrated
    coverage          share of rows inside central intervals, at every level
    learning_curve    objective = risk + penalty, and the validation loss
    beta_curve        the validation loss of every β that was tried
    gradient_histograms   direction, size and bias of gradient estimates, a figure of several panels

All functions but the last draw on `axes`, by default on those of a new figure, and return them;
``axes.figure.savefig("plot.png")`` writes the file. pyplot is not used, so no display is needed.
Colours are the colour-blind safe palette of Okabe and Ito; lines also differ in dashes.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp import metrics
from directgp.errors import DirectGPError, MissingPackage, WrongType

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise MissingPackage(f"drawing needs {error.name}; pip install directgp[plots]") from None

from directgp.plots.colours import COLOURS as COLOURS
from directgp.plots.gradient_histograms import gradient_histograms as gradient_histograms
from directgp.predictive import Predictive, check_predictive

_GREY = "#555555"


def band(
    x: Any,
    predictive: Predictive,
    *,
    levels: Sequence[float] = (0.9,),
    colour: str = COLOURS["blue"],
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Draw the predictive mean and its central intervals against one input.

    Args:
        x: the input of every row, [N] or [N 1], in any order.
        predictive: the predictive distribution of these rows.
        levels: coverage of the intervals.
        colour: of the line and the bands.
        label: put before "mean" and "interval" in the legend.
        axes: where to draw; None makes a new figure.

    Returns:
        The axes.

    >>> from directgp import GaussianMixture
    >>> p = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1))
    >>> band([0.0, 1.0, 2.0], p, levels=[0.5, 0.9]).get_ylabel()
    'y'
    """
    check_predictive(predictive, "give x first, then the predictive")
    x = _one_input(x, len(predictive))
    axes = _new_axes() if axes is None else axes
    order = np.argsort(x, kind="stable")
    prefix = f"{label}: " if label else ""
    for number, level in enumerate(sorted(levels, reverse=True)):
        lower, upper = predictive.interval(level)
        axes.fill_between(
            x[order], lower[order], upper[order], color=colour, linewidth=0,
            alpha=min(1.0, 0.28 + 0.12 * number), label=f"{prefix}{level:.0%} interval",
        )  # fmt: skip
    axes.plot(x[order], predictive.mean[order], color=colour, label=f"{prefix}mean")
    _label(axes, "Prediction", "x", "y")
    return axes


def local_score(
    x: Any,
    scores: Any,
    *,
    num_bins: int = 20,
    colour: str = COLOURS["blue"],
    label: str = "",
    marker: str = "o",
    dashes: str = "-",
    axes: Axes | None = None,
) -> Axes:
    """Row scores (see `metrics.row_scores`) averaged in bins of equally many rows along `x`.

    Bars are ± one standard error. Shows where along the input a model is good or bad.

    Args:
        x: the input of every row, [N] or [N 1], in any order.
        scores: one number for each row.
        num_bins: the number of bins.
        colour: of the line.
        label: of the line in the legend.
        marker: of the bins, as matplotlib names it.
        dashes: line style, as matplotlib names it.
        axes: where to draw; None makes a new figure.

    Returns:
        The axes.

    >>> local_score(np.arange(40.0), np.arange(40.0), num_bins=4).get_ylabel()
    'mean score'
    """
    scores = _row_scores(scores)
    x = _one_input(x, len(scores))
    if not 1 <= num_bins <= len(x):
        raise DirectGPError(
            f"num_bins must be between 1 and the {len(x)} rows, got {num_bins}; use e.g. 10"
        )
    axes = _new_axes() if axes is None else axes
    bins = np.array_split(np.argsort(x, kind="stable"), num_bins)
    centres = [float(np.mean(x[rows])) for rows in bins]
    means, errors = zip(*(metrics.standard_error(scores[rows]) for rows in bins), strict=True)
    axes.errorbar(
        centres, means, np.nan_to_num(errors), color=colour, label=label or None, marker=marker,
        linestyle=dashes, markersize=4, linewidth=1.3, elinewidth=0.8,
    )  # fmt: skip
    _label(axes, "Score along the input", "x", "mean score")
    return axes


def pit_histogram(
    predictive: Predictive,
    y: Any,
    *,
    num_bins: int = 20,
    colour: str = COLOURS["blue"],
    label: str = "",
    axes: Axes | None = None,
) -> Axes:
    """Histogram of the PIT values: flat if calibrated, a hump if too wide, a bowl if too narrow.

    For a calibrated model each bar ends between the dotted lines with probability 95 %.

    Args:
        predictive: the predictive distribution of every row.
        y: the observed values, [N].
        num_bins: the number of bars.
        colour: of the bars.
        label: of the bars in the legend.
        axes: where to draw; None makes a new figure.

    Returns:
        The axes.

    >>> from directgp import GaussianMixture
    >>> p = GaussianMixture(np.zeros((1, 4)), np.ones((1, 4)), np.zeros(1))
    >>> pit_histogram(p, np.array([-1.0, 0.0, 1.0, 2.0]), num_bins=4).get_xlabel()
    'predicted probability of a smaller y'
    """
    values = metrics.pit(predictive, y)
    axes = _new_axes() if axes is None else axes
    axes.hist(
        values, np.linspace(0, 1, num_bins + 1).tolist(), density=True, color=colour, alpha=0.6,
        edgecolor="white", label=label or None,
    )  # fmt: skip
    spread = 1.96 * np.sqrt((num_bins - 1) / len(values))
    for height, dashes in ((max(0.0, 1 - spread), ":"), (1.0, "--"), (1 + spread, ":")):
        axes.axhline(height, color="black", linewidth=1, linestyle=dashes)
    axes.set_xlim(0, 1)
    _label(axes, "Calibration (PIT)", "predicted probability of a smaller y", "density")
    return axes


def coverage(
    predictive: Predictive,
    y: Any,
    *,
    levels: Any = None,
    colour: str = COLOURS["blue"],
    label: str = "",
    marker: str = "o",
    dashes: str = "-",
    axes: Axes | None = None,
) -> Axes:
    """Share of rows inside central intervals of every level: on the diagonal if calibrated.

    Args:
        predictive: the predictive distribution of every row.
        y: the observed values, [N].
        levels: coverage of the intervals, by default 0.05, 0.1, …, 0.95.
        colour: of the line.
        label: of the line in the legend.
        marker: of the levels, as matplotlib names it.
        dashes: line style, as matplotlib names it.
        axes: where to draw; None makes a new figure.

    Returns:
        The axes.

    >>> from directgp import GaussianMixture
    >>> p = GaussianMixture(np.zeros((1, 4)), np.ones((1, 4)), np.zeros(1))
    >>> coverage(p, np.array([-1.0, 0.0, 1.0, 2.0]), levels=[0.5, 0.9]).get_xlabel()
    'nominal coverage'
    """
    levels = np.linspace(0.05, 0.95, 19) if levels is None else np.asarray(levels, np.float64)
    shares = metrics.coverage_curve(predictive, y, levels)
    axes = _new_axes() if axes is None else axes
    axes.plot([0, 1], [0, 1], color=_GREY, linewidth=1, linestyle="--")
    axes.plot(
        levels, shares, color=colour, label=label or None, marker=marker, linestyle=dashes,
        markersize=4, linewidth=1.3,
    )  # fmt: skip
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    _label(axes, "Coverage of intervals", "nominal coverage", "share of rows inside")
    axes.text(0.04, 0.93, "above: intervals too wide", color=_GREY, fontsize="small")
    axes.text(0.96, 0.04, "below: too narrow", color=_GREY, fontsize="small", ha="right")
    return axes


def learning_curve(
    history: Mapping[str, Sequence[float | int]], *, axes: Axes | None = None
) -> Axes:
    """Objective = risk + penalty per row during training, and the validation loss if there is one.

    Args:
        history: that of a `FittedGP`; where β was chosen it is that of the final stage.
        axes: where to draw; None makes a new figure.

    Returns:
        The axes.

    >>> learning_curve(
    ...     {"step": [50, 100], "risk": [1.0, 0.8], "penalty": [0.1, 0.15],
    ...      "objective": [1.1, 0.95], "validation": []}
    ... ).get_xlabel()
    'step'
    """
    _check_mapping("history", history)
    axes = _new_axes() if axes is None else axes
    step, risk, objective = (np.asarray(history[k]) for k in ("step", "risk", "objective"))
    axes.fill_between(
        step, risk, objective, color=COLOURS["sky"], alpha=0.45, linewidth=0,
        label="penalty (β · divergence)",
    )  # fmt: skip
    axes.plot(step, objective, color=COLOURS["black"], label="objective")
    axes.plot(step, risk, color=COLOURS["blue"], linestyle="--", label="risk (loss on train rows)")
    if len(history["validation"]):
        axes.plot(
            step, history["validation"], color=COLOURS["vermilion"], linestyle=":", linewidth=2,
            label="validation loss",
        )  # fmt: skip
    _label(axes, "Training", "step", "per row, standardised units")
    axes.legend(frameon=False)
    return axes


def beta_curve(
    curve: Mapping[float, float], *, chosen: float | None = None, axes: Axes | None = None
) -> Axes:
    """Validation loss of every β that was tried.

    Candidates that were dropped early were trained for fewer steps than the chosen one.

    Args:
        curve: `FittedGP.beta_curve`, the loss by β.
        chosen: the β to mark, by default that of the smallest loss.
        axes: where to draw; None makes a new figure.

    Returns:
        The axes.

    >>> beta_curve({1.0: 0.5, 0.1: 0.4, 0.01: 0.6}).get_xscale()
    'log'
    """
    _check_mapping("beta_curve", curve)
    if not curve:
        raise DirectGPError("no β was tried, the curve is empty; fit with beta='auto'")
    axes = _new_axes() if axes is None else axes
    betas = sorted(curve)
    chosen = min(curve, key=lambda beta: curve[beta]) if chosen is None else chosen
    if betas[0] > 0:
        axes.set_xscale("log")
    else:
        axes.set_xscale("symlog", linthresh=min((b for b in betas if b > 0), default=1.0))
    axes.plot(betas, [curve[b] for b in betas], color=COLOURS["blue"], marker="o", markersize=4)
    axes.plot(
        chosen, curve[chosen], color=COLOURS["vermilion"], marker="D", markersize=8,
        linestyle="none", label=f"chosen: β = {chosen:.3g}",
    )  # fmt: skip
    _label(axes, "Choice of β", "β, the weight of the divergence", "validation loss per row")
    axes.legend(frameon=False)
    return axes


def _new_axes() -> Axes:
    return Figure(figsize=(6.4, 4.0), layout="constrained").add_subplot()


def _label(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set(title=title, xlabel=x, ylabel=y)
    axes.spines[["top", "right"]].set_visible(False)


def _check_mapping(name: str, given: Any) -> None:
    """Refuse what is no record of a fit, most likely the fit itself."""
    if not isinstance(given, Mapping):
        raise WrongType(
            f"{name} must be the {name} of a fit, got {type(given).__name__}; give fitted.{name}"
        )


def _row_scores(scores: Any) -> Float[np.ndarray, "N"]:
    """Scores as [N]; a predictive, a fit or a table of scores is none."""
    array = np.asarray(None if isinstance(scores, Predictive) else scores)
    if array.dtype.kind not in "fiub" or array.ndim != 1:
        raise WrongType(
            f"scores must be one number per row, got {type(scores).__name__} of shape "
            f"{array.shape}; give e.g. metrics.row_scores(predictive, y)['nll']"
        )
    return array.astype(np.float64)


def _one_input(x: Any, num_rows: int) -> Float[np.ndarray, "N"]:
    """`x` as [N]; a table of one column is that column."""
    values = np.asarray(x, dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (num_rows,):
        raise DirectGPError(
            f"x must be one input for each of {num_rows} rows, got shape {values.shape}; "
            "pick a column, e.g. X[:, 0]"
        )
    return values
