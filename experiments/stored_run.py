"""Checks of runs that are read from a store or an export, which may contain anything."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments.errors import StoreError
from experiments.job import Job


def checked(values: Mapping[str, Any], where: str, nested: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a run, each of its type; otherwise a StoreError.

    Args:
        values: fields by name, as they were read.
        where: the place in the file, for the error.
        nested: fields that are JSON texts.
    """
    try:
        found = {name: json.loads(v) if name in nested else v for name, v in values.items()}
        wrong = [name for name, value in found.items() if not _KINDS[name](value)]
        if not wrong:
            _ = Job(found["record"]).key
    except (ValueError, TypeError, LookupError, RecursionError):
        raise StoreError(f"{where} is not a run; {_REMEDY}") from None
    if wrong:
        raise StoreError(f"{where} is not a run (its {', '.join(sorted(wrong))}); {_REMEDY}")
    return found


_REMEDY = "use a store of python -m experiments run, or an export of its results"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_record(value: Any) -> bool:
    seed = value.get("seed") if isinstance(value, dict) else "none"
    return seed is None or (type(seed) is int and abs(seed) < 1 << 63)


def _is_curve(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, list) for each in value.values())


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(row, dict)
        and all(isinstance(row.get(part, {}), dict) for part in ("labels", "scores"))
        for row in value
    )


_KINDS: dict[str, Callable[[Any], bool]] = {
    "record": _is_record,
    "scores": lambda value: isinstance(value, dict),
    "curve": _is_curve,
    "rows": _is_rows,
    "seconds": lambda value: isinstance(value, int | float) and math.isfinite(value) and value >= 0,
    "paper": _is_text,
    "figure": _is_text,
    "method": _is_text,
    "data": _is_text,
    "versions": lambda value: (
        isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    ),
    "git": _is_text,
    "finished": _is_text,
}
