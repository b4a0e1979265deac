"""Metadata of a model file, readable without loading the model."""

import os
from dataclasses import asdict, dataclass
from typing import Any

from directgp.persistence.bounded_json import read_json
from directgp.persistence.container import read_container
from directgp.persistence.errors import DamagedModelFile

KEY = "inspection"
"""Its key among the extras of a file."""


@dataclass(frozen=True)
class Inspection:
    """The metadata that ``directgp inspect`` shows: targets, inputs, training."""

    targets: list[str]
    task: str
    classes: list[list[str]]
    """The names of the classes of each target; empty for numbers and counts."""
    inputs: list[str]
    columns: list[list[str]]
    """Pairs of a column and its encoding."""
    relevance: dict[str, float]
    relevance_means: str
    beta: float | None
    seconds: float
    options: dict[str, Any]
    described: dict[str, str]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        return asdict(self)


def read_inspection(path: str | os.PathLike[str]) -> Inspection | None:
    """The metadata of a model file, after checking the checksums; None if it has none."""
    content = read_json(read_container(path)[0])
    extras = content.get("extras") if isinstance(content, dict) else None
    text = extras.get(KEY) if isinstance(extras, dict) else None
    if text is None:
        return None
    try:
        found = Inspection(**read_json(text))
        _check(found)
    except (ValueError, TypeError):
        raise DamagedModelFile(
            f"{path} is inconsistent (its metadata); fit the model again"
        ) from None
    return found


def _check(found: Inspection) -> None:
    """Check the type of every value, because a file may hold anything."""

    def texts(values: Any) -> bool:
        return isinstance(values, list) and all(isinstance(value, str) for value in values)

    def number(value: Any) -> bool:
        return isinstance(value, int | float) and not isinstance(value, bool)

    sound = (
        texts(found.targets)
        and bool(found.targets)
        and isinstance(found.classes, list)
        and all(map(texts, found.classes))
        and len(found.classes) == len(found.targets)
        and texts(found.inputs)
        and isinstance(found.columns, list)
        and all(texts(pair) and len(pair) == 2 for pair in found.columns)
        and isinstance(found.relevance, dict)
        and all(map(number, found.relevance.values()))
        and isinstance(found.options, dict)
        and isinstance(found.described, dict)
        and texts(list(found.described.values()))
        and texts([found.task, found.relevance_means, found.version])
        and (found.beta is None or number(found.beta))
        and number(found.seconds)
    )
    if not sound:
        raise TypeError("a value has the wrong type")
