"""`TableEncoder`: encoding of a table as numbers, fitted to training rows."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from directgp.errors import DirectGPError, nearest
from directgp.tables.arrow_values import Where
from directgp.tables.columns import Column, Dropped, column_kinds
from directgp.tables.fit_columns import Plan, fit_column
from directgp.tables.messages import TableError, did_you_mean, quoted
from directgp.tables.missing import (
    MISSING_POLICIES,
    POLICIES,
    check_missing,
    different_gaps,
    means,
    medians,
    missing_in,
)
from directgp.tables.notes import Note
from directgp.tables.table import as_table
from directgp.tables.target_means import TargetMeanColumn, TargetValues, folds_of

_VERSION = 2


class EncodedTable(NamedTuple):
    """Encoded rows, the name of every encoded column, and notes on unusual values."""

    X: Float[np.ndarray, "N D"]
    names: tuple[str, ...]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class TableEncoder:
    """Encodes the columns of a table as numbers; fitted to training rows.

    >>> encoder = TableEncoder.fit({"size": [1.5, 2, 2], "kind": ["a", "b", "b"]})
    >>> encoder.names
    ('size', 'kind=a')
    >>> encoder.encode({"kind": ["a"], "size": ["3"]}).X
    array([[3., 1.]])
    """

    columns: tuple[Column, ...]
    fills: tuple[tuple[float, ...], ...]
    """The value that replaces a missing one, for each encoded column of each column."""
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
        missing: str = "indicator",
        max_levels: int = 50,
        codes: bool = False,
        y: TargetValues | None = None,
        numbers: Int[np.ndarray, "N"] | None = None,
    ) -> "TableEncoder":
        """Choose the encoding of every column; `report` describes it.

        Args:
            table: the training rows: a frame, an Arrow table, a mapping of columns or a path.
            target: the column to predict, which is not an input.
            drop: other columns that are not inputs.
            categories: columns of labels that may look like numbers (postcodes).
            missing: "indicator" imputes the training median and adds a column that is 1 where the
                value is missing; "median" and "mean" only impute; "error" raises an error.
            max_levels: categories with more levels are encoded as the mean target of each level.
            codes: whether other categories become indices of levels instead of columns of 0 and 1.
            y: the target for these means; None drops such columns. See `encode_training`.
            numbers: the number of every row in its file, for messages.
        """
        if missing not in POLICIES:
            raise DirectGPError(
                f"missing must be one of {', '.join(MISSING_POLICIES)}, got {missing!r}"
            )
        table = as_table(table)
        for name in (*drop, *categories, *(() if target is None else (target,))):
            if name not in table.column_names:
                raise TableError(
                    f"there is no column {name!r}; {did_you_mean(name, table.column_names)}"
                )
        plan = Plan(max_levels, codes, missing in ("indicator", "keep"), y)
        left_out = {*drop, target}
        columns, dropped = list[Column](), dict[str, str]()
        for name in table.column_names:
            if name not in left_out:
                where = Where(name, numbers=numbers)
                fitted = fit_column(name, table[name], where, name in categories, plan)
                if isinstance(fitted, Dropped):
                    dropped[name] = fitted.why
                else:
                    columns.append(fitted)
        if not columns:
            raise TableError(f"no column can be used as an input ({_listed(dropped)})")
        coded = {
            c.name: c.values(table[c.name], Where(c.name, numbers=numbers)).values for c in columns
        }
        gone = {name: np.isnan(values[:, 0]) for name, values in coded.items()}
        unknown = {name: int(mask.sum()) for name, mask in gone.items()}
        check_missing(
            unknown,
            missing,
            f"{table.num_rows} training rows",
            "fill them, or choose missing='indicator' or missing='median' (--missing on the "
            "command line)",
        )
        middle = means if missing == "mean" else medians
        report = [
            Note(
                column.name,
                column.describe()
                + missing_in(unknown[column.name], missing, column.filler_name(missing)),
            )
            for column in columns
        ]
        report += [Note(name, f"dropped: {why}") for name, why in dropped.items()]
        fitted = cls(
            columns=tuple(columns),
            fills=tuple(tuple(c.filler(coded[c.name], middle).tolist()) for c in columns),
            indicated=different_gaps(gone) if missing == "indicator" else (),
            missing=missing,
            target=target,
            dropped=(*drop, *dropped),
            report=tuple(report),
        )
        fitted.check_names_differ()
        return fitted

    @property
    def sources_of_inputs(self) -> tuple[str, ...]:
        """For every column of X the column of the table it comes from."""
        return tuple(source for _, source in self._named())

    @property
    def categorical(self) -> Bool[np.ndarray, "D"]:
        """Which columns of X are numbers of levels."""
        own = [column.is_category for column in self.columns for _ in column.names]
        return np.array(own + [False] * len(self.indicated), dtype=bool)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of every column of X."""
        return tuple(name for name, _ in self._named())

    def _named(self) -> list[tuple[str, str]]:
        """The name of every column of X, and the column of the table it comes from."""
        own = [(name, column.name) for column in self.columns for name in column.names]
        return own + [(f"{name} missing", name) for name in self.indicated]

    def check_names_differ(self) -> None:
        """Raise an error for two encoded columns of the same name."""
        first: dict[str, str] = {}
        for name, source in self._named():
            if name in first:
                raise TableError(
                    f"columns {first[name]!r} and {source!r} are both encoded as {name!r}; rename "
                    "one of them or drop it"
                )
            first[name] = source

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of the table that are needed."""
        return tuple(column.name for column in self.columns)

    def encode(
        self,
        table: Any,
        *,
        rows_before: int = 0,
        numbers: Int[np.ndarray, "N"] | None = None,
    ) -> EncodedTable:
        """Encode the rows of a table; columns unknown from training are ignored and noted.

        Args:
            table: a frame, an Arrow table, a mapping of columns or a path.
            rows_before: the number of rows of earlier pieces, so that messages name the right row.
            numbers: the number of every row in its file, where some rows were removed before.
        """
        table = as_table(table)
        self._check_columns(table.column_names)
        notes, parts = list[Note](), list[np.ndarray]()
        for column in self.columns:
            where = Where(column.name, rows_before, numbers=numbers)
            coded = column.values(table[column.name], where)
            if coded.remark:
                notes.append(Note(column.name, coded.remark, coded.rows))
            parts.append(coded.values)
        X, filled = self._completed(parts)
        for name in table.column_names:
            if name not in {*self.sources, *self.dropped, self.target}:
                notes.append(Note(name, "ignored: not among the training columns"))
        return EncodedTable(X, self.names, (*notes, *filled))

    def encode_training(
        self,
        table: Any,
        y: TargetValues | None,
        *,
        numbers: Int[np.ndarray, "N"] | None = None,
    ) -> EncodedTable:
        """`encode` the training rows, with out-of-fold means of `y` for target-encoded categories.

        Args:
            table: the training rows.
            y: their targets; None if there is no such category.
            numbers: as in `encode`.
        """
        encoded = self.encode(table, numbers=numbers)
        if y is None or not any(isinstance(c, TargetMeanColumn) for c in self.columns):
            return encoded
        table = as_table(table)
        X, first = encoded.X, 0
        fold = folds_of(np.column_stack([X, y.values]))
        for column, fill in zip(self.columns, self.fills, strict=True):
            last = first + len(column.names)
            if isinstance(column, TargetMeanColumn):
                coded = column.out_of_fold(table[column.name], y, fold)
                X[:, first:last] = (
                    coded if self.missing == "keep" else np.where(np.isnan(coded), fill, coded)
                )
            first = last
        return encoded

    def encode_numbers(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Encode a numeric array with the training columns in the same order."""
        if not np.isnan(X).any() and not self.indicated:
            return X
        return self._completed([column[:, None].copy() for column in X.T])[0]

    def _completed(self, parts: list[np.ndarray]) -> tuple[np.ndarray, list[Note]]:
        """The encoded columns side by side, with missing values filled and indicated."""
        notes, indicators = list[Note](), list[np.ndarray]()
        unknown: dict[str, int] = {}
        for column, fill, values in zip(self.columns, self.fills, parts, strict=True):
            gone = np.isnan(values[:, 0])
            unknown[column.name] = int(gone.sum())
            if gone.any() and self.missing not in ("error", "keep"):
                values[gone] = fill
                filler = column.filler_name(self.missing)
                filled = missing_in(unknown[column.name], self.missing, filler, marked=False)
                notes.append(Note(column.name, filled.removeprefix(", "), unknown[column.name]))
            if column.name in self.indicated:
                indicators.append(gone.astype(np.float64)[:, None])
        check_missing(
            unknown,
            self.missing,
            f"{len(parts[0])} rows",
            "the model was trained without missing values: fill them, or fit again with --missing "
            "indicator or median",
        )
        return np.hstack([*parts, *indicators]), notes

    def _check_columns(self, given: list[str]) -> None:
        absent = [name for name in self.sources if name not in given]
        if absent:
            known = {*self.sources, *self.dropped, self.target}
            hint = nearest(absent[0], [name for name in given if name not in known])
            raise TableError(
                f"the table lacks {quoted(absent)}, known from training"
                f"{f'; {hint}' if hint else ', and has no column with a similar new name'}"
            )

    def _check_sound(self) -> None:
        """Raise an error for invalid fields, which a file may have."""
        sources = [column.name for column in self.columns if column.is_sound()]
        means = [np.asarray(fill, np.float64) for fill in self.fills]
        fits = [mean.shape == (len(c.names),) for mean, c in zip(means, self.columns, strict=True)]
        sound = (
            0 < len(sources) == len(self.columns) == len(set(sources))
            and all(fits)
            and all(np.isfinite(mean).all() for mean in means)
            and _are_texts(self.indicated)
            and set(self.indicated) <= set(sources)
            and len(set(self.indicated)) == len(self.indicated)
            and self.missing in POLICIES
            and isinstance(self.target, str | None)
            and _are_texts(self.dropped)
            and all(_are_texts(note[:2]) and type(note.rows) is int for note in self.report)
        )
        if not sound:
            raise DirectGPError("these fields are not those of a fitted encoder")
        self.check_names_differ()

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
            if version == 1:  # the format in which fills were always means
                facts["fills"] = facts.pop("means")
            elif version != _VERSION:
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


def _listed(dropped: dict[str, str]) -> str:
    reasons = "; ".join(f"{name!r}: {why}" for name, why in list(dropped.items())[:4])
    more = f" and {len(dropped) - 4} more" if len(dropped) > 4 else ""
    return (reasons or "there is none but the target") + more


def _tuples(facts: Any) -> Any:
    """Convert lists from JSON to tuples."""
    if isinstance(facts, dict):
        return {name: _tuples(value) for name, value in facts.items()}
    return tuple(_tuples(value) for value in facts) if isinstance(facts, list) else facts
