"""Labels of classes and names of actions in costs, and their numbers."""

from collections.abc import Hashable, Sequence
from typing import Any

from directgp.decisions.checks import shown
from directgp.errors import DirectGPError


def names_of(names: Any, what: str, count: int, of: str) -> tuple[Any, ...] | None:
    """Check names of the rows or columns of a matrix: distinct, and of the right number.

    Args:
        names: the names, or None.
        what: the option, for error messages.
        count: the required number.
        of: "rows" or "columns", for error messages.
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
    """Raise an error unless a value can be a class label.

    Args:
        name: the option, for the error.
        given: the value.
    """
    if isinstance(given, tuple) or not isinstance(given, Hashable):
        raise DirectGPError(f"{name} must be the label of one class, got {shown(given)}")


def class_number(name: Any, labels: Sequence[Any], where: str) -> int:
    """The number of a class by its label, compared as text, as cost files have text.

    Args:
        name: the label.
        labels: all labels, in the order of their numbers.
        where: what names the class, for the error.
    """
    known = [_text(label) for label in labels]
    if _text(name) not in known:
        raise DirectGPError(
            f"{where} names the class {shown(name)}, which the model does not have; its classes "
            f"are {listed(labels)}"
        )
    return known.index(_text(name))


def _text(label: Any) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def listed(labels: Sequence[Any]) -> str:
    """The first ten labels, for a message."""
    more = f" and {len(labels) - 10} more" if len(labels) > 10 else ""
    return ", ".join(map(shown, labels[:10])) + more
