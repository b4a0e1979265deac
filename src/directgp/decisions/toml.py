"""A cost in a text file, for the command line: `read_cost("cost.toml")`.

    kind = "binary"               kind = "newsvendor"
    false_positive = 1            under = 4
    false_negative = 20           over = 1

    kind = "reject"               kind = "matrix"
    price = 0.3                   matrix = [[0, 1], [5, 0]]
    [cost]                        actions = ["wait", "treat"]
    kind = "binary"
    false_positive = 1
    false_negative = { column = "amount", times = 0.5 }

A price may come from a column of the data, one for each row.
"""

import inspect
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from directgp.decisions.costs import Cost, costs

_IN_CODE_ONLY = ("function",)


def read_cost(path: str | os.PathLike[str], columns: Mapping[str, Any] | None = None) -> Cost:
    """The cost that a TOML file describes; `columns` are what `{ column = … }` refers to."""
    file = Path(path)
    if not file.is_file():
        raise ValueError(f"there is no cost file {str(file)!r}; give the path of a TOML file")
    try:
        table = tomllib.loads(file.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} is not valid TOML: {' '.join(str(error).split())}") from None
    return cost_from(table, columns)


def cost_from(table: Mapping[str, Any], columns: Mapping[str, Any] | None = None) -> Cost:
    """The cost that a table of settings describes.

    >>> cost_from({"kind": "newsvendor", "under": 4, "over": 1}).realised([3], [5]).tolist()
    [2.0]
    """
    options = dict(table)
    kinds = [kind for kind in costs if kind not in _IN_CODE_ONLY]
    kind = options.pop("kind", None)
    if kind not in kinds:
        raise ValueError(f"a cost needs kind = one of {', '.join(kinds)}; got {kind!r}")
    part = costs.lookup(kind)
    known = inspect.signature(part).parameters
    unknown = [name for name in options if name not in known]
    missing = [n for n, p in known.items() if p.default is p.empty and n not in options]
    if unknown or missing:
        raise ValueError(
            f"cost {kind!r} has the settings {', '.join(known)}; "
            + (f"unknown: {', '.join(unknown)}" if unknown else f"missing: {', '.join(missing)}")
        )
    return part(**{name: _value(name, value, columns) for name, value in options.items()})


def _value(name: str, value: Any, columns: Mapping[str, Any] | None) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "kind" in value:
        return cost_from(value, columns)
    if set(value) - {"column", "times"} or "column" not in value:
        raise ValueError(
            f'{name} must be a number or {{ column = "…", times = … }}, got {dict(value)!r}'
        )
    column = value["column"]
    if columns is None or column not in columns:
        raise ValueError(f"{name} asks for the column {column!r}, which the data does not have")
    try:
        return float(value.get("times", 1.0)) * np.asarray(columns[column], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"the column {column!r} of {name} must hold numbers") from None
