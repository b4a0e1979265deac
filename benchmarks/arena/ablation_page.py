"""The table of the arena's page on the contribution of each ingredient of the default."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.arena.ablation import VARIANTS
from benchmarks.arena.store import Key, read_runs

_METRICS = {"nll": "NLL", "crps": "CRPS", "rmse": "RMSE"}
_TEXT = """## What each ingredient gives

The default regressor with one ingredient changed, minus the default itself, on the same splits:
above 0 the ingredient helps. Means over the runs, their standard errors, and in brackets on how
many of them the change is for the worse."""


def ablation(folder: Path, ours: str) -> list[str]:
    """The section of the page; nothing where no variant was run."""
    runs = {key: line for key, line in read_runs(folder).items() if "failure" not in line}
    lines = [_line(label, _pairs(runs, label, ours)) for label in VARIANTS]
    lines = [line for line in lines if line]
    if not lines:
        return []
    head = ["changed", "runs", *_METRICS.values(), "coverage", "CPU seconds, median share"]
    rule = ["---", *("---:" for _ in head[1:])]
    return [_TEXT, "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])]


def _pairs(runs: dict[Key, dict], label: str, ours: str) -> list[tuple[dict, dict]]:
    """Runs of a variant and of the default on the same split."""
    found = [(line, runs.get((*key[:3], ours))) for key, line in runs.items() if key[3] == label]
    return [(line, own) for line, own in found if own is not None]


def _line(label: str, pairs: list[tuple[dict, dict]]) -> list[str]:
    if not pairs:
        return []
    cells = [label, str(len(pairs))]
    for metric in _METRICS:
        gaps = np.array([changed[metric] - own[metric] for changed, own in pairs])
        error = np.std(gaps) / np.sqrt(len(gaps))
        cells.append(f"{gaps.mean():+.4f} ± {error:.4f} ({np.sum(gaps > 0)})")
    cells.append(f"{100 * np.mean([changed['coverage'] for changed, _ in pairs]):.1f} %")
    shares = [changed["cpu_seconds"] / own["cpu_seconds"] for changed, own in pairs]
    return [*cells, f"{np.median(shares):.2f}"]
