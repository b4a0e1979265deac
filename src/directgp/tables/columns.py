"""Encodings of columns, fitted to training rows and stored as JSON: numbers, booleans, dates.

Each kind is a frozen dataclass with JSON fields. `fit` learns it from a training column; `values`
returns its numbers [N K] with NaN for missing; `names` are the K names. The kinds for labels are in
`categories` and `target_means`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float

from directgp.registry import Registry
from directgp.tables.arrow_values import Where, is_text, known_cells, numbers, plain
from directgp.tables.dates import ALL_PARTS, FORMATS, TIME, date_format, read_dates, varying_parts
from directgp.tables.messages import TableError, one_line

Middle = Callable[[Float[np.ndarray, "N K"]], Float[np.ndarray, "K"]]
"""Mean or median of every column, ignoring NaN."""

column_kinds = Registry("column kind")


class Dropped(NamedTuple):
    """A column that is not used, with the reason."""

    why: str


class Coded(NamedTuple):
    """The encoded values of a column, NaN for missing, and a remark about unusual values."""

    values: Float[np.ndarray, "N K"]
    remark: str = ""
    rows: int = 0
    """The number of rows that the remark is about."""


@dataclass(frozen=True)
class Column(ABC):
    """How one column of a table is encoded as numbers."""

    kind: ClassVar[str]
    name: str

    @property
    def is_category(self) -> bool:
        """Whether its numbers are indices of levels, which have no order."""
        return False

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the encoded columns; if there is one, the name of the column."""
        return (self.name,)

    @abstractmethod
    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """Encode a column.

        Args:
            column: the values.
            where: the column name and row offset for error messages.

        Returns:
            The numbers of every row, and a remark about unusual values.
        """

    def filler(self, coded: Float[np.ndarray, "N K"], middle: Middle) -> Float[np.ndarray, "K"]:
        """The value that replaces a missing one.

        Args:
            coded: the encoded training rows.
            middle: mean or median, as the user chose.

        Returns:
            One number for each encoded column.
        """
        return middle(coded)

    def filler_name(self, missing: str) -> str:
        """The name of the filler in notes, where it is neither the mean nor the median."""
        return ""

    @abstractmethod
    def describe(self) -> str:
        """A description of the encoding, for reports."""

    def is_sound(self) -> bool:
        """Whether the fields are valid, for encodings from a file."""
        return isinstance(self.name, str)


@column_kinds.register("number")
@dataclass(frozen=True)
class NumberColumn(Column):
    """Numbers, unchanged; they are standardised later.

    With `strays`, text among the numbers counts as missing, because training rows had some.
    """

    kind: ClassVar[str] = "number"
    strays: bool = False

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, where: Where, strays: bool) -> Any:
        """The column, or `Dropped` if all its numbers are equal."""
        return unless_constant(cls(name, strays), numbers(column, where, strays))

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """As float64."""
        coded = numbers(column, where, self.strays)
        return Coded(coded[:, None], *_stray_remark(column, np.isnan(coded), where, self.strays))

    def describe(self) -> str:
        """What became of the column."""
        return "number" + (", other text counts as missing" if self.strays else "")

    def is_sound(self) -> bool:
        """Whether its flag is valid."""
        return super().is_sound() and isinstance(self.strays, bool)


@column_kinds.register("boolean")
@dataclass(frozen=True)
class BooleanColumn(Column):
    """True is 1, false is 0."""

    kind: ClassVar[str] = "boolean"

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, where: Where, strays: bool) -> Any:
        """The column, or `Dropped` if all its values are equal."""
        return unless_constant(cls(name), numbers(column, where))

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """0 or 1."""
        coded = numbers(column, where)
        strange = ~np.isnan(coded) & (coded != 0) & (coded != 1)
        if strange.any():
            first = int(np.argmax(strange))
            raise TableError(
                f"column {where.column!r} was true or false in training, but {where.row(first)} "
                f"has {coded[first]:g}; give true or false"
            )
        return Coded(coded[:, None])

    def describe(self) -> str:
        """What became of the column."""
        return "true 1, false 0"


@column_kinds.register("date")
@dataclass(frozen=True)
class DateColumn(Column):
    """Dates and times: the parts of `dates.ALL_PARTS` that vary among the training rows.

    `strays` as in `NumberColumn`; `guessed` if the text may be month/day or day/month.
    """

    kind: ClassVar[str] = "date"
    parts: tuple[str, ...]
    format: str | None = None
    strays: bool = False
    guessed: bool = False

    @classmethod
    def fit(cls, name: str, column: pa.ChunkedArray, where: Where, strays: bool) -> Any:
        """Find the parts that vary and the format of text.

        Args:
            name: the name of the column.
            column: its training values.
            where: names rows in errors.
            strays: whether text that is not a date counts as missing.
        """
        found = date_format(plain(column))
        form = None if found is None else found.form
        times, known = read_dates(column, form, where, strays)
        times_only = form == TIME or pa.types.is_time(column.type)
        parts = varying_parts(times[known], times_only)
        if not parts:
            return Dropped("the same date in all rows")
        return cls(name, parts, form, strays, found is not None and found.ambiguous)

    @property
    def names(self) -> tuple[str, ...]:
        """One for each part."""
        return tuple(f"{self.name} {part}" for part in self.parts)

    def values(self, column: pa.ChunkedArray, where: Where) -> Coded:
        """The parts that vary."""
        times, known = read_dates(column, self.format, where, self.strays)
        coded = np.stack([ALL_PARTS[part](times) for part in self.parts], axis=1)
        coded[~known] = np.nan
        return Coded(coded, *_stray_remark(column, ~known, where, self.strays))

    def describe(self) -> str:
        """What became of the column."""
        guessed = " (read as month/day, may be day/month: write 2024-12-31)" if self.guessed else ""
        strays = ", other text counts as missing" if self.strays else ""
        return f"date or time as {', '.join(self.parts)}{guessed}{strays}"

    def is_sound(self) -> bool:
        """Whether its parts and its format are known."""
        known = isinstance(self.parts, tuple) and all(part in ALL_PARTS for part in self.parts)
        different = known and 0 < len(self.parts) == len(set(self.parts))
        flags = isinstance(self.strays, bool) and isinstance(self.guessed, bool)
        return super().is_sound() and different and flags and self.format in (None, *FORMATS)


column_kinds.alias("moment", "date")  # the name in files of earlier versions


def unless_constant(fitted: Any, values: Float[np.ndarray, "N"]) -> Any:
    """The fitted column, or `Dropped` if all known values are equal.

    Args:
        fitted: the column.
        values: its training values.
    """
    known = values[~np.isnan(values)]
    if known.size and np.all(known == known[0]):
        return Dropped(f"{known[0]:g} in all rows")
    return fitted


def _stray_remark(
    column: pa.ChunkedArray, gone: Bool[np.ndarray, "N"], where: Where, strays: bool
) -> tuple[str, int]:
    """A remark on texts that count as missing, and the number of rows that have one."""
    if not strays or not is_text(plain(column).type):
        return "", 0
    rows = np.flatnonzero(known_cells(column) & gone)
    if not len(rows):
        return "", 0
    first = one_line(plain(column)[int(rows[0])].as_py(), 40)
    return f"text counts as missing, as in training (first: {where.row(rows[0])}, {first!r})", len(
        rows
    )
