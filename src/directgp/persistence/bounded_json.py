"""Parse JSON from untrusted files: finite numbers, valid Unicode, bounded size and depth."""

import json
import math
import re
from typing import Any

from directgp.errors import DirectGPError

LARGEST = 32 << 20
"""Maximum size in bytes; a table of ten thousand columns takes two million."""
_HALF = re.compile("[\ud800-\udfff]|\\\\u[dD][89a-fA-F]")
_HALF_IN_BYTES = re.compile(rb"\\u[dD][89a-fA-F]")
"""Surrogates, of which only pairs are valid."""


def read_json(text: str | bytes) -> Any:
    """The value of a JSON text; anything invalid is a `DirectGPError`.

    >>> read_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> read_json("[" * 100000)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: JSON is nested too deeply
    """
    if not isinstance(text, str | bytes) or len(text) > LARGEST:
        raise DirectGPError(f"JSON must be a text of at most {LARGEST:,} characters")
    try:
        found = json.loads(
            text,
            parse_constant=_refuse,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_without_duplicates,
        )
        half = _HALF.search(text) if isinstance(text, str) else _HALF_IN_BYTES.search(text)
        if half:
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except UnicodeEncodeError:
        raise DirectGPError("a text in JSON is not valid Unicode") from None
    except RecursionError:
        raise DirectGPError("JSON is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise DirectGPError(f"invalid JSON ({error.msg})") from None
    except UnicodeDecodeError:
        raise DirectGPError("invalid JSON (not UTF-8)") from None


def _refuse(constant: str) -> float:
    raise DirectGPError(f"invalid JSON (the number {constant})")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise DirectGPError("a number in JSON is too large")
    return number


def _whole(text: str) -> int:
    if len(text) > 20:
        raise DirectGPError("a whole number in JSON is too long")
    return int(text)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise DirectGPError("a JSON object has a duplicate key")
    return found
