"""Machine code of passes, kept between runs in the folder of JAX's compiled programs.

A file is found again only by the same processor, the same llvmlite and the same source of this
folder, and only where nobody but its owner may write; it carries a checksum.
"""

import contextlib
import hashlib
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import llvmlite

from directgp.atomic_write import write_bytes
from directgp.linalg.compile_cache import is_private, kept_programs

_SIZE = hashlib.sha256().digest_size


class Kept(NamedTuple):
    """The name of the function to call, and the object file that it is in."""

    function: str
    code: bytes


def read(described: str) -> Kept | None:
    """The machine code of what is described, if it was kept."""
    with contextlib.suppress(OSError, ValueError):
        path = _path(described)
        if path is None or not _is_ours(path.parent) or not _is_ours(path):
            return None
        content = path.read_bytes()
        checksum, body = content[:_SIZE], content[_SIZE:]
        if hashlib.sha256(body).digest() != checksum:
            return None
        name, _, code = body.partition(b"\n")
        return Kept(name.decode(), code)
    return None


def write(described: str, kept: Kept) -> None:
    """Keep machine code; whatever prevents it only costs time."""
    with contextlib.suppress(OSError):
        path = _path(described)
        if path is not None and _is_ours(path.parent):
            body = kept.function.encode() + b"\n" + kept.code
            write_bytes(path, hashlib.sha256(body).digest() + body)


def _path(described: str) -> Path | None:
    folder = kept_programs()
    if folder is None:
        return None
    known = hashlib.sha256(f"{described} {llvmlite.__version__} {_source()}".encode())
    return folder / f"pass-{known.hexdigest()[:32]}.o"


@cache
def _source() -> str:
    """A digest of everything that decides what machine code is written."""
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _is_ours(path: Path) -> bool:
    """Whether only this user can have written it; where owners are unknown, nothing is kept."""
    return hasattr(os, "getuid") and is_private(path)
