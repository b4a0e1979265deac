"""Machine code of passes, stored between runs in the folder of JAX's compiled programs.

The name of a file depends on the processor, the version of llvmlite and the source of this folder.
A file has a checksum and is read only if other users cannot write to it.
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
    """The stored machine code for a description of pass and processor, or None."""
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
    """Store machine code; failures are ignored, because it can be compiled again.

    Args:
        described: the pass and the processor.
        kept: the code.
    """
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
    """A digest of the source files of this folder."""
    found = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        found.update(path.read_bytes())
    return found.hexdigest()


def _is_ours(path: Path) -> bool:
    """Whether only this user can have written it; False if owners are unknown."""
    return hasattr(os, "getuid") and is_private(path)
