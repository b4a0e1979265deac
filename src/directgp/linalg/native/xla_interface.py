"""Byte offsets of XLA's structs, read from the C header of the installed jaxlib.

Machine code finds its arguments by byte offsets into structs of XLA's foreign function interface
(FFI). No offset is written down here: they are computed from `xla/ffi/api/c_api.h`, which jaxlib
ships with the library that it describes. Another version of the header gives other offsets; a
header that is missing, has another major version or cannot be read is an `InterfaceError`, and
machine code is then not used.
"""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import jax

_MAJOR = 0
_SIZES = {"int": 4, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8, "size_t": 8}
_PREFIX = "XLA_FFI_"
_VERSION = ("MAJOR", "MINOR")


class InterfaceError(Exception):
    """The installed jaxlib has no header, or one that cannot be understood."""


class Struct(NamedTuple):
    """A C struct on a 64-bit processor: where each field is, and how large it is, in bytes."""

    offsets: dict[str, int]
    size: int
    alignment: int


class Interface(NamedTuple):
    """What machine code has to know of XLA's interface."""

    version: tuple[int, int]
    metadata: int
    """The number of the extension by which XLA asks a handler for its version."""
    structs: dict[str, Struct]

    def offset(self, struct: str, field: str) -> int:
        """The byte offset of a field; names are without the prefix XLA_FFI_."""
        try:
            return self.structs[struct].offsets[field]
        except KeyError:
            raise InterfaceError(f"XLA's header has no field {struct}.{field}") from None


@cache
def interface() -> Interface:
    """The interface of the jaxlib that is installed."""
    path = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise InterfaceError(f"jaxlib's header cannot be read: {problem}") from problem
    return read_header(text)


def read_header(text: str) -> Interface:
    """Versions and structs that a header declares."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    major, minor = (_number(text, rf"#define XLA_FFI_API_{part} (\d+)") for part in _VERSION)
    if major != _MAJOR:
        raise InterfaceError(f"XLA's interface has version {major}.{minor}, not {_MAJOR}.x")
    enums = re.findall(r"typedef enum \{[^}]*\} (\w+);", text)
    sizes = _SIZES | dict.fromkeys(enums, 4)
    sizes |= {new: sizes[old] for old, new in re.findall(r"typedef (\w+_t) (\w+);", text)}
    structs: dict[str, Struct] = {}
    alignments = dict(sizes)
    for name, body in re.findall(r"struct (\w+) \{([^}]*)\}", text):
        struct = _laid_out(body, sizes, alignments)
        if struct is not None:
            sizes[name], alignments[name] = struct.size, struct.alignment
            structs[name.removeprefix(_PREFIX)] = struct
    metadata = _number(text, r"XLA_FFI_Extension_Metadata = (\d+)")
    return Interface((major, minor), metadata, structs)


def _number(text: str, pattern: str) -> int:
    found = re.search(pattern, text)
    if found is None:
        raise InterfaceError(f"XLA's header has nothing like {pattern!r}")
    return int(found[1])


def _laid_out(body: str, sizes: dict[str, int], alignments: dict[str, int]) -> Struct | None:
    """Fields one after another, each at a multiple of its alignment, as C has it.

    None where a field is of an unknown type: only a struct that is needed must be understood.
    """
    offsets: dict[str, int] = {}
    end, widest = 0, 1
    for declaration in filter(None, map(str.strip, body.split(";"))):
        function = re.fullmatch(r"_\w+\(XLA_FFI_(\w+)\)|.*\(\*(\w+)\)\(.*\)", declaration)
        plain = re.fullmatch(r"(?:const )?(?:struct )?(\w+)\s*(\**)\s*(\w+)", declaration)
        if function:
            field, size, alignment = function[1] or function[2], 8, 8
        elif plain and (plain[2] or plain[1] in sizes):
            field, kind = plain[3], plain[1]
            size, alignment = (8, 8) if plain[2] else (sizes[kind], alignments[kind])
        else:
            return None
        end = -(-end // alignment) * alignment
        offsets[field], end, widest = end, end + size, max(widest, alignment)
    return Struct(offsets, -(-end // widest) * widest, widest)
