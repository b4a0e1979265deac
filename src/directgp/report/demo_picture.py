"""The demonstration as a figure: ``python -m directgp.report.demo_picture`` (or ``make demo``).

Separate from `demo_models`, so that ``directgp demo`` does not need matplotlib.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure
from rich.console import Console

from directgp import metrics, plots
from directgp.report.demo_models import (
    END,
    LEVEL,
    METHODS,
    Outcome,
    Problem,
    Rows,
    diabetes,
    generated,
    score_table,
    train,
    true_std,
    truth,
    verdict,
)


class Line(NamedTuple):
    """Style of the lines of one method."""

    colour: str
    marker: str
    dashes: str


LINES = {
    "ELBO": Line(plots.COLOURS["orange"], "s", ":"),
    "β-ELBO": Line(plots.COLOURS["green"], "^", "--"),
    "direct": Line(plots.COLOURS["blue"], "o", "-"),
}


def picture(problem: Problem, outcomes: dict[str, Outcome]) -> Figure:
    """Predictive bands of each method; below, their width, local coverage and NLL along x.

    Args:
        problem: the generated problem.
        outcomes: results by method.
    """
    figure = Figure(figsize=(11.5, 7.2), layout="constrained")
    above, below = figure.subplots(2, 3, sharex=True)
    learnt, judged = problem.splits[0].train, problem.splits[0].test
    x, y = judged.X[:, 0], judged.y
    order = np.argsort(x)
    lower, upper = truth(x).interval(LEVEL)

    limits = (learnt.y.min() - 1.0, learnt.y.max() + 0.1)  # room for the legend below the data
    for axes, (name, line) in zip(above, LINES.items(), strict=True):
        outcome = outcomes[name]
        axes.plot(*_columns(learnt), ".", color="#888888", markersize=2.5, zorder=0, label="data")
        plots.band(x, outcome.predictive, levels=[LEVEL], colour=line.colour, axes=axes)
        for edge, label in ((lower, f"true {LEVEL:.0%} interval"), (upper, None)):
            axes.plot(x[order], edge[order], "k--", linewidth=0.9, label=label)
        nll = metrics.nll(outcome.predictive, y)
        axes.set(ylabel="", xlabel="", ylim=limits, xlim=(0.0, END))
        axes.set_title(f"{name}: test NLL {nll:.2f}".replace("-0", "−0"))
        axes.legend(loc="lower left", frameon=False, fontsize="small", ncols=2)
    above[0].set_ylabel("y")

    width, inside, cost = below
    for name, line in LINES.items():
        predictive = outcomes[name].predictive
        scores = metrics.row_scores(predictive, y, LEVEL)
        width.plot(
            x[order], predictive.std[order], color=line.colour, linestyle=line.dashes,
            linewidth=2, label=name,
        )  # fmt: skip
        for axes, values in ((inside, 100 * scores["coverage"]), (cost, scores["nll"])):
            plots.local_score(
                x, values, label=name, colour=line.colour, marker=line.marker,
                dashes=line.dashes, axes=axes,
            )  # fmt: skip
    width.plot(x[order], true_std(x)[order], "k--", linewidth=0.9, label="truth")
    inside.axhline(100 * LEVEL, color="black", linestyle="--", linewidth=0.9)
    inside.annotate(f"nominal: {LEVEL:.0%}", (0.2, 100 * LEVEL - 3.0), va="top", fontsize="small")
    best = metrics.row_scores(truth(x), y, LEVEL)["nll"]
    plots.local_score(x, best, colour="black", marker="", dashes="--", label="truth", axes=cost)
    width.set(title="Predicted std", ylabel="standard deviation of y", ylim=(0, None))
    inside.set(title="Rows inside their interval", ylabel="local coverage, %", ylim=(None, 101))
    cost.set(title="Local loss", ylabel="local test NLL (lower is better)")
    for axes in below:
        axes.set_xlabel("x")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize="small")
    figure.suptitle(
        "One constant noise level in all three models: only the direct loss lets the standard "
        "deviation follow the data"
    )
    return figure


def _columns(rows: Rows) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
    return rows.X[:, 0], rows.y


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, print the tables and write the picture."""
    parser = argparse.ArgumentParser("demo", description="ELBO, β-ELBO and direct loss")
    parser.add_argument("--output", type=Path, default=Path("directgp-demo.png"), metavar="PNG")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--quick", action="store_true", help="only the generated problem, smaller and less accurate"
    )
    options = parser.parse_args(arguments)
    began = time.monotonic()
    console = Console()
    if not console.is_terminal:
        console = Console(width=110)
    problems = [generated(options.seed, options.quick)]
    if not options.quick:
        problems.append(diabetes(options.seed))
    for problem in problems:
        outcomes = {}
        with console.status("") as status:
            for method in METHODS:
                status.update(f"{problem.name}: training with {method.name} …")
                outcomes[method.name] = train(method, problem, options.seed)
        console.print(score_table(problem, outcomes))
        console.print(verdict(outcomes), highlight=False)
        console.print()
        if problem.test_truth is not None:
            options.output.parent.mkdir(parents=True, exist_ok=True)
            picture(problem, outcomes).savefig(options.output, dpi=110)
    console.print(
        "β is the median over splits; ± is one standard error; differences are paired, row by "
        "row, and called clear beyond two standard errors. Fit seconds include compiling.",
        style="dim",
    )
    console.print(f"Picture: {options.output.resolve()}", soft_wrap=True, highlight=False)
    console.print(f"Total: {time.monotonic() - began:.0f} s", highlight=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
