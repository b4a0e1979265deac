"""Validation of targets for each likelihood."""

from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError


def as_numbers(y: Any, expected: str) -> Float[np.ndarray, "N"]:
    """Convert y to finite float64 [N].

    Args:
        y: the targets.
        expected: what y should contain, for the error message.
    """
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        first = np.asarray(y, dtype=object).ravel()
        given = f"{first[0]!r}" if first.size else type(y).__name__
        raise DirectGPError(
            f"y must be {expected}, got {given}; encode y as numbers first"
        ) from None
    if values.ndim != 1:
        raise DirectGPError(
            f"y must have one value per row, got shape {values.shape}; pass one column as y.ravel()"
        )
    refuse(values, ~np.isfinite(values), expected, "remove or fill these rows")
    return values


def refuse(y: np.ndarray, wrong: np.ndarray, expected: str, advice: str) -> None:
    """Raise an error that shows the first invalid value and its row, if there is any.

    Args:
        y: the targets.
        wrong: which of them are invalid.
        expected: what y must be.
        advice: the end of the message.
    """
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DirectGPError(
            f"y must be {expected}, got {y[row]:g} (row {row}, {int(wrong.sum())} in all); {advice}"
        )


def check_counts(y: Any) -> Float[np.ndarray, "N"]:
    """Validate counts, whole numbers ≥ 0.

    >>> check_counts([3, -1, 0])
    Traceback (most recent call last):
    directgp.errors.DirectGPError: y must be counts (whole numbers ≥ 0), got -1 (row 1, 1 ...
    """
    expected = "counts (whole numbers ≥ 0)"
    values = as_numbers(y, expected)
    refuse(values, values < 0, expected, "use a Gaussian or Student-t likelihood for signed y")
    refuse(
        values, values != np.floor(values), expected, "use a Gaussian likelihood for measurements"
    )
    return values


def check_labels(y: Any, num_classes: int) -> Float[np.ndarray, "N"]:
    """Validate class numbers 0 … num_classes − 1, of which at least two must occur.

    Args:
        y: the targets.
        num_classes: K.

    >>> check_labels([0, 0, 0], 2)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: y has a single class (0); classification needs at least two, ...
    """
    names = "0 or 1" if num_classes == 2 else f"class numbers 0 to {num_classes - 1}"
    values = as_numbers(y, names)
    refuse(
        values,
        ~np.isin(values, np.arange(num_classes)),
        names,
        "recode the labels, or use Categorical(num_classes) with as many classes as there are",
    )
    if values.size and np.all(values == values[0]):
        raise DirectGPError(
            f"y has a single class ({values[0]:g}); classification needs at least two, "
            "give rows of another class"
        )
    return values


def smoothed_mean(y: Float[np.ndarray, "N"]) -> float:
    """The mean count with half an event added, which is above 0 also for zeros only."""
    return (float(np.sum(y)) + 0.5) / (y.size + 0.5)
