"""`TableError`, and helpers for error messages about tables."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from directgp.errors import DirectGPError, nearest


class TableError(DirectGPError):
    """A table that cannot be used: one line with what is wrong, where, and what to do."""


def quoted(names: Iterable[str], most: int = 6) -> str:
    """Names for a message.

    Args:
        names: the names.
        most: the maximum number that is listed.

    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """A hint with the choices closest to an unknown name, or all of them if none is close.

    Args:
        name: the unknown name.
        choices: the known names.

    >>> did_you_mean("prize", ["price", "rooms"])
    "did you mean 'price'?"
    """
    choices = list(choices)
    return nearest(name, choices) or f"there are {quoted(choices, most=12)}"


def one_line(text: Any, most: int = 200) -> str:
    """A text without line breaks, cut to `most` characters."""
    return " ".join(str(text).split())[:most]


@contextmanager
def as_table_errors(source: Any) -> Iterator[None]:
    """Raise errors of the file system and of Arrow as a `TableError` that names the source."""
    try:
        yield
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"there is no file {source}; check the path") from None
    except PermissionError:
        raise TableError(f"{source} may not be opened; check its permissions") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        message = one_line(error) or type(error).__name__
        raise TableError(f"{source} cannot be used as a table ({message})") from None
