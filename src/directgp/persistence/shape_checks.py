"""Helpers of the consistency checks of stored models: shapes, signs, sizes."""

from typing import Any

import equinox as eqx
import numpy as np

from directgp.errors import DirectGPError
from directgp.persistence.stored_numbers import stored

MOST_INDUCING = 1 << 14
"""Maximum number of inducing inputs of a layer, for which K_uu has 2 GiB."""
MOST_PAIRS = 1 << 28
"""Maximum number of kernel values in memory during prediction of a block of rows, 2 GiB."""
ROWS = 32
"""Rows of the smallest block in which models predict."""


def check_positive(
    what: str, value: Any, count: int | None = None, one_for_all: bool = True
) -> None:
    """Raise an error unless a stored parameter is one positive number, or `count` of them.

    Args:
        what: its name in the error.
        value: the parameter, wrapped or not.
        count: the allowed number of values; None for one.
        one_for_all: whether one value may also stand for `count` equal ones.
    """
    values = stored(value).values
    allowed = [()] if count is None else [(count,)]
    if count is not None and one_for_all:
        allowed += [(), (1,)]
    if values.shape not in allowed:
        raise DirectGPError(f"{what} must have the shape {allowed[0]}, got {values.shape}")
    if not np.all(values > 0):
        raise DirectGPError(f"{what} must be positive")


def values_of(value: Any) -> np.ndarray:
    """The values of a parameter, after its transform."""
    return stored(value).values


def check_inducing(inducing: int) -> None:
    """Raise an error for too many inducing inputs, or none."""
    if not 1 <= inducing <= MOST_INDUCING:
        raise DirectGPError(f"a layer has 1 to {MOST_INDUCING:,} inducing inputs, got {inducing:,}")


def check_shape(what: str, shape: tuple[int, ...], *wanted: int | None) -> None:
    """Raise an error for another shape.

    Args:
        what: the name of the array in the error.
        shape: its shape.
        *wanted: the sizes; None allows any size above 0.
    """
    fits = len(shape) == len(wanted) and all(
        size > 0 and (want is None or size == want)
        for size, want in zip(shape, wanted, strict=True)
    )
    if not fits:
        meant = ", ".join("any" if want is None else str(want) for want in wanted)
        raise DirectGPError(f"{what} must have the shape ({meant}), got {shape}")


def traced(function: Any, *arguments: Any) -> Any:
    """The shapes of a function's result, without computing it; failures are a `DirectGPError`."""
    try:
        return eqx.filter_eval_shape(function, *arguments)
    except Exception as error:
        raise DirectGPError(f"a part cannot be evaluated ({type(error).__name__})") from None
