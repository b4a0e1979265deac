"""Kinds of columns: how each becomes numbers, learned on training rows, remembered as JSON.

A kind is a frozen dataclass whose fields JSON can hold. `fit` learns it from a training column;
`values` gives its numbers [N K] with NaN for missing; `names` are the K names.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from jaxtyping import Float

from directgp.registry import Registry
from directgp.tables.arrow_values import (
    Where,
    is_moment,
    is_number,
    is_text,
    looks_numeric,
    numbers,
    plain,
    texts,
)
from directgp.tables.dates import ALL_PARTS, FORMATS, TIME, read_moments, text_format, varying_parts
from directgp.tables.messages import TableError, one_line, quoted

column_kinds = Registry("column kind")
_MOSTLY = 0.5


class Dropped(NamedTuple):
    """A column that is not used, and why."""

    why: str


class Coded(NamedTuple):
    """A column's numbers, NaN for missing, and a remark if something was out of the ordinary."""

    values: Float[np.ndarray, "N K"]
    remark: str = ""
    rows: int = 0
    """How many rows the remark is about."""


@dataclass(frozen=True)
class Column(ABC):
    """One column of the table as numbers."""

    kind: ClassVar[str]
    name: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the numbers: the column's own, if there is one number."""
        return (self.name,)

    @abstractmethod
    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """The numbers of every row."""

    @abstractmethod
    def describe(self) -> str:
        """What became of the column, in words."""

    def is_sound(self) -> bool:
        """Whether it can be what `fit` has made: a file may hold anything."""
        return isinstance(self.name, str)


@column_kinds.register("number")
@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers stay what they are; scaling comes later."""

    kind: ClassVar[str] = "number"

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, max_levels: int) -> "NumberColumn | Dropped":
        """A number that never changes says nothing."""
        return _unless_constant(cls(name), column)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """As float64."""
        return Coded(numbers(column, where)[:, None])

    def describe(self) -> str:
        """What became of the column."""
        return "number"


@column_kinds.register("boolean")
@dataclass(frozen=True)
class BooleanColumn(Column):
    """True is 1, false is 0."""

    kind: ClassVar[str] = "boolean"

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, max_levels: int) -> "BooleanColumn | Dropped":
        """Always true or always false says nothing."""
        return _unless_constant(cls(name), column)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """0 or 1."""
        coded = numbers(column, where)
        strange = ~np.isnan(coded) & (coded != 0) & (coded != 1)
        if strange.any():
            first = int(np.argmax(strange))
            raise TableError(
                f"column {where.column!r} was true or false in training, but {where.row(first)} "
                f"says {coded[first]:g}; give true or false"
            )
        return Coded(coded[:, None])

    def describe(self) -> str:
        """What became of the column."""
        return "true 1, false 0"


@column_kinds.register("moment")
@dataclass(frozen=True)
class MomentColumn(Column):
    """Dates and times: the parts of `moments.PARTS` that vary among the training rows."""

    kind: ClassVar[str] = "moment"
    parts: tuple[str, ...]
    format: str | None = None

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, max_levels: int) -> "MomentColumn | Dropped":
        """Which parts vary, and how text is to be read."""
        form = text_format(column, name)
        moments, known = read_moments(column, form, Where(name))
        times_only = form == TIME or pa.types.is_time(column.type)
        parts = varying_parts(moments[known], times_only)
        return cls(name, parts, form) if parts else Dropped("the same moment in all rows")

    @property
    def names(self) -> tuple[str, ...]:
        """One for each part."""
        return tuple(f"{self.name} {part}" for part in self.parts)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """The parts that vary."""
        moments, known = read_moments(column, self.format, where)
        coded = np.stack([ALL_PARTS[part](moments) for part in self.parts], axis=1)
        coded[~known] = np.nan
        return Coded(coded)

    def describe(self) -> str:
        """What became of the column."""
        return f"date or time as {', '.join(self.parts)}"

    def is_sound(self) -> bool:
        """Whether its parts and its format are known."""
        known = isinstance(self.parts, tuple) and all(part in ALL_PARTS for part in self.parts)
        different = known and 0 < len(self.parts) == len(set(self.parts))
        return super().is_sound() and different and self.format in (None, *FORMATS)


@column_kinds.register("category")
@dataclass(frozen=True)
class CategoryColumn(Column):
    """L levels as L − 1 columns of 0 and 1; the most frequent level is all zeros."""

    kind: ClassVar[str] = "category"
    levels: tuple[str, ...]

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, max_levels: int) -> "CategoryColumn | Dropped":
        """Levels by falling frequency; too many, or hardly ever repeated, is no category."""
        counted = texts(column).drop_null().value_counts().to_pylist()
        rows = sum(level["counts"] for level in counted)
        ordered = sorted(counted, key=lambda level: (-level["counts"], level["values"]))
        levels = tuple(level["values"] for level in ordered)
        if len(levels) < 2:
            return Dropped(f"{quoted(levels)} in all rows")
        if len(levels) > max(2, rows / 2):
            return Dropped(f"{len(levels)} different texts in {rows} rows: names, not categories")
        if len(levels) > max_levels:
            many = f"{len(levels)} levels, more than {max_levels}"
            return Dropped(f"{many}; group the rare ones to use it")
        return cls(name, levels)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each level but the base."""
        return tuple(f"{self.name}={level}" for level in self.levels[1:])

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """Dummy coding; a level that training never saw counts as the base, with a remark."""
        labels = texts(column)
        known_levels = pa.array(self.levels, labels.type)
        found = compute.call_function("index_in", [labels], compute.SetLookupOptions(known_levels))
        missing = _flags(labels.is_null())
        unseen = _flags(found.is_null()) & ~missing
        level = found.fill_null(0).to_numpy().astype(np.int64)
        coded = np.zeros((len(level), len(self.levels)))
        coded[np.arange(len(level)), level] = 1.0
        coded[missing] = np.nan
        return Coded(coded[:, 1:], self._remark(labels, unseen), int(unseen.sum()))

    def _remark(self, labels: pa.ChunkedArray, unseen: np.ndarray) -> str:
        if not unseen.any():
            return ""
        counted = labels.filter(pa.array(unseen)).value_counts().to_pylist()
        counted.sort(key=lambda level: (-level["counts"], level["values"]))
        shown = [f"{one_line(c['values'], 40)!r} ({c['counts']} rows)" for c in counted[:6]]
        more = f" and {len(counted) - 6} more" if len(counted) > 6 else ""
        return f"levels unseen in training, taken as {self.levels[0]!r}: {', '.join(shown)}{more}"

    def describe(self) -> str:
        """What became of the column."""
        return f"{len(self.levels)} levels, base {self.levels[0]!r}"

    def is_sound(self) -> bool:
        """Whether it has at least two levels, all different."""
        texts_only = isinstance(self.levels, tuple) and all(
            isinstance(level, str) for level in self.levels
        )
        return super().is_sound() and texts_only and 2 <= len(self.levels) == len(set(self.levels))


