"""What a column of a table must reach, and the sentence that says whether it does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.timing import format_value


@dataclass(frozen=True)
class Target:
    """A bound on one column, for all rows or for those whose other columns are in `where`."""

    column: str
    least: float | None = None
    most: float | None = None
    where: Mapping[str, Sequence[object]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.least is None) == (self.most is None):
            raise ValueError(f"{self.column}: give least or most, one of them")

    def sentence(self, rows: Sequence[Mapping[str, object]]) -> str:
        """The bound, and the value that is nearest to missing it, or misses it most.

        >>> Target("×", least=5.0, where={"M": (20,)}).sentence([{"M": 20, "×": 6.0}])
        '*×* must be at least 5 for M = 20: reached, 6 at worst.'
        >>> Target("s", most=1.0).sentence([{"s": 0.5}, {"s": 2.0}])
        '*s* must be at most 1: **missed** in 1 of 2 rows, 2 at worst.'
        """
        found = [row[self.column] for row in rows if self._is_meant(row) and self.column in row]
        values = [float(value) for value in found if isinstance(value, int | float)]
        bound, word = (self.least, "least") if self.most is None else (self.most, "most")
        said = f"*{self.column}* must be at {word} {format_value(bound)}{self._for_which()}"
        if not values:
            return f"{said}: not measured."
        worst = min(values) if self.most is None else max(values)
        missed = sum(not self._is_reached(value) for value in values)
        how = f"**missed** in {missed} of {len(values)} rows" if missed else "reached"
        return f"{said}: {how}, {format_value(worst)} at worst."

    def _is_meant(self, row: Mapping[str, object]) -> bool:
        return all(row.get(name) in allowed for name, allowed in self.where.items())

    def _is_reached(self, value: float) -> bool:
        if self.least is not None:
            return value >= self.least
        return self.most is not None and value <= self.most

    def _for_which(self) -> str:
        said = [f"{name} = {', '.join(map(str, given))}" for name, given in self.where.items()]
        return f" for {' and '.join(said)}" if said else ""
