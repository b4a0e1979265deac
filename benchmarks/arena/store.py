"""Results on disk: a line of JSON for each run, and its row losses for paired comparisons.

A folder holds `arena.jsonl` and, too large for git, `arena-rows/` with one .npz a run. The last
line of a (kind, table, seed, method) is the one that counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

Key = tuple[str, str, int, str]
_KEY = {"kind": str, "table": str, "seed": int, "method": str}
LINES, ROWS = "arena.jsonl", "arena-rows"


def key_of(line: dict) -> Key:
    """The key of a run: kind, table, seed and method."""
    return line["kind"], line["table"], line["seed"], line["method"]


def read_runs(folder: Path) -> dict[Key, dict]:
    """All runs of a folder; other lines, such as one cut off by a crash, are skipped."""
    path = folder / LINES
    return {key_of(line): line for line in _lines(path)} if path.exists() else {}


def _lines(path: Path) -> Iterator[dict]:
    for text in path.read_text(errors="replace").splitlines():
        try:
            line = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and all(isinstance(line.get(n), k) for n, k in _KEY.items()):
            yield line


def write_run(folder: Path, line: dict, losses: dict[str, np.ndarray] | None) -> None:
    """Add one run; `losses` are None where it failed."""
    folder.mkdir(parents=True, exist_ok=True)
    if losses is not None:
        path = rows_path(folder, key_of(line))
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(path, **losses)
    with (folder / LINES).open("a") as file:
        file.write(json.dumps(line) + "\n")


def rows_path(folder: Path, key: Key) -> Path:
    """The file with the row losses of a run."""
    return folder / ROWS / ("@".join(str(part) for part in key) + ".npz")


def read_rows(folder: Path, key: Key) -> dict[str, np.ndarray] | None:
    """Row losses of a run in the order of the test rows, or None if there are none."""
    path = rows_path(folder, key)
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            return {name: found[name].astype(np.float64) for name in found.files}
    except Exception as error:  # damaged archives end in errors of many kinds
        said = " ".join(str(error).split())[:200]
        raise SystemExit(f"{path} has no row losses ({said}); run its table again") from None
