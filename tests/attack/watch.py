"""What Python itself reports while an attack runs: imports, code, processes, files, connections.

Python calls an audit hook for each of these whoever causes them, so nothing can hide from it. A
hook cannot be removed; this one records only inside `watching`.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

EVENTS = frozenset(
    {
        "import",
        "open",
        "os.remove",
        "os.rename",
        "os.mkdir",
        "compile",
        "exec",
        "os.system",
        "os.exec",
        "os.fork",
        "os.posix_spawn",
        "os.spawn",
        "subprocess.Popen",
        "socket.connect",
        "socket.getaddrinfo",
        "ctypes.dlopen",
        "pickle.find_class",
        "marshal.loads",
        "code.__new__",
    }
)
_PARSED_ONLY = "<unknown>"
"""The file name that `ast.parse` gives: reading an expression as a tree runs nothing."""

_records: list[list[str]] = []
_installed = False


@contextmanager
def watching() -> Iterator[list[str]]:
    """The events of the block, each as one text; modules that were imported before are none."""
    global _installed
    if not _installed:
        sys.addaudithook(_hook)
        _installed = True
    found: list[str] = []
    _records.append(found)
    try:
        yield found
    finally:
        _records.remove(found)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _records or event not in EVENTS:
        return
    if event == "compile" and len(arguments) > 1 and arguments[1] == _PARSED_ONLY:
        return
    told = f"{event} {str(arguments[:2])[:200]}"
    for found in _records:
        found.append(told)
