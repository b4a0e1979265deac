"""The errors that directgp raises for invalid input.

All of them are `DirectGPError`, so one `except` catches them, and the command line shows their text
as one line. Any other exception is a defect of the library or comes from the system (`OSError`,
`MemoryError`).
"""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, choices: Iterable[str]) -> str:
    """A suggestion for a mistyped name, "did you mean 'crps'?"; empty if none is similar.

    Args:
        name: as the user wrote it.
        choices: the valid names.

    >>> nearest("cprs", ["crps", "square"]), nearest("cprs", ["square"])
    ("did you mean 'crps'?", '')
    """
    lower = {choice.lower(): choice for choice in reversed(list(choices))}
    close = get_close_matches(str(name).lower(), lower, n=3)
    return f"did you mean {' or '.join(repr(lower[match]) for match in close)}?" if close else ""


class DirectGPError(ValueError):
    """Invalid input; the message says what is wrong, what was given and what to do.

    >>> issubclass(DirectGPError, ValueError)
    True
    """


class WrongType(DirectGPError, TypeError):
    """An argument of a type that cannot be used; also a `TypeError`."""


class MissingPackage(DirectGPError, ModuleNotFoundError):
    """A required package is not installed; the message names the extra that installs it."""


class ForkedProcess(DirectGPError, RuntimeError):
    """JAX cannot compute in a forked child; also a `RuntimeError`.

    JAX's threads do not exist in the child, which would otherwise wait for them forever.
    """
