"""Histograms of what `directgp.theory.gradients` measures, for several estimators of a gradient."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from directgp.errors import DirectGPError
from directgp.plots.colours import COLOURS
from directgp.theory.gradients import GradientStatistics


def gradient_histograms(statistics: Mapping[str, GradientStatistics]) -> Figure:
    """Histograms of gradient estimates: direction, size and bias (`dlm-supp` Fig. 8).

    Args:
        statistics: what `theory.gradient_statistics` measured, by the name of the estimator.

    Returns:
        A figure with a row for each name; columns share their axis, so that rows can be compared.
    """
    if not statistics:
        raise DirectGPError("nothing to plot: give at least one name with its GradientStatistics")
    figure = Figure(figsize=(9.0, 2.1 * len(statistics) + 0.6), layout="constrained")
    axes = figure.subplots(len(statistics), 3, squeeze=False, sharex="col")
    titles = ("condition (i): gᵀĝ / ‖g‖²", "condition (ii): ‖ĝ‖ / ‖g‖", "bias of each parameter")
    for row, (name, one) in zip(axes, statistics.items(), strict=True):
        for axis, values, ideal in zip(
            row, (one.direction, one.size, one.bias), (1.0, 1.0, 0.0), strict=True
        ):
            axis.hist(values, bins=30, color=COLOURS["blue"])
            axis.axvline(ideal, color=COLOURS["black"], linewidth=0.8)
        row[0].set_ylabel(name)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=10)
    return figure
