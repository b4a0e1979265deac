"""The stored runs of a figure as rows with labels and scores."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from experiments.spec import TIERS, Cell, Spec
from experiments.store import Run, Store


@dataclass(frozen=True)
class Row:
    """One result: labels (data, method, seed, what varies), scores and the learning curve."""

    labels: dict[str, Any]
    scores: dict[str, Any]
    curve: dict[str, list] = field(default_factory=dict)
    key: str = ""

    def __getitem__(self, name: str) -> Any:
        return self.labels.get(name)


@dataclass(frozen=True)
class Evidence:
    """The rows from which a figure is drawn and its claims are checked."""

    spec: Spec
    tier: str
    rows: list[Row]
    planned: int
    found: int
    seconds: float
    """Total time of the runs."""
    commits: list[str] = field(default_factory=list)
    """Commits of this library that computed the runs; `+` if there were uncommitted changes."""
    failures: dict[str, str] = field(default_factory=dict)
    enough: bool = True
    """Whether a verdict is possible: all runs of one tier are stored, or runs of the full tier for
    every case of the quick one."""

    @property
    def complete(self) -> bool:
        """Whether every run of the tier is stored."""
        return self.found == self.planned


def evidence(spec: Spec, store: Store) -> Evidence:
    """The rows of the better tier in the store.

    It is the full tier if it is complete, if it contains the quick tier and has more runs, or if
    it has runs for all cases of the quick tier with as many seeds; else the quick one.
    Tiers with different settings are never mixed. Of an incomplete full tier only cases with all
    methods count.

    Args:
        spec: the figure.
        store: the store of results.
    """
    cells = {tier: spec.cells(tier) for tier in TIERS}
    keys = {tier: {cell.job.key for cell in own} for tier, own in cells.items()}
    runs = store.get(sorted(set().union(*keys.values())))
    whole = keys["full"] <= set(runs)
    nested = keys["quick"] <= keys["full"]
    begun = _comparable(cells["full"], runs)
    counted = keys["quick"] | {cell.job.key for cell in begun}
    more = len(counted & set(runs)) > len(keys["quick"] & set(runs))
    covered = not nested and _covers(begun, cells["quick"])
    tier = "full" if whole or covered or (nested and more) else "quick"
    shown = {key: run for key, run in runs.items() if key in keys[tier] & counted}
    failed = store.failures()
    return Evidence(
        spec=spec,
        tier=tier,
        rows=rows_of_cells(cells[tier], shown),
        planned=len(keys[tier]),
        found=len(shown),
        seconds=float(sum(run.seconds for run in shown.values())),
        commits=sorted({run.git for run in shown.values()}),
        enough=whole or covered or (bool(keys["quick"]) and keys["quick"] <= set(runs)),
        failures={key: failed[key] for key in keys[tier] & set(failed)},
    )


def _comparable(cells: Iterable[Cell], runs: Mapping[str, Run]) -> list[Cell]:
    """The cells whose case (all labels but the method) has runs of every method."""
    cases: dict[tuple, list[Cell]] = {}
    for cell in cells:
        case = tuple((name, value) for name, value in cell.labels.items() if name != "method")
        cases.setdefault(case, []).append(cell)
    whole = (own for own in cases.values() if all(cell.job.key in runs for cell in own))
    return [cell for own in whole for cell in own]


def _covers(begun: Sequence[Cell], quick: Sequence[Cell]) -> bool:
    """Whether runs of the full tier have every case of the quick one, with as many seeds."""
    found, wanted = _seeds_of_cases(begun), _seeds_of_cases(quick)
    return bool(wanted) and all(
        len(found.get(case, ())) >= len(seeds) for case, seeds in wanted.items()
    )


def _seeds_of_cases(cells: Iterable[Cell]) -> dict[tuple, set[Any]]:
    """The seeds of every case (all labels but the method and the seed)."""
    seeds: dict[tuple, set[Any]] = {}
    for cell in cells:
        case = tuple(
            (name, value) for name, value in cell.labels.items() if name not in ("method", "seed")
        )
        seeds.setdefault(case, set()).add(cell.labels.get("seed"))
    return seeds


def rows_of_cells(cells: Iterable[Cell], runs: Mapping[str, Run]) -> list[Row]:
    """A row for each stored cell; a run with several rows gives those instead.

    Args:
        cells: the cells of a spec.
        runs: stored runs by key.
    """
    rows = []
    for cell in cells:
        run = runs.get(cell.job.key)
        if run is None:
            continue
        for part in run.rows or [{}]:
            labels = cell.labels | part.get("labels", {})
            scores = run.scores | part.get("scores", {})
            rows.append(Row(labels, scores, part.get("curve", run.curve), cell.job.key))
    return rows


def where(rows: Iterable[Row], conditions: Mapping[str, Any] | None) -> list[Row]:
    """Rows with given labels.

    Args:
        rows: the rows.
        conditions: a value or a list of allowed values for each label.
    """
    wanted = {k: v if isinstance(v, list) else [v] for k, v in (conditions or {}).items()}
    return [row for row in rows if all(row[name] in values for name, values in wanted.items())]


def values_of(rows: Iterable[Row], name: str) -> list[Any]:
    """The distinct values of a label, in the order of the figure."""
    return list(dict.fromkeys(row[name] for row in rows if row[name] is not None))


def grouped(rows: Iterable[Row], names: Sequence[str]) -> dict[tuple, list[Row]]:
    """Rows by the values of these labels."""
    groups: dict[tuple, list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def by_seed(rows: Iterable[Row], score: str) -> dict[Any, float]:
    """A score of each seed, where there is one."""
    return {
        row["seed"]: float(row.scores[score]) for row in rows if row.scores.get(score) is not None
    }


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """The mean and its standard error, which is NaN for a single value."""
    array = np.asarray(values, np.float64)
    error = float(array.std(ddof=1) / np.sqrt(len(array))) if len(array) > 1 else float("nan")
    return float(array.mean()), error


def paired_means(
    rows: Iterable[Row], label: str, score: str, wanted: Sequence[Any] | None = None
) -> dict[Any, float]:
    """Mean score by a label, over the seeds that all its values have.

    Means over different seeds would compare splits, not methods.

    Args:
        rows: the rows.
        label: the label.
        score: the score.
        wanted: the values of the label; None: all.
    """
    found = {group[0]: by_seed(own, score) for group, own in grouped(rows, [label]).items()}
    found = {k: seeds for k, seeds in found.items() if seeds and (wanted is None or k in wanted)}
    shared = set.intersection(*(set(seeds) for seeds in found.values())) if found else set()
    if not shared:
        return {}
    return {k: float(np.mean([seeds[s] for s in shared])) for k, seeds in found.items()}


def summarised(
    rows: Iterable[Row], names: Sequence[str], score: str
) -> dict[tuple, tuple[float, float, int]]:
    """Mean, standard error and number of seeds of a score in every group.

    Args:
        rows: the rows.
        names: the labels that define groups.
        score: the score.
    """
    found = {}
    for group, own in grouped(rows, names).items():
        values = list(by_seed(own, score).values())
        if values:
            found[group] = (*mean_and_error(values), len(values))
    return found
