"""Average ranks of methods over datasets and splits, as in `dspp` Tables 1–3."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.stats import rankdata

from experiments.figure_rows import Row, grouped, values_of, where
from experiments.figures import drawings, style_of
from experiments.judges import Verdict, judges

_NAMES = {"nll": "NLL", "rmse": "RMSE", "crps": "CRPS"}


def average_ranks(rows: Sequence[Row], score: str) -> tuple[dict[str, float], int]:
    """The mean rank of every method (1 is lowest) over all pairs of data and seed with all methods.

    Args:
        rows: the rows of a figure.
        score: the score to rank by.

    Returns:
        Mean rank by method, and the number of pairs.
    """
    methods = values_of(rows, "method")
    names = [n for n in (rows[0].labels if rows else ()) if n != "method"]
    found = []
    for own in grouped(rows, names).values():
        scores = {row["method"]: row.scores.get(score) for row in own}
        if all(scores.get(method) is not None for method in methods):
            found.append(rankdata([scores[method] for method in methods]))
    means = np.mean(found, axis=0) if found else np.full(len(methods), np.nan)
    return dict(zip(methods, means.tolist(), strict=True)), len(found)


@judges.register("average-rank")
def average_rank(
    rows: Sequence[Row], *, score: str, first: str, than: Sequence[str] | None = None
) -> Verdict:
    """Check that `first` alone has the lowest average rank; "partly" if one other is as low.

    Args:
        rows: the rows of a figure.
        score: the score to rank by.
        first: the method with the lowest rank according to the paper.
        than: the methods to compare with; None: all.
    """
    if than is not None:
        rows = where(rows, {"method": [first, *than]})
    ranks, count = average_ranks(rows, score)
    if not count or first not in ranks:
        return Verdict("not run", "its runs are not in the store")
    order = sorted(ranks, key=ranks.__getitem__)
    said = ", ".join(f"{method} {ranks[method]:.2f}" for method in order)
    place = sum(rank <= ranks[first] for rank in ranks.values()) - 1
    outcome = "reproduced" if place == 0 else "partly" if place == 1 else "not"
    return Verdict(
        outcome, f"average ranks in {score} over {count} pairs of data and split: {said}"
    )


@drawings.register("average-ranks")
def draw_average_ranks(
    rows: Sequence[Row], *, y: Sequence[str], xlabel: str = "average rank (1 is best)"
) -> Figure | None:
    """A line for each score, a marker with its number for each method."""
    methods = values_of(rows, "method")
    figure = Figure(figsize=(6.6, 0.75 * len(y) + 1.1), layout="constrained")
    axes = figure.subplots()
    for line, score in enumerate(y):
        ranks, count = average_ranks(rows, score)
        if not count:
            return None
        for place, method in enumerate(methods):
            look: dict[str, Any] = style_of(method, place) | {"linestyle": "none"}
            label = method if line == 0 else None
            axes.plot(ranks[method], -line, markersize=8, label=label, **look)
            above = sorted(ranks, key=lambda m: ranks[m]).index(method) % 2 == 0
            axes.annotate(
                f"{ranks[method]:.2f}", (ranks[method], -line), xytext=(0, 8 if above else -15),
                textcoords="offset points", ha="center", fontsize=8,
            )  # fmt: skip
    axes.set(xlabel=xlabel, xlim=(0.8, len(methods) + 0.2), ylim=(0.55 - len(y), 0.55))
    axes.set_yticks([-line for line in range(len(y))], [_NAMES.get(s, s) for s in y])
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", linewidth=0.4, alpha=0.6)
    figure.legend(
        loc="outside lower center", ncols=min(len(methods), 5), frameon=False, fontsize=8.5
    )
    return figure
