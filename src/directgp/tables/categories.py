"""Categorical columns: dummy coding, or the index of the level."""

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
    """The distinct labels of a training column, most frequent first, and their counts."""

    names: tuple[str, ...]
    counts: Int[np.ndarray, "L"]

    @property
    def repeated(self) -> float:
        """The share of rows whose label occurs in at least one other row."""
        return float(self.counts[self.counts > 1].sum() / max(self.counts.sum(), 1))


def levels_of(column: pa.ChunkedArray) -> Levels:
    """The levels of a column of labels."""
    counted = texts(column).drop_null().value_counts().to_pylist()
    counted.sort(key=lambda level: (-level["counts"], level["values"]))
    counts = np.array([level["counts"] for level in counted], dtype=np.int64)
    return Levels(tuple(level["values"] for level in counted), counts)


def are_levels(levels: Any, at_least: int = 2) -> bool:
    """Whether levels from a file are distinct strings.

    Args:
        levels: the levels.
        at_least: their minimum number.
    """
    texts_only = isinstance(levels, tuple) and all(isinstance(level, str) for level in levels)
    return texts_only and at_least <= len(levels) == len(set(levels))


class FoundLevels(NamedTuple):
    """The index of every row's level, −1 where it is missing or was not seen in training."""

    level: Int[np.ndarray, "N"]
    missing: Bool[np.ndarray, "N"]
    labels: pa.ChunkedArray

    @property
    def unseen(self) -> Bool[np.ndarray, "N"]:
        """The rows whose label did not occur in training."""
        return (self.level < 0) & ~self.missing

    def remark(self, treated: str) -> tuple[str, int]:
        """A remark on unseen levels.

        Args:
            treated: how such rows are handled, in words.

        Returns:
            The remark, and the number of rows it concerns.
        """
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
    """The index of the level of every row.

    Args:
        column: the labels.
        levels: the levels of training, most frequent first.

    Returns:
        The index of each row's level, and which rows are missing or unseen.
    """
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
        """Dummy coding; a level unseen in training counts as the base level, with a remark."""
        found = found_levels(column, self.levels)
        level = np.maximum(found.level, 0)
        coded = np.zeros((len(level), len(self.levels)))
        coded[np.arange(len(level)), level] = 1.0
        coded[found.missing] = np.nan
        return Coded(coded[:, 1:], *found.remark(f"taken as {self.levels[0]!r}"))

    def filler_name(self, missing: str) -> str:
        """The base level: the median of dummy columns is all zeros."""
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
    """The index of the level, 0 … L − 1, for models that split by level; NaN if it is unseen."""

    kind: ClassVar[str] = "code"
    levels: tuple[str, ...]

    @property
    def is_category(self) -> bool:
        """True: the index has no order."""
        return True

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """One index per row; levels are numbered by decreasing frequency."""
        found = found_levels(column, self.levels)
        coded = np.where(found.level < 0, np.nan, found.level)
        return Coded(coded[:, None], *found.remark("taken as missing"))

    def describe(self) -> str:
        """What became of the column."""
        return f"indices of {len(self.levels)} levels"

    def is_sound(self) -> bool:
        """Whether it has at least two levels, all different."""
        return super().is_sound() and are_levels(self.levels)


@column_kinds.register("known")
@dataclass(frozen=True)
class KnownColumn(Column):
    """1 where a value is known, else 0: for a column whose known values are all equal."""

    kind: ClassVar[str] = "known"

    @property
    def names(self) -> tuple[str, ...]:
        """The column's name with a suffix, because these are not its values."""
        return (f"{self.name} known",)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """0 or 1, never missing."""
        known = known_cells(column)
        return Coded(known.astype(np.float64)[:, None])

    def describe(self) -> str:
        """What became of the column."""
        return "1 where it is known, 0 where it is missing"
