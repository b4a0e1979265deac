"""Model files taken apart and put together again, with checksums that are right.

`Pieces` has the JSON that a file says, its arrays and its other texts. `packed` makes a file of
them: with the checksum over all bytes alone, or also with the digest of the content, as someone
does who knows the format.
"""

import hashlib
import json
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from safetensors.numpy import load, save

from directgp.persistence.container import SCHEMA, digest
from directgp.persistence.parts import Encoder

KEY, CONTENT = "directgp-model", "content"
_HALVES = re.compile("[\ud800-\udfff]")
_NONE = b'"sha256":"' + b"0" * 64 + b'"'


@dataclass(frozen=True)
class Pieces:
    """What a model file is made of."""

    said: dict[str, Any]
    arrays: dict[str, np.ndarray]
    content: str

    @classmethod
    def of(cls, data: bytes) -> "Pieces":
        """The pieces of a sound file."""
        size = struct.unpack("<Q", data[:8])[0]
        texts = json.loads(data[8 : 8 + size])["__metadata__"]
        return cls(json.loads(texts[KEY]), load(data), texts[CONTENT])

    def saying(self, said: dict[str, Any]) -> "Pieces":
        """The same arrays under other words."""
        return replace(self, said=said)

    def packed(self, knows_format: bool, text: str | None = None) -> bytes:
        """A file with a right checksum; `text` stands for the JSON as it is."""
        text = json.dumps(self.said, ensure_ascii=False) if text is None else text
        # Half a character stays an escape, which is what a file can have.
        text = _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
        content = digest(text, self.arrays) if knows_format else self.content
        metadata = {KEY: text, CONTENT: content, "sha256": "0" * 64}
        return signed(save(self.arrays, metadata=metadata))


def signed(blank: bytes) -> bytes:
    """The file with its checksum in the place of zeros, wherever else it was changed."""
    head, found, tail = blank.partition(_NONE)
    if not found:
        return blank
    return head + b'"sha256":"' + hashlib.sha256(blank).hexdigest().encode() + b'"' + tail


def unsigned(data: bytes) -> bytes:
    """A sound file with zeros for its checksum, to be changed and `signed`."""
    start = data.index(b'"sha256":"') + 10
    return data[:start] + b"0" * 64 + data[start + 64 :]


def with_header(data: bytes, header: bytes) -> bytes:
    """The arrays of a file behind another header."""
    size = struct.unpack("<Q", data[:8])[0]
    return struct.pack("<Q", len(header)) + header + data[8 + size :]


def header_of(data: bytes) -> bytes:
    """The header of a file."""
    return data[8 : 8 + struct.unpack("<Q", data[:8])[0]]


def forged(
    fitted: Any,
    extras: dict[str, Any] | None = None,
    features: Sequence[str] | None = None,
) -> bytes:
    """A file of any object, right in all its checksums; nothing is checked as `save` would."""
    encode = Encoder()
    columns = features or [f"x{k}" for k in range(len(fitted.inputs.shift))]
    said = {
        "schema": SCHEMA,
        "features": [[name, "number"] for name in columns],
        "summary": {},
        "fitted": encode(fitted, "fitted"),
        "extras": encode(extras or {}, "extras"),
    }
    return Pieces(said, encode.arrays, "").packed(True)
