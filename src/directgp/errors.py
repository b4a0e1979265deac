"""The errors that directgp raises for what a user can mend.

All of them are `DirectGPError`, so one `except` catches them, and the command line shows their text
as one line. Anything else that leaves the library is a defect, or comes from the machine
(`OSError`, `MemoryError`).
"""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, choices: Iterable[str]) -> str:
    """A suggestion for a mistyped name, "did you mean 'crps'?"; empty if none is similar.

    >>> nearest("cprs", ["crps", "square"]), nearest("cprs", ["square"])
    ("did you mean 'crps'?", '')
    """
    lower = {choice.lower(): choice for choice in reversed(list(choices))}
    close = get_close_matches(str(name).lower(), lower, n=3)
    return f"did you mean {' or '.join(repr(lower[match]) for match in close)}?" if close else ""


class DirectGPError(ValueError):
    """Bad input: the text says what is wrong, what was given and what to do.

    >>> issubclass(DirectGPError, ValueError)
    True
    """


class WrongType(DirectGPError, TypeError):
    """An argument of a type that cannot be used; also a `TypeError`."""


class MissingPackage(DirectGPError, ModuleNotFoundError):
    """A package is needed that is not installed; the text names the extra that brings it."""


class ForkedProcess(DirectGPError, RuntimeError):
    """JAX is asked to compute in a forked child; also a `RuntimeError`.

    The threads that JAX computes with stay behind in the parent: without this error the child
    would wait for them for ever.
    """
