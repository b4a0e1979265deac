"""docs/decision_results.md and its picture, generated from experiments/results.

python -m experiments.decisions show
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from directgp.plots import COLOURS
from experiments.decisions import CLASSES, METHODS, ORDERS, RATIOS, SEEDS
from experiments.page import DOCS, mean_and_error
from experiments.store import Store

_STYLES = {
    "ELBO": "vermilion",
    "DLM": "blue",
    "DLM, β = ⅓": "sky",
    "cost-trained": "green",
}


def costs(store: Store, **which) -> dict[int, dict]:
    """Runs by seed."""
    return {row["seed"]: row for row in store.where(**which)}


def class_table(store: Store) -> list[str]:
    """Realised cost a row, mean ± standard error over splits; the paired change from DLM below."""
    lines = [
        "| data | miss : false alarm | "
        + " | ".join(METHODS)
        + " | cost-trained − DLM | always act | never act |",
        "|---|---|" + "---|" * (len(METHODS) + 3),
    ]
    for data in CLASSES:
        for ratio in RATIOS:
            runs = {m: costs(store, data=data, ratio=ratio, method=m) for m in METHODS}
            if any(len(found) < len(SEEDS) for found in runs.values()):
                lines.append(f"| {data} | {ratio} : 1 |" + " not run |" * (len(METHODS) + 3))
                continue
            cells = [shown([r["cost"] for r in runs[m].values()]) for m in METHODS]
            change = [runs["cost-trained"][s]["cost"] - runs["DLM"][s]["cost"] for s in SEEDS]
            always, never = (
                np.mean([runs["DLM"][s][which] for s in SEEDS]) for which in ("always", "never")
            )
            lines.append(
                f"| {data} | {ratio} : 1 | {' | '.join(cells)} | {shown(change, signed=True)} | "
                f"{always:.3f} | {never:.3f} |"
            )
    return lines


def order_table(store: Store) -> list[str]:
    """The newsvendor: realised and expected cost, and how often the order was too small."""
    lines = [
        "| predictive | realised cost | expected cost | too few (should be 20 %) |",
        "|---|---|---|---|",
    ]
    for method in ORDERS:
        rows = store.where(data="bike_count", method=method)
        if len(rows) < 2:
            lines.append(f"| {method} | not run | | |")
            continue
        cost, expected = (shown([r[k] for r in rows], 1) for k in ("cost", "expected"))
        short = 100 * np.mean([row["short"] for row in rows])
        lines.append(f"| {method} | {cost} | {expected} | {short:.1f} % |")
    rows = store.where(data="bike_count", method=next(iter(ORDERS)))
    if len(rows) > 1:
        always = shown([row["always"] for row in rows], 1)
        lines.append(f"| the 80 % quantile of all training counts, for every hour | {always} | | |")
    return lines


def shown(values: list[float], places: int = 4, signed: bool = False) -> str:
    """Mean ± standard error."""
    mean, error = mean_and_error(values)
    return f"{mean:{'+' if signed else ''}.{places}f} ± {error:.{places}f}".replace("-", "−")


def picture(store: Store, path: Path) -> None:
    """Realised cost by ratio, a panel for each dataset."""
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, data in zip(figure.subplots(1, len(CLASSES)), CLASSES, strict=True):
        for k, method in enumerate(METHODS):
            found = [costs(store, data=data, ratio=r, method=method).values() for r in RATIOS]
            if any(len(rows) < 2 for rows in found):
                continue
            means, errors = np.array([mean_and_error([r["cost"] for r in f]) for f in found]).T
            place = np.arange(len(RATIOS)) + 0.12 * (k - 1.5)
            colour = COLOURS[_STYLES[method]]
            axes.errorbar(place, means, errors, fmt="o", color=colour, label=method, capsize=3)
        axes.set_xticks(range(len(RATIOS)), [f"{r} : 1" for r in RATIOS])
        axes.set_title(data)
        axes.set_xlabel("cost of a miss : cost of a false alarm")
        axes.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("realised test cost a row")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def write(store: Store) -> None:
    """The page, from whatever has been run."""
    text = (Path(__file__).parent / "decisions_page.md").read_text()
    for mark, lines in {
        "classes": class_table(store),
        "orders": order_table(store),
    }.items():
        text = text.replace("{{" + mark + "}}", "\n".join(lines))
    (DOCS / "decision_results.md").write_text(text)
    picture(store, DOCS / "images" / "decision_costs.png")
