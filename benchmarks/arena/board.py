"""Results of one kind as tables of means, ranks and paired differences."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.arena.store import Key, read_rows, read_runs

METRICS = {
    "regression": ("nll", "crps", "rmse", "coverage"),
    "counts": ("nll", "crps", "rmse", "coverage"),
    "classification": ("nll", "brier", "error", "ece"),
}
"""The metrics on the page for each kind of target."""
PAIRED = {
    "regression": {"nll": "nll", "crps": "crps", "rmse": "square"},
    "counts": {"nll": "nll", "crps": "crps", "rmse": "square"},
    "classification": {"nll": "nll", "brier": "brier", "error": "error"},
}
"""Metrics that are compared, with the row losses that they average."""
PAIRS = "arena-pairs.json"


@dataclass(frozen=True)
class Board:
    """Results of one kind of target.

    `means` has one frame a metric, [table, method], averaged over seeds; NaN where a method failed
    or has not been run. `failed` are the (table, method) that were run and failed. `pairs` are mean
    and standard error of the row-by-row difference ours − peer: [metric][table][peer].
    """

    kind: str
    ours: str
    methods: list[str]
    means: dict[str, pd.DataFrame]
    seeds: dict[str, list[int]]
    failed: set[tuple[str, str]]
    pairs: dict[str, dict[str, dict[str, tuple[float, float]]]]

    @property
    def complete(self) -> list[str]:
        """Tables on which every method was run, failures included."""
        known = self.means["nll"]
        return [
            table
            for table in known.index
            if all(
                (table, name) in self.failed or not np.isnan(known.loc[table, name])
                for name in self.methods
            )
        ]

    def ranks(self, metric: str) -> pd.Series:
        """Average rank of each method over complete tables; a failure is last."""
        frame = self.means[metric].loc[self.complete, self.methods]
        if metric == "coverage":
            frame = (frame - 0.9).abs()
        return frame.rank(axis=1, na_option="bottom").mean()

    def against_best(self, metric: str) -> dict[str, tuple[str, float, float]]:
        """For each table the peer with the lowest mean, and ours − that peer: mean and error.

        Tables on which the row losses of that peer are not known are left out.
        """
        others = [name for name in self.methods if name != self.ours]
        found = {}
        for table, peers in self.pairs[metric].items():
            means = self.means[metric].loc[table, others].dropna()
            best = str(means.idxmin()) if len(means) else None
            if best in peers:
                found[table] = (best, *peers[best])
        return found


def read_board(
    folder: Path, kind: str, methods: list[str], sizes: dict[str, int], ours: str = "directgp"
) -> Board | None:
    """The board of one kind from a folder of results; None where there are no runs of it.

    Everybody is averaged over the same splits: the seeds that all methods with a run on a table
    have. Paired differences are computed from row losses where these are there,
    and taken from the last page's file else.

    Args:
        methods: the order of methods; those without any run are left out.
        sizes: rows of each table, which tables are sorted by.
    """
    runs = {key: line for key, line in read_runs(folder).items() if key[0] == kind}
    methods = [name for name in methods if any(key[3] == name for key in runs)]
    tables = {key[1] for key in runs if key[3] in methods} & set(sizes)
    tables = sorted(tables, key=lambda table: sizes[table])
    if not runs or not tables:
        return None
    metrics = (*METRICS[kind], "seconds", "cpu_seconds")
    means = {m: pd.DataFrame(np.nan, index=tables, columns=methods) for m in metrics}
    seeds, failed = {}, set()
    for table in tables:
        seeds[table] = _common_seeds(runs, table, methods)
        for name in methods:
            lines = [runs.get((kind, table, seed, name)) for seed in seeds[table]]
            known = [line for line in lines if line is not None]
            if any("failure" in line for line in known):
                failed.add((table, name))
            elif len(known) == len(lines):
                for metric in metrics:
                    means[metric].loc[table, name] = np.mean([line[metric] for line in known])
    pairs = _pairs(folder, kind, ours, methods, seeds)
    return Board(kind, ours, methods, means, seeds, failed, pairs)


def _common_seeds(runs: dict[Key, dict], table: str, methods: list[str]) -> list[int]:
    of_methods = [{key[2] for key in runs if key[1] == table and key[3] == m} for m in methods]
    return sorted(set.intersection(*(seeds for seeds in of_methods if seeds)))


def _pairs(
    folder: Path, kind: str, ours: str, methods: list[str], seeds: dict[str, list[int]]
) -> dict[str, dict[str, dict[str, tuple[float, float]]]]:
    path = folder / PAIRS
    known = json.loads(path.read_text()) if path.exists() else {}
    kept = known.get(f"{kind}/{ours}", {})
    pairs: dict = {metric: dict(kept.get(metric, {})) for metric in PAIRED[kind]}
    for table, used in seeds.items():
        mine = _losses(folder, [(kind, table, seed, ours) for seed in used])
        if mine is None:
            continue
        for metric in PAIRED[kind]:
            pairs[metric][table] = {}
        for peer in methods:
            theirs = _losses(folder, [(kind, table, seed, peer) for seed in used])
            if peer == ours or theirs is None:
                continue
            for metric, loss in PAIRED[kind].items():
                gap = mine[loss] - theirs[loss]
                error = float(np.std(gap) / np.sqrt(len(gap)))
                pairs[metric][table][peer] = (float(np.mean(gap)), error)
    if any(pairs.values()):
        path.write_text(json.dumps({**known, f"{kind}/{ours}": pairs}, indent=0) + "\n")
    return pairs


def _losses(folder: Path, keys: list[Key]) -> dict[str, np.ndarray] | None:
    found = [rows for key in keys if (rows := read_rows(folder, key)) is not None]
    if not found or len(found) < len(keys):
        return None
    return {name: np.concatenate([rows[name] for rows in found]) for name in found[0]}