def _flags(mask: pa.ChunkedArray) -> np.ndarray:
    return np.asarray(mask.to_numpy(zero_copy_only=False), dtype=bool)


def _unless_constant(fitted: Any, column: pa.ChunkedArray) -> Any:
    known = numbers(column, Where(fitted.name))
    known = known[~np.isnan(known)]
    if known.size and np.all(known == known[0]):
        return Dropped(f"{known[0]:g} in all rows")
    return fitted


_KIND_OF_TYPE = (
    (pa.types.is_dictionary, "category"),
    (pa.types.is_boolean, "boolean"),
    (is_number, "number"),
    (is_moment, "moment"),
)


def kind_of(column: pa.ChunkedArray, name: str, or_else: str = "") -> str | None:
    """The kind a column seems to be, None if it has no known value; `or_else` as in `Where`."""
    if len(plain(column).drop_null()) == 0:
        return None
    for matches, kind in _KIND_OF_TYPE:
        if matches(column.type):
            return kind
    if is_text(column.type):
        return _kind_of_text(plain(column), Where(name, or_else=or_else))
    raise TableError(
        f"column {name!r} holds {one_line(column.type, 60)}, which cannot be made numbers; "
        "drop the column or split it into plain ones"
    )


def _kind_of_text(column: pa.ChunkedArray, where: Where) -> str:
    """Text may be numbers, truth values or dates that were stored as text."""
    counted = column.drop_null().value_counts()
    distinct, counts = counted.field("values"), counted.field("counts").to_numpy()
    numeric = _flags(looks_numeric(pa.chunked_array([distinct])))
    share = counts[numeric].sum() / counts.sum()
    if share >= _MOSTLY:
        numbers(column, where)  # says which value is not a number, if there is one
        return "number"
    if len(distinct) <= 6 and {text.lower() for text in distinct.to_pylist()} <= {"true", "false"}:
        return "boolean"
    return "category" if text_format(column, where.column) is None else "moment"
