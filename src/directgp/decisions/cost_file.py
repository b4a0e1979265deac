"""Costs from TOML files: `read_cost("cost.toml")`.

    kind = "binary"               kind = "newsvendor"        kind = "interval"
    false_positive = 1            under = 4                  width = 1
    false_negative = 20           over = 1                   miss = 20
    positive = "yes"

    kind = "matrix"               kind = "function"
    actions = ["wait", "treat"]   expression = "minimum(abs(y - action), 5)"
    [matrix]                      lower = 0
    well = [0, 1]                 upper = 40
    ill = [20, 0]
                                  kind = "function"
    kind = "reject"               function = "my_costs.py:my_cost"
    price = 0.3                   actions = [0, 10, 20]
    [cost]
    kind = "binary"               kind = "square"
    false_positive = 1
    false_negative = { column = "amount", times = 0.5 }

A price or an entry of a matrix may come from a column of the data, with one price per row.
`function` is "module:name" of an installed module, or "file.py:name" of a file in the same folder.
"""

import inspect
import os
import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.decisions.checks import check_numbers, shown
from directgp.decisions.costs import Cost, costs
from directgp.decisions.expression import Expression
from directgp.decisions.function_cost import FunctionCost
from directgp.decisions.named_function import NamedFunction, imported
from directgp.errors import DirectGPError

Columns = Mapping[str, Any] | None


_LONGEST_FILE = 1 << 20
_NO_FUNCTIONS: tuple[str, ...] = ()


@dataclass(frozen=True)
class CostSettings:
    """The settings of a cost as in a file, and the functions that may be imported for it.

    Args:
        settings: the settings.
        trusted: names of functions that may be imported.
        folder: the folder for "file.py:name".
    """

    settings: Mapping[str, Any]
    trusted: tuple[str, ...] = _NO_FUNCTIONS
    folder: Path = Path()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "CostSettings":
        """Read a file given by the user, which allows the import of the function it names."""
        settings = read_settings(path)
        named = settings.get("function")
        trusted = (named,) if isinstance(named, str) else _NO_FUNCTIONS
        return cls(settings, trusted, Path(path).parent)

    def cost(self, columns: Columns = None) -> Cost:
        """Make the cost, with prices from these columns."""
        return cost_from(self.settings, columns, trust=self.trusted, folder=self.folder)

    def __str__(self) -> str:
        return describe_cost(self.settings)


