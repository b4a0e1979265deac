"""docs/experiments.md and its pictures, generated from experiments/results.

python -m experiments.page
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from directgp.plots import COLOURS
from experiments import airline, nonconjugate
from experiments.store import Store

SHORT, LONG = 6, 20
"""Epochs of the two runs on airline."""
DOCS = Path(__file__).resolve().parents[1] / "docs"
_STYLES = {
    "ELBO": ("vermilion", "-"),
    "β-ELBO": ("orange", "--"),
    "DLM joint": ("blue", "-"),
    "DLM fixed": ("sky", "--"),
    "DLM exact": ("black", "-"),
    "bMC-1": ("purple", ":"),
    "bMC-10": ("purple", "--"),
    "bMC-100": ("purple", "-"),
    "uPS-1": ("green", ":"),
    "uPS-10": ("green", "-"),
}


def mean_and_error(values: list[float]) -> tuple[float, float]:
    """The mean over repetitions and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def classes_and_counts() -> list[str]:
    """The study of `experiments.nonconjugate`: a table of mean ± standard error, and a picture."""
    store = Store("nonconjugate")
    lines = [
        "| data | n | " + " | ".join(nonconjugate.METHODS) + " |",
        "|---|---|" + "---|" * len(nonconjugate.METHODS),
    ]
    figure = Figure(figsize=(9, 5.4), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for dataset, axes in zip(nonconjugate.DATASETS, panels, strict=True):
        curves: dict[str, list[tuple[int, float, float]]] = {}
        for size in nonconjugate.SIZES:
            cells = []
            for method in nonconjugate.METHODS:
                rows = store.where(data=dataset.name, size=size, method=method)
                scores = [row["nll"] for row in rows]
                if len(scores) < 2:
                    cells.append("not run")
                    continue
                mean, error = mean_and_error(scores)
                cells.append(f"{mean:.4f} ± {error:.4f}")
                curves.setdefault(method, []).append((size, mean, error))
            lines.append(f"| {dataset.name} | {size} | " + " | ".join(cells) + " |")
        for shift, (method, points) in enumerate(curves.items()):
            colour, dashes = _STYLES[method]
            sizes, means, errors = np.array(points).T
            axes.errorbar(sizes * 1.03**shift, means, errors, color=COLOURS[colour], ls=dashes,
                          marker="o", ms=4, capsize=3, label=method)  # fmt: skip
        axes.set(title=dataset.name, xlabel="training rows", ylabel="test NLL", xscale="log")
        axes.set_xticks(nonconjugate.SIZES, [str(size) for size in nonconjugate.SIZES])
        axes.minorticks_off()
    panels[0].legend(frameon=False, fontsize=8)
    figure.savefig(DOCS / "images" / "classes_and_counts.png", dpi=110)
    return lines


def learning_curves() -> list[str]:
    """The study of `experiments.airline`: final test NLL a cell, and the curves as a picture."""
    store = Store("airline")
    lines = [
        "| method | " + " | ".join(f"β = {beta:g}" for beta in airline.BETAS) + " | s an epoch |",
        "|---|" + "---|" * (len(airline.BETAS) + 1),
    ]
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, len(airline.BETAS), sharey=True)
    for method in airline.METHODS:
        colour, dashes = _STYLES[method]
        cells, seconds = [], []
        for beta, axes in zip(airline.BETAS, panels, strict=True):
            rows = store.where(**{"method": method, "β": beta, "epochs": SHORT})
            if not rows:
                cells.append("not run")
                continue
            row = rows[-1]
            cells.append(f"{row['final']:.4f}")
            seconds.append(row["epoch_seconds"])
            axes.plot(row["curve"], color=COLOURS[colour], ls=dashes, label=method)
            axes.set(title=f"β = {beta:g}", xlabel="epoch")
        shown = f"{min(seconds):.1f}" if seconds else ""
        lines.append(f"| {method} | " + " | ".join(cells) + f" | {shown} |")
    finals = [row["final"] for row in store.where(epochs=SHORT)]
    if finals:
        low, high = min(finals), max(finals)
        panels[0].set_ylim(low - 0.1 * (high - low), high + 0.6 * (high - low))
    panels[0].set_ylabel("test NLL")
    panels[-1].legend(frameon=False, fontsize=8)
    figure.savefig(DOCS / "images" / "airline.png", dpi=110)
    return lines


def long_run() -> list[str]:
    """Final test NLL of the longer run at β = 0.1."""
    rows = Store("airline").where(epochs=LONG)
    if not rows:
        return []
    cells = ", ".join(f"{row['method']} {row['final']:.4f}" for row in rows)
    return [f"After {LONG} epochs at β = 0.1: {cells}."]


def main() -> None:
    """Write the page from whatever has been run."""
    text = (Path(__file__).parent / "page.md").read_text()
    text = text.replace("{{classes_and_counts}}", "\n".join(classes_and_counts()))
    text = text.replace("{{airline}}", "\n".join(learning_curves()))
    text = text.replace("{{airline_long}}", "\n".join(long_run()))
    (DOCS / "experiments.md").write_text(text)


if __name__ == "__main__":
    main()
