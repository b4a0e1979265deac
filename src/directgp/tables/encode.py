"""From a table to numbers: what each column became on training rows, for all later rows alike."""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.tables.arrow_values import Where, is_text, numbers, plain
from directgp.tables.columns import Column, Dropped, column_kinds, kind_of
from directgp.tables.messages import TableError, did_you_mean, quoted
from directgp.tables.notes import Note
from directgp.tables.table import as_table

MISSING_POLICIES = ("error", "mean", "indicator")
_VERSION = 1
_INDEX = re.compile(r"unnamed(_\d+|: ?\d+)|__index_level_\d+__|index|id|row_?(id|names)?", re.I)
_OR_CATEGORY = ", or make the column a category (--category, categories=)"


class EncodedTable(NamedTuple):
    """Rows as numbers, the name of every number, and what was out of the ordinary."""

    X: Float[np.ndarray, "N D"]
    names: tuple[str, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class TableEncoder:
    """How the columns of a table become numbers, learned from training rows only.

    >>> encoder = TableEncoder.fit({"size": [1.5, 2, 2], "kind": ["a", "b", "b"]})
    >>> encoder.names
    ('size', 'kind=a')
    >>> encoder.encode({"kind": ["a"], "size": ["3"]}).X
    array([[3., 1.]])
    """

    columns: tuple[Column, ...]
    means: tuple[tuple[float, ...], ...]
    indicated: tuple[str, ...]
    missing: str
    target: str | None
    dropped: tuple[str, ...]
    report: tuple[Note, ...]

    @classmethod
    def fit(
        cls,
        table: Any,
        *,
        target: str | None = None,
        drop: Sequence[str] = (),
        categories: Sequence[str] = (),
        missing: str = "error",
        max_levels: int = 50,
    ) -> "TableEncoder":
        """Learn the coding from training rows; `report` tells what became of every column.

        `target` and `drop` name columns that are no inputs; `categories` names columns that are
        labels even where they look like numbers (postcodes). `missing` says what to do where a
        value is not known: "error"; "mean" takes the column's training mean; "indicator" also
        adds a column that is 1 where it was missing. A category with more than `max_levels`
        levels is dropped.
        """
        if missing not in MISSING_POLICIES:
            raise DirectGPError(
                f"missing must be one of {', '.join(MISSING_POLICIES)}, got {missing!r}"
            )
        table = as_table(table)
        for name in (*drop, *categories, *(() if target is None else (target,))):
            if name not in table.column_names:
                raise TableError(
                    f"there is no column {name!r}; {did_you_mean(name, table.column_names)}"
                )
        left_out = {*drop, target}
        columns: list[Column] = []
        dropped: dict[str, str] = {}
        for name in table.column_names:
            if name not in left_out:
                fitted = _fitted(name, table[name], name in categories, max_levels)
                if isinstance(fitted, Dropped):
                    dropped[name] = fitted.why
                else:
                    columns.append(fitted)
        if not columns:
            raise TableError(f"no column can be used as an input ({_listed(dropped)})")
        coded = {c.name: c.values(table[c.name], Where(c.name)).values for c in columns}
        unknown = {name: int(np.isnan(values[:, 0]).sum()) for name, values in coded.items()}
        _check_missing(
            unknown,
            missing,
            table.num_rows,
            "fill them, or choose missing='mean' or missing='indicator' (--missing on the command "
            "line)",
        )
        indicated = [name for name, count in unknown.items() if count and missing == "indicator"]
        report = [
            Note(column.name, column.describe() + _filled(unknown[column.name], missing))
            for column in columns
        ]
        report += [Note(name, f"dropped: {why}") for name, why in dropped.items()]
        fitted = cls(
            columns=tuple(columns),
            means=tuple(tuple(_means(coded[c.name]).tolist()) for c in columns),
            indicated=tuple(indicated),
            missing=missing,
            target=target,
            dropped=(*drop, *dropped),
            report=tuple(report),
        )
        fitted._check_names_differ()
        return fitted

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column of X."""
        return tuple(name for name, _ in self._named())

    def _named(self) -> list[tuple[str, str]]:
        """The name of every column of X, and the column of the table it comes from."""
        own = [(name, column.name) for column in self.columns for name in column.names]
        return own + [(f"{name} missing", name) for name in self.indicated]

    def _check_names_differ(self) -> None:
        first: dict[str, str] = {}
        for name, source in self._named():
            if name in first:
                raise TableError(
                    f"columns {first[name]!r} and {source!r} both make an input called {name!r}; "
                    "rename one of them or drop it"
                )
            first[name] = source

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the table that are needed."""
        return tuple(column.name for column in self.columns)

    def encode(self, table: Any, *, rows_before: int = 0) -> EncodedTable:
        """The rows of a table as numbers; other columns are ignored and noted.

        `rows_before` counts the rows of earlier pieces, so that messages name the right row.
        """
        table = as_table(table)
        self._check_columns(table.column_names)
        notes: list[Note] = []
        parts: list[np.ndarray] = []
        indicators: list[np.ndarray] = []
        unknown: dict[str, int] = {}
        for column, mean in zip(self.columns, self.means, strict=True):
            coded = column.values(table[column.name], Where(column.name, rows_before))
            gone = np.isnan(coded.values[:, 0])
            unknown[column.name] = int(gone.sum())
            if coded.remark:
                notes.append(Note(column.name, coded.remark, coded.rows))
            if gone.any() and self.missing != "error":
                coded.values[gone] = mean
                filled = _filled(unknown[column.name], "mean").removeprefix(", ")
                notes.append(Note(column.name, filled, unknown[column.name]))
            if column.name in self.indicated:
                indicators.append(gone.astype(np.float64)[:, None])
            parts.append(coded.values)
        _check_missing(
            unknown,
            self.missing,
            table.num_rows,
            "the model was trained without missing values: fill them, or fit again with --missing "
            "mean or indicator",
        )
        known = {*self.sources, *self.dropped, self.target}
        extra = [name for name in table.column_names if name not in known]
        notes += [Note(name, "ignored: not among the training columns") for name in extra]
        return EncodedTable(np.hstack([*parts, *indicators]), self.names, tuple(notes))

    def _check_columns(self, given: list[str]) -> None:
        absent = [name for name in self.sources if name not in given]
        if absent:
            others = [name for name in given if name not in self.sources] or given
            hint = did_you_mean(absent[0], others)
            raise TableError(f"the table lacks {quoted(absent)}, known from training; {hint}")

    def _check_sound(self) -> None:
        """Refuse, with a `ValueError`, what `fit` cannot have made."""
        sources = [column.name for column in self.columns if column.is_sound()]
        means = [np.asarray(mean, np.float64) for mean in self.means]
        fits = [mean.shape == (len(c.names),) for mean, c in zip(means, self.columns, strict=True)]
        sound = (
            0 < len(sources) == len(self.columns) == len(set(sources))
            and all(fits)
            and all(np.isfinite(mean).all() for mean in means)
            and _are_texts(self.indicated)
            and set(self.indicated) <= set(sources)
            and len(set(self.indicated)) == len(self.indicated)
            and self.missing in MISSING_POLICIES
            and isinstance(self.target, str | None)
            and _are_texts(self.dropped)
            and all(_are_texts(note[:2]) and type(note.rows) is int for note in self.report)
        )
        if not sound:
            raise DirectGPError("not what fit has made")
        self._check_names_differ()

    def to_json(self) -> str:
        """All that `from_json` needs, as JSON text."""
        facts = asdict(self) | {
            "version": _VERSION,
            "columns": [{"kind": c.kind} | asdict(c) for c in self.columns],  # pyright: ignore
        }
        return json.dumps(facts, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "TableEncoder":
        """The encoder that `to_json` wrote."""
        try:
            facts = json.loads(text)
            version = facts.pop("version")
            if version != _VERSION:
                raise TableError(
                    f"this encoder has format {version}, this version of directgp reads "
                    f"{_VERSION}; update directgp"
                )
            columns = [_tuples(column) for column in facts.pop("columns")]
            facts = _tuples(facts)
            facts["report"] = tuple(Note(*note) for note in facts["report"])
            kinds = [column_kinds.lookup(column.pop("kind")) for column in columns]
            fitted = tuple(kind(**column) for kind, column in zip(kinds, columns, strict=True))
            made = cls(columns=fitted, **facts)
            made._check_sound()
            return made
        except TableError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise TableError("this is not the JSON of a table encoder; fit a new one") from None


def _are_texts(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, str) for value in values)


def _fitted(name: str, column: pa.ChunkedArray, category: bool, max_levels: int) -> Any:
    # Numbers among the texts of a category are labels too, so nothing there is stray.
    labels = category and is_text(column.type) and len(plain(column).drop_null()) > 0
    kind = "category" if labels else kind_of(column, name, _OR_CATEGORY)
    if kind is None:
        return Dropped("no value is known")
    if _INDEX.fullmatch(name) and kind == "number" and not category:
        values = numbers(column, Where(name))
        whole = np.all(values == np.floor(values))
        if len(values) > 2 and whole and len(np.unique(values)) == len(values):
            return Dropped("it numbers the rows")
    chosen: Any = column_kinds.lookup("category" if category else kind)
    return chosen.fit(name, column, max_levels)


def _means(values: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "D"]:
    """Column means of what is known; the sum of numbers near 1e308 must not overflow."""
    power = np.frexp(np.nanmax(np.abs(values), axis=0))[1]
    return np.ldexp(np.nanmean(np.ldexp(values, -power), axis=0), power)


def _check_missing(unknown: dict[str, int], missing: str, num_rows: int, advice: str) -> None:
    gaps = {name: count for name, count in unknown.items() if count}
    if gaps and missing == "error":
        counts = [f"{name!r} ({count})" for name, count in list(gaps.items())[:6]]
        more = f" and {len(gaps) - 6} more columns" if len(gaps) > 6 else ""
        raise TableError(
            f"values are missing in {', '.join(counts)}{more}, of {num_rows} rows; {advice}"
        )


def _filled(count: int, missing: str) -> str:
    how = {"mean": "", "indicator": " and marked in a column of their own"}
    return f", {count} missing values filled with the mean{how[missing]}" if count else ""


def _listed(dropped: dict[str, str]) -> str:
    shown = [f"{name!r}: {why}" for name, why in list(dropped.items())[:4]]
    more = f" and {len(dropped) - 4} more" if len(dropped) > 4 else ""
    return ("; ".join(shown) or "there is none but the target") + more


def _tuples(facts: Any) -> Any:
    """JSON's lists as the tuples they were."""
    if isinstance(facts, dict):
        return {name: _tuples(value) for name, value in facts.items()}
    return tuple(_tuples(value) for value in facts) if isinstance(facts, list) else facts
