"""The format of a model file: safetensors with JSON in its header, and checksums over both.

This module does not import JAX, so that metadata can be read quickly.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_arrays

from directgp.errors import DirectGPError
from directgp.persistence.bounded_json import LARGEST, read_json
from directgp.persistence.errors import (
    DamagedModelFile,
    ForeignFile,
    NewerModelFile,
    NoModelFile,
)

SCHEMA = 2
"""Version of the format; files with a larger number were written by a newer directgp."""

KEY, CONTENT = "directgp-model", "content"
_CHECKSUM = re.compile(rb'"sha256":"([0-9a-f]{64})"')
NO_CHECKSUM = b'"sha256":"' + b"0" * 64 + b'"'
_LARGEST_SIDE = 1 << 31


def digest(text: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Checksum of the JSON and of all arrays, independent of their order in the file.

    Args:
        text: the JSON.
        arrays: by name.
    """
    found = hashlib.sha256(text.encode("utf-8", "surrogatepass"))
    for name in sorted(arrays):
        array = arrays[name]
        found.update(f"{name!r} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def read_container(path: str | os.PathLike[str]) -> tuple[str, dict[str, np.ndarray]]:
    """The JSON and the arrays of a file, after checking the checksums."""
    data = _read_bytes(path)
    if f'"{KEY}"'.encode() not in data:
        if b'"directgp-checkpoint"' in data:
            raise ForeignFile(
                f"{path} is a training checkpoint; resume the fit it is from, then save the model"
            )
        table = str(path).lower().endswith((".csv", ".csv.gz", ".tsv", ".parquet"))
        todo = "are the arguments swapped? The model" if table else "give a file written by"
        todo += " comes first" if table else " directgp's save"
        size = max(len(data), Path(path).stat().st_size)
        raise ForeignFile(f"{path} is not a directgp model ({size} bytes); {todo}")
    damaged = DamagedModelFile(
        f"{path} is damaged: its content does not match its checksum (truncated or altered); "
        "copy it again or save the model again"
    )
    checksum = _CHECKSUM.search(data)
    if checksum is None:
        raise damaged
    blank = data[: checksum.start()] + NO_CHECKSUM + data[checksum.end() :]
    if hashlib.sha256(blank).hexdigest().encode() != checksum[1]:
        raise damaged
    try:
        metadata = _header(data)["__metadata__"]
        text, arrays = metadata[KEY], load_arrays(data)
        schema = read_json(text)["schema"]
        if type(schema) is not int or schema < 1:
            raise DirectGPError("no schema")
        if any(side > _LARGEST_SIDE for array in arrays.values() for side in array.shape):
            raise DirectGPError("an array is too large")
        right = metadata.get(CONTENT) == digest(text, arrays)
    except (ValueError, TypeError, AttributeError, LookupError, SafetensorError, MemoryError):
        raise damaged from None
    if schema > SCHEMA:
        raise NewerModelFile(
            f"{path} is from a newer directgp (format {schema}, this one reads up to {SCHEMA}); "
            "update directgp"
        )
    if not right and (schema > 1 or CONTENT in metadata):  # format 1 has no content checksum
        raise damaged
    return text, arrays


def _read_bytes(path: str | os.PathLike[str]) -> bytes:
    """All of a model file; of a file without the words of one only as much as shows that."""
    try:
        with Path(path).open("rb") as file:
            start = file.read(8 + LARGEST)
            return start + file.read() if f'"{KEY}"'.encode() in start else start
    except FileNotFoundError:
        raise NoModelFile(f"there is no file {path}; check the path") from None
    except IsADirectoryError:
        raise ForeignFile(f"{path} is a folder; give a file written by directgp's save") from None
    except MemoryError:
        raise DamagedModelFile(
            f"{path} is larger than the memory of this machine; copy it again"
        ) from None


def _header(data: bytes) -> dict[str, Any]:
    """The header of a safetensors file, with array offsets and metadata."""
    size = int.from_bytes(data[:8], "little")
    if size > min(len(data) - 8, LARGEST):
        raise DirectGPError("the header is too large")
    return read_json(data[8 : 8 + size])
