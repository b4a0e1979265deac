"""Mapping between a user's names of classes and actions and their numbers."""

from collections.abc import Hashable, Sequence
from typing import Any

from directgp.decisions.checks import shown
from directgp.errors import DirectGPError


def names_of(names: Any, what: str, count: int, of: str) -> tuple[Any, ...] | None:
    """Names of the rows or columns of a matrix: as many as there are, no two the same.

    Args:
        names: given by the user, or None.
        what: the option, for error messages.
        count: how many there have to be.
        of: what they are names of, for error messages.
    """
    if names is None:
        return None
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise DirectGPError(f"{what} must be a list of names, got {shown(names)}")
    if len(names) != count:
        raise DirectGPError(f"{len(names)} {what} are named, but the matrix has {count} {of}")
    if len({_text(name) for name in names}) < count:
        raise DirectGPError(f"{what} must have different names, got {listed(names)}")
    return tuple(map(str, names)) if what == "actions" else tuple(names)


def check_label(name: str, given: Any) -> None:
    """Refuse what is not the label of one class, such as a list of them."""
    if isinstance(given, tuple) or not isinstance(given, Hashable):
        raise DirectGPError(f"{name} must be the label of one class, got {shown(given)}")


def place(name: Any, labels: Sequence[Any], where: str) -> int:
    """The number of a class by its label; texts stand for numbers too, as files have only those."""
    known = [_text(label) for label in labels]
    if _text(name) not in known:
        raise DirectGPError(
            f"{where} names the class {shown(name)}, which the model does not know; its classes "
            f"are {listed(labels)}"
        )
    return known.index(_text(name))


def _text(label: Any) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def listed(labels: Sequence[Any]) -> str:
    """Labels in a message: the first ten."""
    more = f" and {len(labels) - 10} more" if len(labels) > 10 else ""
    return ", ".join(map(shown, labels[:10])) + more
