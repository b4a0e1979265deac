"""Timing on a busy machine: alternate the methods and keep the best of many calls.

All methods run in one process and take turns, so a slow period affects them alike; quote ratios
of best times, not single times.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from experiments.provenance import commit


@dataclass(frozen=True)
class Cell:
    """A method: a call to time, and how much work one call does.

    `work` counts training steps (or predicted rows) per call of `run`, so that seconds per call
    divided by `work` compares contestants that do several steps per call with those that do one.
    `value` gives the latest loss (or another figure that shows that the work was really done).
    """

    name: str
    run: Callable[[], None]
    work: int = 1
    value: Callable[[], float] | None = None
    info: Mapping[str, object] = field(default_factory=dict)


def time_once(call: Callable[[], None]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def busy_seconds() -> tuple[float, float]:
    """Core-seconds used so far by the whole machine (stolen time too) and by this process and
    those it has waited for.

    Linux alone tells the first; elsewhere it is NaN.
    """
    own = os.times()
    ours = own.user + own.system + own.children_user + own.children_system
    stat = Path("/proc/stat")
    if not stat.exists():
        return float("nan"), ours
    user, nice, system, _, _, irq, softirq, steal = map(int, stat.read_text().split()[1:9])
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK"), ours


class Contention:
    """Measures the cores that other processes used during a `with` block.

    Times taken beside a busy neighbour are not worth quoting, not even as ratios: a peer that waits
    at thread barriers loses a hundredfold where one that does not loses half.
    """

    def __init__(self) -> None:
        self.cores = float("nan")

    def __enter__(self) -> Contention:
        self._wall = time.perf_counter()
        self._start = busy_seconds()
        return self

    def __exit__(self, *_: object) -> None:
        wall = time.perf_counter() - self._wall
        machine_busy, own = (b - a for a, b in zip(self._start, busy_seconds(), strict=True))
        self.cores = max(0.0, machine_busy - own) / wall if wall > 0 else float("nan")


def wait_until_quiet(timeout: float, cores: float = 0.15, window: float = 1.0) -> bool:
    """Wait until others use fewer than `cores` cores; False if `timeout` seconds pass first.

    Where the machine's load cannot be read there is nothing to wait for, and the answer is True.
    """
    stop = time.perf_counter() + timeout
    while True:
        with Contention() as others:
            time.sleep(window)
        if not others.cores >= cores:
            return True
        if time.perf_counter() >= stop:
            return False


def alternate(
    cells: Mapping[str, Callable[[], None]], rounds: int = 7, min_time: float = 0.1
) -> dict[str, float]:
    """Best seconds per call of each callable; the callables take turns.

    A turn repeats one callable until `min_time` seconds have passed, and each of `rounds` rounds
    gives every callable one turn, in an order that reverses from round to round. One untimed call
    comes first (compilation, caches), and one untimed call opens each turn, because threads left
    spinning by the previous contestant would otherwise be charged to the next. The opening call is
    left out where it alone fills the turn.

    >>> sorted(alternate({"a": lambda: None, "b": lambda: None}, rounds=1, min_time=0.001))
    ['a', 'b']
    """
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1, got {rounds}; 5 or more tames the noise")
    best: dict[str, float] = {}
    for name, call in cells.items():
        call()
        best[name] = time_once(call)
    order = list(cells)
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(rounds):
            for name in order:
                call = cells[name]
                if best[name] < min_time:
                    call()
                stop = time.perf_counter() + min_time
                while True:
                    best[name] = min(best[name], time_once(call))
                    if time.perf_counter() >= stop:
                        break
            order.reverse()
            gc.collect()
    finally:
        if enabled:
            gc.enable()
    return best


def alternate_cells(
    cells: Sequence[Cell], rounds: int = 7, min_time: float = 0.1
) -> dict[str, float]:
    """Best seconds per unit of work (per step, or per row) of each cell, by name."""
    names = [cell.name for cell in cells]
    if len(set(names)) != len(names):
        raise ValueError(f"cell names must differ, got {names}; add the dtype or loss to the name")
    best = alternate({cell.name: cell.run for cell in cells}, rounds, min_time)
    return {cell.name: best[cell.name] / cell.work for cell in cells}


def format_value(value: object) -> str:
    """A table entry: three significant digits for floats, a dash for missing values."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def markdown_table(
    rows: Sequence[Mapping[str, object]], columns: Sequence[str] | None = None
) -> str:
    """Rows as a markdown table that also reads well as plain text.

    >>> print(markdown_table([{"M": 20, "ms": 0.44}, {"M": 100}]))
    | M   | ms   |
    |-----|------|
    | 20  | 0.44 |
    | 100 | -    |
    """
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [list(columns)] + [[format_value(row.get(key)) for key in columns] for row in rows]
    widths = [max(len(line[j]) for line in lines) for j in range(len(columns))]
    text = [
        "| " + " | ".join(entry.ljust(width) for entry, width in zip(line, widths, strict=True))
        + " |"
        for line in lines
    ]  # fmt: skip
    text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(text)


def machine() -> dict[str, object]:
    """Description of the machine and the versions that were timed."""
    versions: dict[str, str | None] = {}
    for package in ("jax", "jaxlib", "torch", "gpytorch", "gpjax", "numpy"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "platform": platform.platform(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "time": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "commit": commit(),
        "versions": versions,
    }


def write_json(
    path: str | Path, tables: Mapping[str, Sequence[Mapping[str, object]]], seconds: float
) -> Path:
    """Write named tables, with the machine they were measured on, and return the path.

    Args:
        path: the file to write.
        tables: rows by name.
        seconds: how long it took to measure them.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    where = machine() | {"section seconds": seconds}
    path.write_text(json.dumps({"machine": where, "tables": tables}, indent=2, default=str))
    return path
