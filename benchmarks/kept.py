"""Finished rows of long sections, so that a run that was stopped goes on where it was.

They are kept in `build/` by commit: a row of other code is measured again.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.provenance import commit

FOLDER = Path(__file__).resolve().parents[1] / "build" / "benchmarks"


class Kept:
    """The rows of one section that this commit has finished.

    Code that was edited since its commit, or is in no repository, keeps nothing between runs.
    """

    def __init__(self, section: str, folder: Path = FOLDER, at: str | None = None) -> None:
        at = commit() if at is None else at
        self._path = folder / (at or "unknown") / f"{section}.jsonl"
        self._path.parent.mkdir(parents=True, exist_ok=True)
        if not at or at.endswith("+"):
            self._path.unlink(missing_ok=True)

    def rows(self) -> list[dict]:
        """All finished rows, in the order in which they came."""
        if not self._path.exists():
            return []
        return [json.loads(line) for line in self._path.read_text("utf-8").splitlines()]

    def add(self, row: dict) -> None:
        """Keep one more."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
