"""Choose and fit the encoding of every column of a table from its training rows."""

import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from directgp.tables.arrow_values import Where, known_cells, numbers
from directgp.tables.categories import CategoryColumn, CodeColumn, KnownColumn, Levels, levels_of
from directgp.tables.column_kind import InputKind, input_kind
from directgp.tables.columns import Column, Dropped, column_kinds
from directgp.tables.messages import one_line, quoted
from directgp.tables.target_means import TargetMeanColumn, TargetValues

_INDEX = re.compile(r"unnamed(_\d+|: ?\d+)|__index_level_\d+__|index|id|row_?(id|names)?", re.I)
_REPEATED = 0.25
"""Minimum share of rows whose label occurs in another row, for target encoding."""


class Plan(NamedTuple):
    """Options of the encoding."""

    max_levels: int
    codes: bool
    """Whether categories become indices of levels instead of columns of 0 and 1."""
    marks_missing: bool
    """Whether missing values are indicated."""
    target: TargetValues | None


def fit_column(
    name: str, column: pa.ChunkedArray, where: Where, category: bool, plan: Plan
) -> Column | Dropped:
    """Choose the encoding of a column.

    Args:
        name: the name of the column.
        column: its values in the training rows.
        where: names its rows in messages.
        category: whether the user has declared it a category.
        plan: options of the encoding.

    Returns:
        The fitted encoding, or why the column is not used.
    """
    known = known_cells(column)
    if not known.any():
        return Dropped("no value is known")
    found = input_kind(column)
    if found is None:
        return Dropped(f"holds {one_line(column.type, 60)}, which cannot be encoded")
    if category or found.kind == "category":
        fitted = _fit_category(name, column, plan)
    elif _numbers_the_rows(name, column, where, found):
        return Dropped("it numbers the rows")
    else:
        fitted = column_kinds.lookup(found.kind).fit(name, column, where, found.strays)
    constant = isinstance(fitted, Dropped) and "all rows" in fitted.why
    return KnownColumn(name) if constant and plan.marks_missing and not known.all() else fitted


def _numbers_the_rows(name: str, column: pa.ChunkedArray, where: Where, found: InputKind) -> bool:
    if not _INDEX.fullmatch(name) or found.kind != "number":
        return False
    values = numbers(column, where, found.strays)
    whole = np.all(values == np.floor(values))
    return bool(len(values) > 2 and whole and len(np.unique(values)) == len(values))


def _fit_category(name: str, column: pa.ChunkedArray, plan: Plan) -> Column | Dropped:
    """Dummy columns or level indices for few levels, target means for many."""
    levels = levels_of(column)
    count, rows = len(levels.names), int(levels.counts.sum())
    if count < 2:
        return Dropped(f"{quoted(levels.names)} in all rows")
    often = count <= max(2, rows / 2)
    if often and count <= plan.max_levels:
        chosen: Any = CodeColumn if plan.codes else CategoryColumn
        return chosen(name, levels.names)
    return _fit_many(name, column, levels, plan, often)


def _fit_many(
    name: str, column: pa.ChunkedArray, levels: Levels, plan: Plan, often: bool
) -> Column | Dropped:
    count, rows = len(levels.names), int(levels.counts.sum())
    if plan.target is not None and levels.repeated >= _REPEATED:
        return TargetMeanColumn.fit(name, column, levels.names, plan.target)
    if not often:
        return Dropped(f"{count} different texts in {rows} rows: names, not categories")
    many = f"{count} levels, more than {plan.max_levels}"
    return Dropped(f"{many}; group the rare ones to use it")
