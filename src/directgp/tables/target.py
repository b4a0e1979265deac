"""The target column: its choice, its task, and its encoding as numbers."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
from jaxtyping import Bool, Float, Int

from directgp.errors import DirectGPError
from directgp.tables.arrow_values import Where, is_date_or_time, label_of, plain, texts
from directgp.tables.arrow_values import numbers as as_floats
from directgp.tables.column_kind import kind_of
from directgp.tables.messages import TableError, did_you_mean, one_line, quoted
from directgp.tables.table import as_table

Task = Literal["regression", "classes", "counts"]
TASKS = ("regression", "classes", "counts")
_USUAL = ("y", "target", "label", "labels", "class", "outcome", "response", "output")
_FEW = 10
_MOST_CLASSES = 100
_RARE = 0.02
_VERSION = 1


class Found(NamedTuple):
    """A target column and why it was chosen."""

    name: str
    reason: str


class Guess(NamedTuple):
    """A task, the reason, and whether another task is as plausible."""

    task: Task
    reason: str
    ambiguous: bool


def find_target(table: Any, name: str | None = None) -> Found:
    """Choose the target column.

    Args:
        table: the table.
        name: its name; None: a column called y, target, label, class, …, else the last.

    >>> find_target({"Target": [1.0], "x": [2.0]})
    Found(name='Target', reason="it is called 'Target'")
    """
    columns = as_table(table).column_names
    if name is not None:
        if name not in columns:
            raise TableError(f"there is no column {name!r}; {did_you_mean(name, columns)}")
        return Found(name, "it was given")
    for usual in _USUAL:
        for column in columns:
            if column.lower() == usual:
                return Found(column, f"it is called {column!r}")
    return Found(columns[-1], "it is the last column")


def guess_task(
    column: Any, name: str = "target", numbers: Int[np.ndarray, "N"] | None = None
) -> Guess:
    """Guess the task from the values of the target.

    Text and booleans are classes, numbers with decimals regression. For whole numbers: two values
    are classes; at most 10 values that are 0, 1, … or 1, 2, … are classes, or counts if some are
    rare; more values with a minimum of at most 2 are counts; all others are regression.

    Args:
        column: the target.
        name: the name of the column, for messages.
        numbers: the numbers of the rows in their file, for messages.
    """
    column = _as_column(column)
    kind = _target_kind(column, name, numbers)
    if kind in ("category", "boolean"):
        what = "text" if kind == "category" else "true or false"
        levels = len(plain(column).drop_null().unique())
        return Guess("classes", f"it holds {what} ({levels} different values)", False)
    values = as_floats(column, Where(name, numbers=numbers))
    values = values[~np.isnan(values)]
    distinct, counts = np.unique(values, return_counts=True)
    if np.any(distinct != np.floor(distinct)):
        return Guess("regression", "it holds numbers with decimals", False)
    if len(distinct) == 2:
        plain_pair = distinct.tolist() in ([0, 1], [-1, 1], [1, 2])
        return Guess("classes", f"it has two values, {_spelt(distinct)}", not plain_pair)
    if distinct[0] < 0:
        return Guess("regression", "it holds negative whole numbers", len(distinct) <= _FEW)
    if len(distinct) <= _FEW and distinct[0] <= 1 and np.all(np.diff(distinct) == 1):
        if counts.min() < _RARE * len(values):
            why = f"it holds the whole numbers {_spelt(distinct)}, some of them rare"
            return Guess("counts", why + "; it could also be classes", True)
        why = f"it has {len(distinct)} values, {_spelt(distinct)}"
        return Guess("classes", why + "; it could also be counts or a measurement", True)
    if distinct[0] <= 2:
        why = f"it holds whole numbers from {distinct[0]:g} to {distinct[-1]:g}"
        return Guess("counts", why + "; it could also be a measurement", True)
    why = f"it holds whole numbers from {distinct[0]:g} to {distinct[-1]:g}"
    return Guess("regression", why, len(distinct) <= _FEW)


@dataclass(frozen=True)
class TargetEncoder:
    """Encodes the target: numbers unchanged, classes as 0 … K − 1, the indices of `labels`.

    >>> encoder = TargetEncoder.fit(["no", "yes", "no"], "classes", name="bought")
    >>> encoder.labels, encoder.encode(["yes"])
    (('no', 'yes'), array([1.]))
    """

    name: str
    task: str
    labels: tuple[str | int | float | bool, ...] = ()

    @classmethod
    def fit(
        cls,
        column: Any,
        task: str | None = None,
        name: str = "target",
        *,
        numbers: Int[np.ndarray, "N"] | None = None,
    ) -> "TargetEncoder":
        """Find the labels in training rows.

        Args:
            column: the target of the training rows.
            task: "regression", "classes" or "counts"; None: see `guess_task`.
            name: the name of the column.
            numbers: the numbers of the rows in their file, for messages.
        """
        column = _as_column(column)
        kind = _target_kind(column, name, numbers)
        task = guess_task(column, name, numbers).task if task is None else task
        if task not in TASKS:
            raise DirectGPError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
        if task != "classes":
            if kind == "category":
                raise TableError(
                    f"target {name!r} holds text, which needs the task classes; leave out --task / "
                    "--likelihood"
                )
            encoder = cls(name, task)
            encoder.encode(column, numbers=numbers)
            return encoder
        labels = _labels(column, kind)
        if len(labels) < 2:
            raise TableError(
                f"target {name!r} has a single class ({quoted(map(str, labels))}); give rows of "
                "another class"
            )
        if len(labels) > min(_MOST_CLASSES, max(2, len(column) / 2)):
            raise TableError(
                f"target {name!r} has {len(labels)} different values in {len(column)} rows, too "
                "many for classes; name another target or task"
            )
        return cls(name, task, labels)

    def encode(
        self,
        column: Any,
        *,
        rows_before: int = 0,
        numbers: Int[np.ndarray, "N"] | None = None,
    ) -> Float[np.ndarray, "N"]:
        """Encode targets; a missing value, an unknown label or an invalid number is an error.

        Args:
            column: the targets.
            rows_before: the number of rows of earlier pieces, for messages.
            numbers: the numbers of the rows in their file, for messages.
        """
        column, where = _as_column(column), Where(self.name, rows_before, numbers=numbers)
        coders = {"classes": self._class_numbers, "counts": self._counts}
        values = coders.get(self.task, as_floats)(column, where)
        gone = np.isnan(values)
        if gone.any():
            raise TableError(
                f"target {self.name!r} is missing in {int(gone.sum())} of {len(values)} rows "
                f"(first: {where.row(np.argmax(gone))}); remove those rows"
            )
        return values

    def decode(self, values: Any) -> list:
        """Class numbers back to labels; other targets come back as they are."""
        values = np.asarray(values)
        if not self.labels:
            return values.tolist()
        return [self.labels[int(value)] for value in values]

    def _class_numbers(self, column: pa.ChunkedArray, where: Where) -> np.ndarray:
        text = texts(column)
        known = pa.array([_label_text(label) for label in self.labels], text.type)
        found = compute.call_function("index_in", [text], compute.SetLookupOptions(known))
        values = np.array(found.cast(pa.float64()).to_numpy(), dtype=np.float64)
        strange = np.isnan(values) & text.is_valid().to_numpy()
        if strange.any():
            first = int(np.argmax(strange))
            raise TableError(
                f"target {self.name!r} has {one_line(text[first].as_py(), 40)!r} in "
                f"{where.row(first)}, a class unknown from training; known are "
                f"{quoted(map(str, self.labels))}"
            )
        return values

    def _counts(self, column: pa.ChunkedArray, where: Where) -> np.ndarray:
        values = as_floats(column, where)
        strange = (values < 0) | (values != np.floor(values)) & ~np.isnan(values)
        if strange.any():
            first = int(np.argmax(strange))
            raise TableError(
                f"target {self.name!r} must hold counts (whole numbers ≥ 0), but "
                f"{where.row(first)} has {values[first]:g}; choose regression"
            )
        return values

    def to_json(self) -> str:
        """All that `from_json` needs, as JSON text."""
        facts = asdict(self) | {"version": _VERSION}
        return json.dumps(facts, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "TargetEncoder":
        """The encoder that `to_json` wrote."""
        try:
            facts = json.loads(text)
            version = facts.pop("version")
            if version == _VERSION and _is_sound(**facts):
                return cls(facts["name"], facts["task"], tuple(facts["labels"]))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            version = "unknown"
        raise TableError(
            f"this is not the JSON of a target encoder (format {version}); fit a new one"
        )


def _is_sound(name: Any, task: Any, labels: Any) -> bool:
    """Whether the fields of a target encoder from a file are valid."""
    if not isinstance(name, str) or task not in TASKS or not isinstance(labels, list):
        return False
    if not all(isinstance(label, str | bool | int | float) for label in labels):
        return False
    known = {_label_text(label) for label in labels}
    return len(known) == len(labels) and (len(labels) > 1) == (task == "classes")


def known_target(table: Any, name: str) -> Bool[np.ndarray, "N"]:
    """Mask of the rows in which the target is known.

    Args:
        table: the table.
        name: the name of the target column.
    """
    target = plain(as_table(table)[name])
    known = target.is_valid().to_numpy()
    if pa.types.is_floating(target.type):
        known = known & ~np.isnan(target.to_numpy())
    return known


def _as_column(column: Any) -> pa.ChunkedArray:
    if isinstance(column, pa.ChunkedArray):
        return column
    try:
        if hasattr(column, "__arrow_c_stream__"):
            return pa.chunked_array(column)
        return pa.chunked_array([column if isinstance(column, pa.Array) else pa.array(column)])
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise TableError(f"the target cannot be read as a column ({one_line(error)})") from None


def _target_kind(
    column: pa.ChunkedArray, name: str, numbers: Int[np.ndarray, "N"] | None = None
) -> str:
    kind = kind_of(column, Where(name, numbers=numbers))
    if kind is None:
        raise TableError(f"target {name!r} has no known value; name another target")
    if kind == "date" or is_date_or_time(column.type):
        raise TableError(f"target {name!r} holds dates; name a target of numbers or classes")
    return kind


def _labels(column: pa.ChunkedArray, kind: str) -> tuple:
    """The distinct labels in order, as numbers, booleans or text."""
    if kind == "number":
        values = as_floats(column, Where("target"))
        distinct = np.unique(values[~np.isnan(values)]).tolist()
        return tuple(int(v) if float(v).is_integer() else v for v in distinct)
    if pa.types.is_boolean(column.type):
        return tuple(sorted(set(column.drop_null().to_pylist())))
    return tuple(sorted(texts(column).drop_null().unique().to_pylist()))


def _label_text(label: str | int | float | bool) -> str:
    if isinstance(label, str):
        return label
    return str(label).lower() if isinstance(label, bool) else label_of(label)


def _spelt(distinct: np.ndarray) -> str:
    return ", ".join(f"{value:g}" for value in distinct)
