"""Labels as numbers: columns of 0 and 1, or the number of the level."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from jaxtyping import Bool, Int

from directgp.tables.arrow_values import Where, known_cells, texts
from directgp.tables.columns import Coded, Column, column_kinds
from directgp.tables.messages import one_line


class Levels(NamedTuple):
    """The different labels of a training column by falling frequency, and how often they occur."""

    names: tuple[str, ...]
    counts: Int[np.ndarray, "L"]

    @property
    def repeated(self) -> float:
        """The share of the rows whose label another row has too."""
        return float(self.counts[self.counts > 1].sum() / max(self.counts.sum(), 1))


def levels_of(column: pa.ChunkedArray) -> Levels:
    """The levels of a column of labels."""
    counted = texts(column).drop_null().value_counts().to_pylist()
    counted.sort(key=lambda level: (-level["counts"], level["values"]))
    counts = np.array([level["counts"] for level in counted], dtype=np.int64)
    return Levels(tuple(level["values"] for level in counted), counts)


def are_levels(levels: Any, at_least: int = 2) -> bool:
    """Whether these are different texts: a file may hold anything."""
    texts_only = isinstance(levels, tuple) and all(isinstance(level, str) for level in levels)
    return texts_only and at_least <= len(levels) == len(set(levels))


class FoundLevels(NamedTuple):
    """The number of every row's level, −1 where it is missing or was not seen in training."""

    level: Int[np.ndarray, "N"]
    missing: Bool[np.ndarray, "N"]
    labels: pa.ChunkedArray

    @property
    def unseen(self) -> Bool[np.ndarray, "N"]:
        """The rows with a label that training never saw."""
        return (self.level < 0) & ~self.missing

    def remark(self, treated: str) -> tuple[str, int]:
        """What to say of unseen levels and how they were `treated`; and how many rows have one."""
        unseen = self.unseen
        if not unseen.any():
            return "", 0
        counted = self.labels.filter(pa.array(unseen)).value_counts().to_pylist()
        counted.sort(key=lambda level: (-level["counts"], level["values"]))
        shown = [f"{one_line(c['values'], 40)!r} ({c['counts']} rows)" for c in counted[:6]]
        more = f" and {len(counted) - 6} more" if len(counted) > 6 else ""
        text = f"levels unseen in training, {treated}: {', '.join(shown)}{more}"
        return text, int(unseen.sum())


def found_levels(column: pa.ChunkedArray, levels: tuple[str, ...]) -> FoundLevels:
    """Which of the levels every row has."""
    labels = texts(column)
    known = compute.SetLookupOptions(pa.array(levels, labels.type))
    found = compute.call_function("index_in", [labels], known)
    missing = np.asarray(labels.is_null().to_numpy(zero_copy_only=False), dtype=bool)
    return FoundLevels(found.fill_null(-1).to_numpy().astype(np.int64), missing, labels)


@column_kinds.register("category")
@dataclass(frozen=True)
class CategoryColumn(Column):
    """L levels as L − 1 columns of 0 and 1; the most frequent level is all zeros."""

    kind: ClassVar[str] = "category"
    levels: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """One for each level but the base."""
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """Dummy coding; a level that training never saw counts as the base, with a remark."""
        found = found_levels(column, self.levels)
        level = np.maximum(found.level, 0)
        coded = np.zeros((len(level), len(self.levels)))
        coded[np.arange(len(level)), level] = 1.0
        coded[found.missing] = np.nan
        return Coded(coded[:, 1:], *found.remark(f"taken as {self.levels[0]!r}"))

    def filler_name(self, missing: str) -> str:
        """The median of columns of 0 and 1 is the base level."""
        return "" if missing == "mean" else "most frequent level"

    def describe(self) -> str:
        """What became of the column."""
        return f"{len(self.levels)} levels, base {self.levels[0]!r}"

    def is_sound(self) -> bool:
        """Whether it has at least two levels, all different."""
        return super().is_sound() and are_levels(self.levels)


@column_kinds.register("code")
@dataclass(frozen=True)
class CodeColumn(Column):
    """The number of the level, 0 … L − 1, for models that split by level; NaN if it is unseen."""

    kind: ClassVar[str] = "code"
    levels: tuple[str, ...]

    @property
    def is_category(self) -> bool:
        """Always."""
        return True

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """One number, by falling frequency of the levels."""
        found = found_levels(column, self.levels)
        coded = np.where(found.level < 0, np.nan, found.level)
        return Coded(coded[:, None], *found.remark("taken as missing"))

    def describe(self) -> str:
        """What became of the column."""
        return f"numbers of {len(self.levels)} levels"

    def is_sound(self) -> bool:
        """Whether it has at least two levels, all different."""
        return super().is_sound() and are_levels(self.levels)


@column_kinds.register("known")
@dataclass(frozen=True)
class KnownColumn(Column):
    """1 where a value is known, else 0: all that a column says whose known values are all one."""

    kind: ClassVar[str] = "known"

    @property
    def names(self) -> tuple[str, ...]:
        """Not the column's own, whose values they are not."""
        return (f"{self.name} known",)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """0 or 1, never missing."""
        known = known_cells(column)
        return Coded(known.astype(np.float64)[:, None])

    def describe(self) -> str:
        """What became of the column."""
        return "1 where it is known, 0 where it is missing"
