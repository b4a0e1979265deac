"""Results as JSON lines: one line a finished run, so a killed study goes on where it stopped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


class Store:
    """Finished runs by their key; a torn last line (a killed process) is ignored."""

    def __init__(self, name: str):
        RESULTS.mkdir(exist_ok=True)
        self.path = RESULTS / f"{name}.jsonl"
        self.rows: dict[str, dict] = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except json.JSONDecodeError:
                    continue
                self.rows[row["key"]] = row

    def __contains__(self, key: str) -> bool:
        return key in self.rows

    def add(self, key: str, row: dict) -> None:
        """Append one finished run."""
        self.rows[key] = {"key": key, **row}
        with self.path.open("a") as file:
            file.write(json.dumps(self.rows[key]) + "\n")

    def where(self, **conditions) -> Iterable[dict]:
        """The runs that match all conditions."""
        return [
            row
            for row in self.rows.values()
            if all(row.get(name) == value for name, value in conditions.items())
        ]
