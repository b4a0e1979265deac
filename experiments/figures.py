"""Plots of a figure's rows, with error bars.

Colours are the palette of Okabe and Ito; every method also has its own marker and dashes, which are
the same in all plots (`STYLES`).
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from directgp.plots import COLOURS
from directgp.registry import Registry
from experiments.figure_rows import Evidence, Row, grouped, summarised, values_of, where

drawings = Registry("drawing")


class Style(NamedTuple):
    """Style of a series."""

    colour: str
    marker: str
    dashes: str


STYLES = {
    "ELBO": Style("vermilion", "s", "-"),
    "ELBO, Matérn": Style("orange", "d", "--"),
    "β-ELBO": Style("orange", "D", "--"),
    "FITC": Style("purple", "v", ":"),
    "DLM joint": Style("blue", "o", "-"),
    "DLM fixed": Style("sky", "^", "--"),
    "SQ-DLM joint": Style("green", "P", "-"),
    "SQ-DLM joint, Z fixed": Style("green", "<", ":"),
    "SQ-DLM fixed": Style("black", "X", "--"),
    "DLM": Style("blue", "o", "-"),
    "DLM, β = ⅓": Style("sky", "^", "--"),
    "cost-trained": Style("green", "P", "-"),
    "γ loss, 1.1": Style("sky", "^", "--"),
    "direct γ loss, 1.1": Style("blue", "o", ":"),
    "exact": Style("black", "o", "-"),
    "bMC-1": Style("purple", "v", ":"),
    "bMC-10": Style("vermilion", "*", "--"),
    "bMC-100": Style("orange", "D", "-"),
    "uPS-1": Style("sky", "^", ":"),
    "uPS-10": Style("blue", "P", "-"),
    "smooth-bMC-1": Style("green", "<", ":"),
    "smooth-bMC-10": Style("green", ">", "--"),
}
_OTHERS = [
    Style(colour, marker, dashes)
    for colour, marker, dashes in zip(
        ("blue", "vermilion", "green", "orange", "purple", "sky", "black") * 2,
        "os^DvPX*<>phd8",
        ("-", "--", ":", "-.", "-", "--", ":") * 2,
        strict=True,
    )
]
"""Styles of other series; the second occurrence of a colour has another marker."""
_PANEL = (3.3, 2.7)
_MOST_COLUMNS = 3
_LEGEND_ENTRY = 1.35
"""Width of a legend entry in inches."""


def style_of(name: Any, place: int) -> dict[str, Any]:
    """Keyword arguments of matplotlib for a series.

    Args:
        name: the name of the series, which may have a style in `STYLES`.
        place: the index of the series, for other names.
    """
    found = STYLES.get(str(name), _OTHERS[place % len(_OTHERS)])
    return {"color": COLOURS[found.colour], "marker": found.marker, "linestyle": found.dashes}


def draw(found: Evidence, plot: Mapping[str, Any]) -> Figure | None:
    """One plot of a spec, or None without rows for it.

    Args:
        found: the rows of the figure.
        plot: the options of the plot in the spec.
    """
    options = {name: value for name, value in plot.items() if name not in ("draw", "where")}
    rows = where(found.rows, plot.get("where"))
    return drawings.lookup(plot.get("draw", "lines"))(rows, **options) if rows else None


def png(figure: Figure) -> bytes:
    """The figure as a small PNG; equal rows give equal bytes."""
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=120, metadata={"Software": None})
    few = Image.open(drawn).convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(small, "PNG", optimize=True)
    return small.getvalue()


def panels_of(
    rows: Sequence[Row], panel: str | None, share_y: bool
) -> tuple[Figure, list[tuple[str, Axes, list[Row]]]]:
    """A figure with a panel for each value of a label.

    Args:
        rows: the rows.
        panel: the label; None for one panel.
        share_y: whether panels share their vertical scale.

    Returns:
        The figure, and for each panel its title, axes and rows.
    """
    groups = grouped(rows, [panel]) if panel else {("",): list(rows)}
    columns = 2 if len(groups) == 4 else min(len(groups), _MOST_COLUMNS)
    lines = -(-len(groups) // columns)
    width = max(columns, 1.5) * _PANEL[0]
    figure = Figure(figsize=(width, lines * _PANEL[1] + 0.5), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharey=share_y).ravel()
    for spare in axes[len(groups) :]:
        spare.remove()
    named = zip(groups.items(), axes, strict=False)
    return figure, [(_title(panel, group[0]), own, part) for (group, part), own in named]


def _title(panel: str | None, value: Any) -> str:
    return str(value) if panel in (None, "data", "method") else f"{symbol(panel)} = {value}"


def symbol(name: str) -> str:
    """The symbol of a label."""
    return {"beta": "β", "size": "n"}.get(name, name)


def finish(figure: Figure, panels: Sequence[tuple[str, Axes, list[Row]]], x: str, y: str) -> Figure:
    """Add titles, axis labels and one legend below all panels.

    Args:
        figure: the figure.
        panels: title, axes and rows of each panel.
        x: label of the horizontal axes.
        y: label of the vertical axes.
    """
    handles: dict[str, Any] = {}
    for number, (title, axes, _) in enumerate(panels):
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel(x)
        spec = axes.get_subplotspec()
        if number == 0 or (spec is not None and spec.is_first_col()):
            axes.set_ylabel(y)
        found = axes.get_legend_handles_labels()
        handles |= {label: handle for handle, label in zip(*found, strict=True)}
    if len(handles) > 1:
        figure.legend(
            list(handles.values()), list(handles), loc="outside lower center",
            ncols=max(2, int(figure.get_figwidth() / _LEGEND_ENTRY)), frameon=False, fontsize=8.5,
        )  # fmt: skip
    return figure


def panels_and_series(
    rows: Sequence[Row], y: str, panel: str | None, share_y: bool, series: str
) -> tuple[Figure, Any, list[Any]] | None:
    """An empty figure with its panels, and the names of the series; None without rows to draw.

    Args:
        rows: the rows.
        y: the score that a row must have.
        panel: the label with one panel per value.
        share_y: whether panels share their vertical scale.
        series: the label with one series per value.
    """
    rows = [row for row in rows if row.scores.get(y) is not None]
    return (*panels_of(rows, panel, share_y), values_of(rows, series)) if rows else None


@drawings.register("lines")
def lines(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    xlabel: str,
    ylabel: str,
    series: str = "method",
    panel: str | None = None,
    xscale: str = "linear",
    yscale: str = "linear",
    share_y: bool = False,
) -> Figure | None:
    """Means ± one standard error over seeds, against a label that varies."""
    drawn = panels_and_series(rows, y, panel, share_y, series)
    if drawn is None:
        return None
    figure, panels, names = drawn
    for _, axes, own in panels:
        axes.set(xscale=xscale, yscale=yscale)
        for place, name in enumerate(names):
            found = summarised(where(own, {series: name}), [x], y)
            if not found:
                continue
            points = np.array([(at[0], mean, error) for at, (mean, error, _) in found.items()])
            points = points[np.argsort(points[:, 0])]
            shift = _dodge(points[:, 0], place - (len(names) - 1) / 2, xscale, own, x)
            axes.errorbar(
                shift, points[:, 1], np.nan_to_num(points[:, 2]), label=str(name), capsize=2.5,
                markersize=5, linewidth=1.3, elinewidth=1.0, **style_of(name, place),
            )  # fmt: skip
        places = sorted(values_of(own, x))
        if xscale == "log" and len(places) <= 7:
            axes.set_xticks(places, [f"{place:g}" for place in places])
            axes.minorticks_off()
    return finish(figure, panels, xlabel, ylabel)


def _dodge(places: np.ndarray, step: float, scale: str, rows: Sequence[Row], x: str) -> np.ndarray:
    """Shift positions, so that error bars of different series do not overlap."""
    if scale == "log":
        return places * 1.025**step
    values = np.array(values_of(rows, x), np.float64)
    return places + 0.008 * step * max(np.ptp(values), 1e-9)


@drawings.register("curves")
def curves(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    xlabel: str,
    ylabel: str,
    series: str = "method",
    panel: str | None = None,
    yscale: str = "linear",
    share_y: bool = True,
    clip: float | int | None = None,
) -> Figure | None:
    """Learning curves: the mean over seeds, with a band of ± one standard error for several.

    `clip` limits the vertical axis to that many times the range of the final values above their
    maximum, so that high initial values do not compress the rest.
    """
    rows = [row for row in rows if row.curve.get(y) and row.curve.get(x)]
    if not rows:
        return None
    figure, panels = panels_of(rows, panel, share_y)
    names = values_of(rows, series)
    for _, axes, own in panels:
        axes.set_yscale(yscale)
        for place, name in enumerate(names):
            mine = where(own, {series: name})
            if not mine:
                continue
            shortest = min(len(row.curve[y]) for row in mine)
            at = np.asarray(mine[0].curve[x][:shortest], np.float64)
            values = np.array([row.curve[y][:shortest] for row in mine], np.float64)
            look = style_of(name, place)
            every = max(1, shortest // 6)
            axes.plot(
                at, values.mean(axis=0), label=str(name), markevery=(place % every, every),
                markersize=4.5, linewidth=1.3, **look,
            )  # fmt: skip
            if len(mine) > 1:
                error = values.std(axis=0, ddof=1) / np.sqrt(len(mine))
                low, high = values.mean(axis=0) - error, values.mean(axis=0) + error
                axes.fill_between(at, low, high, color=look["color"], alpha=0.18, linewidth=0)
    if clip is not None:
        for _, axes, own in panels:
            final = [row.curve[y][-1] for row in (rows if share_y else own)]
            spread = max(max(final) - min(final), 1e-9)
            axes.set_ylim(min(final) - 0.1 * spread, max(final) + clip * spread)
    return finish(figure, panels, xlabel, ylabel)


@drawings.register("bars")
def bars(
    rows: Sequence[Row],
    *,
    y: str,
    ylabel: str,
    x: str = "data",
    xlabel: str = "",
    series: str = "method",
    panel: str | None = None,
    yscale: str = "linear",
    share_y: bool = False,
) -> Figure | None:
    """Means ± one standard error for each value of a label that has no order, side by side."""
    drawn = panels_and_series(rows, y, panel, share_y, series)
    if drawn is None:
        return None
    figure, panels, names = drawn
    for _, axes, own in panels:
        axes.set_yscale(yscale)
        places = values_of(own, x)
        for place, name in enumerate(names):
            found = summarised(where(own, {series: name}), [x], y)
            step = 0.7 * ((place + 0.5) / len(names) - 0.5)
            at = [places.index(group[0]) + step for group in found]
            means, errors, _ = np.array(list(found.values())).reshape(-1, 3).T
            look: dict[str, Any] = style_of(name, place) | {"linestyle": "none"}
            axes.errorbar(
                at, means, np.nan_to_num(errors), label=str(name), capsize=2.5, markersize=5.5,
                elinewidth=1.0, **look,
            )  # fmt: skip
        named = [] if x == panel else [str(place) for place in places]  # else it is in the title
        axes.set_xticks(range(len(named)), named)
        axes.set_xlim(-0.6, len(places) - 0.4)
        axes.grid(axis="y", linewidth=0.4, alpha=0.6)
    return finish(figure, panels, xlabel, ylabel)


@drawings.register("histograms")
def histograms(
    rows: Sequence[Row],
    *,
    y: Sequence[str],
    xlabels: Sequence[str],
    series: str = "method",
    ideal: Sequence[float | int] = (),
) -> Figure | None:
    """A row of panels for each series, a column for each list in the curves of the runs.

    Panels have separate scales, as these may differ by orders of magnitude.
    """
    rows = [row for row in rows if all(name in row.curve for name in y)]
    if not rows:
        return None
    names = values_of(rows, series)
    figure = Figure(figsize=(max(4.2, 3.0 * len(y)), 1.15 * len(names) + 0.5), layout="constrained")
    axes = figure.subplots(len(names), len(y), squeeze=False)
    for place, name in enumerate(names):
        own = where(rows, {series: name})
        for column, values in enumerate(y):
            panel = axes[place][column]
            seen = np.concatenate([np.asarray(row.curve[values], np.float64) for row in own])
            panel.hist(seen, bins=30, color=style_of(name, place)["color"], alpha=0.75)
            if column < len(ideal):
                panel.axvline(ideal[column], color="black", linewidth=1.0, linestyle="--")
            panel.spines[["top", "right"]].set_visible(False)
            panel.set_yticks([])
            panel.tick_params(labelsize=8)
        axes[place][0].set_ylabel(str(name), rotation=0, ha="right", va="center", fontsize=9)
    for column, label in enumerate(xlabels):
        axes[-1][column].set_xlabel(label)
    return figure
