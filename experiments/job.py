"""One run as a plain record, with a stable key."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Record = dict[str, Any]
"""What JSON knows: texts, numbers, truth values, lists and tables of them."""


class Job(NamedTuple):
    """A run to be done: all that its result depends on, the seed and the kind included."""

    record: Record

    @property
    def key(self) -> str:
        """A digest of the record: figures that share a run share its key.

        >>> Job({"kind": "fit", "beta": 1.0}).key == Job({"beta": 1, "kind": "fit"}).key
        True
        """
        return hashlib.sha256(canonical(self.record).encode()).hexdigest()[:32]


def canonical(record: Mapping[str, Any]) -> str:
    """The record as JSON in which equal records are equal texts.

    >>> canonical({"b": 2.0, "a": [0.5, True]})
    '{"a":[0.5,true],"b":2}'
    """
    return json.dumps(
        _plain(record), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _plain(value: Any) -> Any:
    """1.0 and 1 are one number, whichever a spec has."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
