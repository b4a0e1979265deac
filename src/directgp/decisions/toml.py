"""A cost in a text file, for the command line: `read_cost("cost.toml")`.

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
    kind = "reject"               function = "my_module:my_cost"
    price = 0.3                   actions = [0, 10, 20]
    [cost]
    kind = "binary"               kind = "square"
    false_positive = 1
    false_negative = { column = "amount", times = 0.5 }

A price may come from a column of the data, one for each row; so may entries of a matrix.
"""

import inspect
import os
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from directgp.decisions.costs import Cost, costs
from directgp.decisions.expression import Expression
from directgp.decisions.function_cost import FunctionCost, imported

Columns = Mapping[str, Any] | None


def read_cost(path: str | os.PathLike[str], columns: Columns = None) -> Cost:
    """The cost that a TOML file describes; `columns` are what `{ column = … }` refers to."""
    return cost_from(read_settings(path), columns)


def read_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a TOML file says, before it is made a cost."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no cost file {str(file)!r}; give the path of a TOML file")
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} is not valid TOML: {' '.join(str(error).split())}") from None


def cost_from(table: Mapping[str, Any], columns: Columns = None) -> Cost:
    """The cost that a table of settings describes.

    >>> cost_from({"kind": "newsvendor", "under": 4, "over": 1}).realised([3], [5]).tolist()
    [2.0]
    """
    options = dict(table)
    kind = options.pop("kind", None)
    if kind not in costs:
        raise ValueError(f"a cost needs kind = one of {', '.join(costs)}; got {kind!r}")
    part = _WRITTEN[kind] if kind in _WRITTEN else costs.lookup(kind)
    known = inspect.signature(part).parameters
    unknown = [name for name in options if name not in known]
    missing = [n for n, p in known.items() if p.default is p.empty and n not in options]
    if unknown or missing:
        raise ValueError(
            f"cost {kind!r} has the settings {', '.join(known)}; "
            + (f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}")
        )
    readers = {name: _READERS.get(name, _price) for name in options}
    return part(**{name: readers[name](name, value, columns) for name, value in options.items()})


def _written_function(
    expression: Any = None,
    function: Any = None,
    actions: Any = None,
    lower: Any = None,
    upper: Any = None,
) -> FunctionCost:
    """A function cost as a file can say it."""
    if (expression is None) == (function is None):
        raise ValueError(
            'cost \'function\' needs either expression = "…" or function = "module:name"'
        )
    chosen = function if expression is None else expression
    return FunctionCost(chosen, actions=actions, lower=lower, upper=upper)


_WRITTEN: dict[str, Callable[..., Cost]] = {"function": _written_function}
"""Costs that a file says otherwise than code does."""


def _price(name: str, value: Any, columns: Columns) -> Any:
    """A number, or one for each row where the file names a column."""
    if not isinstance(value, Mapping):
        return value
    if set(value) - {"column", "times"} or not isinstance(value.get("column"), str):
        raise ValueError(
            f'{name} must be a number or {{ column = "…", times = … }}, got {dict(value)!r}'
        )
    column = value["column"]
    if columns is None or column not in columns:
        raise ValueError(f"{name} asks for the column {column!r}, which the data does not have")
    try:
        prices = float(value.get("times", 1.0)) * np.asarray(columns[column], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the column {column!r} of {name} must hold numbers") from None
    missing = int(np.isnan(prices).sum())
    if missing:
        raise ValueError(f"the column {column!r} of {name} has no value in {missing} rows")
    return prices


def _matrix(name: str, value: Any, columns: Columns) -> Any:
    """Rows of prices, in a list or by class; one matrix a row of data if an entry is a column."""
    rows = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise ValueError(f"{name} must hold a list of prices for each class, got {value!r}")
    if any(isinstance(entry, Mapping) for row in rows for entry in row):
        if len({len(row) for row in rows}) > 1:
            raise ValueError(f"the rows of {name} must have one price for each action")
        entries = [[_price(name, entry, columns) for entry in row] for row in rows]
        flat = np.broadcast_arrays(*(entry for row in entries for entry in row))
        stacked = np.moveaxis(np.array(flat), 0, -1)
        whole = stacked.reshape(-1, len(rows), len(rows[0]))
        rows = whole if not isinstance(value, Mapping) else list(np.moveaxis(whole, 1, 0))
    return dict(zip(value, rows, strict=True)) if isinstance(value, Mapping) else rows


def _as_it_is(name: str, value: Any, columns: Columns) -> Any:
    return value


_READERS: dict[str, Callable[[str, Any, Columns], Any]] = {
    "actions": _as_it_is,
    "classes": _as_it_is,
    "cost": lambda name, value, columns: _inner(name, value, columns),
    "expression": lambda name, value, columns: Expression(value, columns),
    "function": lambda name, value, columns: imported(value),
    "matrix": _matrix,
    "positive": _as_it_is,
}
"""How settings are read that are no prices."""


def _inner(name: str, value: Any, columns: Columns) -> Cost:
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} must be a table [{name}] with a kind of its own, got {value!r}")
    if value.get("kind") == "reject":
        raise ValueError("a reject option cannot be within another; give the price of one")
    return cost_from(value, columns)


def in_words(settings: Mapping[str, Any]) -> str:
    """A cost in a line.

    >>> in_words({"kind": "newsvendor", "under": 4, "over": {"column": "price"}})
    'newsvendor, under 4, over from the column price'
    """
    parts = [str(settings.get("kind"))]
    for name, value in settings.items():
        if name == "kind":
            continue
        if isinstance(value, Mapping) and isinstance(value.get("column"), str):
            times = f", times {value['times']:g}" if "times" in value else ""
            parts.append(f"{name} from the column {value['column']}{times}")
        elif isinstance(value, Mapping) and "kind" in value:
            parts.append(f"{name} ({in_words(value)})")
        else:
            parts.append(f"{name} {value}")
    return ", ".join(parts)