def read_cost(path: str | os.PathLike[str], columns: Columns = None) -> Cost:
    """Read a cost from a TOML file.

    A function that it names is imported, so read only files that you trust as code.

    Args:
        path: the file.
        columns: columns of the table to decide, which `{ column = … }` refers to.
    """
    return CostSettings.read(path).cost(columns)


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The settings in a TOML file."""
    file = Path(path)
    if not file.is_file():
        raise DirectGPError(f"there is no cost file {str(file)!r}; give the path of a TOML file")
    if file.stat().st_size > _LONGEST_FILE:
        raise DirectGPError(
            f"{file.name} is larger than 1 MiB, too large for a cost file; give another"
        )
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except RecursionError:
        raise DirectGPError(f"{file.name} has too many levels of nesting; write it flat") from None
    except ValueError as error:  # not TOML, not UTF-8, or a whole number of thousands of digits
        why = " ".join(str(error).split())[:200]
        raise DirectGPError(f"{file.name} is not valid TOML: {why}") from None


def cost_from(
    table: Mapping[str, Any],
    columns: Columns = None,
    *,
    trust: str | Collection[str] = _NO_FUNCTIONS,
    folder: Path = Path(),
) -> Cost:
    """Make a cost from settings.

    Args:
        table: the settings, as in a cost file.
        columns: the columns that `{ column = … }` refers to.
        trust: names of functions ("module:name") that may be imported; another function is not
            imported, and evaluating the cost is then an error.
        folder: the folder for "file.py:name".

    >>> cost_from({"kind": "newsvendor", "under": 4, "over": 1}).realised([3], [5]).tolist()
    [2.0]
    """
    if not isinstance(table, Mapping):
        raise DirectGPError(
            f"a cost is a table of settings with a kind, got {type(table).__name__}"
        )
    options = dict(table)
    kind = options.pop("kind", None)
    if kind not in costs:
        raise DirectGPError(f"a cost needs kind = one of {', '.join(costs)}; got {shown(kind)}")
    part = _FILE_FORMS[kind] if kind in _FILE_FORMS else costs.lookup(kind)
    known = inspect.signature(part).parameters
    unknown = [shown(name) for name in options if name not in known]
    missing = [n for n, p in known.items() if p.default is p.empty and n not in options]
    if unknown or missing:
        raise DirectGPError(
            f"cost {kind!r} has the settings {', '.join(known)}; "
            + (f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}")
        )
    allowed = {trust} if isinstance(trust, str) else set(trust)

    def read(name: str, value: Any) -> Any:
        if name == "function":
            known = isinstance(value, str) and value in allowed
            return imported(value, folder) if known else NamedFunction(value)
        return _READERS.get(name, _price)(name, value, columns)

    return part(**{name: read(name, value) for name, value in options.items()})


def _function_cost(
    expression: Any = None,
    function: Any = None,
    actions: Any = None,
    lower: Any = None,
    upper: Any = None,
) -> FunctionCost:
    """A function cost from the settings of a file."""
    if (expression is None) == (function is None):
        raise DirectGPError(
            'cost \'function\' needs either expression = "…" or function = "module:name"'
        )
    chosen = function if expression is None else expression
    return FunctionCost(chosen, actions=actions, lower=lower, upper=upper)


_FILE_FORMS: dict[str, Callable[..., Cost]] = {"function": _function_cost}
"""Costs whose settings in a file differ from the arguments of their class."""


def _price(name: str, value: Any, columns: Columns) -> Any:
    """A price: a number, or a column with one per row."""
    if not isinstance(value, Mapping):
        return value
    if set(value) - {"column", "times"} or not isinstance(value.get("column"), str):
        raise DirectGPError(
            f'{name} must be a number or {{ column = "…", times = … }}, got {shown(dict(value))}'
        )
    column = value["column"]
    if columns is None or column not in columns:
        raise DirectGPError(
            f"{name} names the column {shown(column)}, which the data does not have"
        )
    try:
        prices = float(value.get("times", 1.0)) * np.asarray(columns[column], dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DirectGPError(
            f"{name} must be a column of numbers times a number, got {shown(dict(value))}"
        ) from None
    missing = int(np.isnan(prices).sum())
    if missing:
        raise DirectGPError(f"the column {shown(column)} of {name} has no value in {missing} rows")
    return prices


def _matrix(name: str, value: Any, columns: Columns) -> Any:
    """A matrix of prices, as a list or by class; one per row of data if an entry is a column."""
    rows = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise DirectGPError(f"{name} must hold a list of prices for each class, got {shown(value)}")
    if any(isinstance(entry, Mapping) for row in rows for entry in row):
        if len({len(row) for row in rows}) > 1:
            raise DirectGPError(f"the rows of {name} must have one price for each action")
        entries = [[_entry(name, entry, columns) for entry in row] for row in rows]
        flat = np.broadcast_arrays(*(entry for row in entries for entry in row))
        stacked = np.moveaxis(np.array(flat), 0, -1)
        whole = stacked.reshape(-1, len(rows), len(rows[0]))
        rows = whole if not isinstance(value, Mapping) else list(np.moveaxis(whole, 1, 0))
    return dict(zip(value, rows, strict=True)) if isinstance(value, Mapping) else rows


def _entry(name: str, value: Any, columns: Columns) -> Float[np.ndarray, "*N"]:
    """An entry of a matrix: a number, or a column with one per row."""
    price = check_numbers(name, _price(name, value, columns))
    if price.ndim and not isinstance(value, Mapping):
        raise DirectGPError(f"an entry of {name} must be a number or a column, got {shown(value)}")
    return price


def _unchanged(name: str, value: Any, columns: Columns) -> Any:
    return value


_READERS: dict[str, Callable[[str, Any, Columns], Any]] = {
    "actions": _unchanged,
    "classes": _unchanged,
    "cost": lambda name, value, columns: _inner(name, value, columns),
    "expression": lambda name, value, columns: Expression(value, columns),
    "matrix": _matrix,
    "positive": _unchanged,
}
"""Readers of settings that are not prices."""


def _inner(name: str, value: Any, columns: Columns) -> Cost:
    if not isinstance(value, Mapping):
        raise DirectGPError(
            f"{name} must be a table [{name}] with a kind of its own, got {shown(value)}"
        )
    if value.get("kind") == "reject":
        raise DirectGPError("a reject option cannot be nested in another; give one price")
    return cost_from(value, columns)


def describe_cost(settings: Mapping[str, Any]) -> str:
    """The settings of a cost in one line.

    >>> describe_cost({"kind": "newsvendor", "under": 4, "over": {"column": "price"}})
    'newsvendor, under 4, over from the column price'
    """
    parts = [str(settings.get("kind"))]
    for name, value in settings.items():
        if name == "kind":
            continue
        if isinstance(value, Mapping) and isinstance(value.get("column"), str):
            times = f", times {value['times']}" if "times" in value else ""
            parts.append(f"{name} from the column {value['column']}{times}")
        elif isinstance(value, Mapping) and "kind" in value:
            parts.append(f"{name} ({describe_cost(value)})")
        else:
            parts.append(f"{name} {value}")
    return " ".join(", ".join(parts).split())
