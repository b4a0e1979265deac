"""How tables complain: one kind of error, one line each, with names that help."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import pyarrow as pa

from directgp.errors import DirectGPError


class TableError(DirectGPError):
    """A table that cannot be used: one line with what is wrong, where, and what to do."""


def quoted(names: Iterable[str], most: int = 6) -> str:
    """Names for a message, cut short when there are many.

    >>> quoted(["a", "b"])
    "'a', 'b'"
    """
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(repr(name) for name in names[:most]) + more


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """The choices closest to a name that is not among them, or all of them if none is close.

    >>> did_you_mean("prize", ["price", "rooms"])
    "did you mean 'price'?"
    """
    choices = list(choices)
    lower = {choice.lower(): choice for choice in reversed(choices)}
    close = get_close_matches(name.lower(), lower, n=3)
    if close:
        return f"did you mean {' or '.join(repr(lower[match]) for match in close)}?"
    return f"there are {quoted(choices, most=12)}"


def one_line(said: Any, most: int = 200) -> str:
    """A foreign message without its line breaks, cut short."""
    return " ".join(str(said).split())[:most]


@contextmanager
def as_table_errors(source: Any) -> Iterator[None]:
    """Turns what the file system and Arrow raise into a `TableError`."""
    try:
        yield
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"there is no file {source}; check the path") from None
    except PermissionError:
        raise TableError(f"{source} may not be opened; check its permissions") from None
    except (pa.ArrowException, OSError, ValueError, TypeError, MemoryError, OverflowError) as error:
        said = one_line(error) or type(error).__name__
        raise TableError(f"{source} cannot be used as a table ({said})") from None
