"""One run as a plain record, with a stable key."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

Record = dict[str, Any]
"""A JSON object."""


class Job(NamedTuple):
    """One run: a record of everything its result depends on, with seed and kind."""

    record: Record

    @property
    def key(self) -> str:
        """A digest of the record: figures that share a run share its key.

        >>> Job({"kind": "fit", "beta": 1.0}).key == Job({"beta": 1, "kind": "fit"}).key
        True
        """
        return hashlib.sha256(canonical(self.record).encode()).hexdigest()[:32]


def canonical(record: Mapping[str, Any]) -> str:
    """Canonical JSON of a record: equal records have equal text.

    >>> canonical({"b": 2.0, "a": [0.5, True]})
    '{"a":[0.5,true],"b":2}'
    """
    return json.dumps(
        _plain(record), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _plain(value: Any) -> Any:
    """Convert whole floats to int, so that 1.0 and 1 are equal."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value
