"""Validation of the arguments of costs."""

from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError

_LONGEST = 100


def shown(value: Any) -> str:
    """The repr of a value for a message, on one line and shortened.

    >>> shown("y" * 1000)[-9:]
    'yyyy [..]'
    """
    text = " ".join(repr(value).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 5]} [..]"


def check_prices(name: str, given: Any, *, above_zero: bool = False) -> Float[np.ndarray, "*B"]:
    """A price, or one for each row, as float64: finite and not negative.

    Args:
        name: its name in errors.
        given: the price.
        above_zero: whether 0 is an error too.

    >>> check_prices("over", -1)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: over must be ≥ 0, got -1; costs are losses, never negative
    """
    array = check_numbers(name, given)
    if array.ndim > 1:
        raise DirectGPError(f"{name} must be a number or one for each row, got shape {array.shape}")
    if above_zero and np.any(array == 0):
        raise DirectGPError(f"{name} must be > 0, got 0; an action without cost is always best")
    return array


def check_numbers(name: str, given: Any) -> Float[np.ndarray, "*B"]:
    """Numbers of any shape as float64: finite and not negative.

    Args:
        name: their name in errors.
        given: the numbers.
    """
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        rows = given if isinstance(given, list | tuple) else ()
        lengths = {len(row) for row in rows if isinstance(row, list | tuple)}
        wanted = "have rows of one length" if len(lengths) > 1 else "be numbers"
        raise DirectGPError(f"{name} must {wanted}, got {shown(given)}") from None
    if array.size == 0:
        raise DirectGPError(f"{name} must not be empty")
    if np.isnan(array).any() or np.isinf(array).any():
        raise DirectGPError(f"{name} must be finite, got NaN or infinity; give every cost a number")
    if np.any(array < 0):
        worst = array[array < 0].flat[0]
        raise DirectGPError(f"{name} must be ≥ 0, got {worst:g}; costs are losses, never negative")
    return array


ONE_COST = (
    "training needs one cost for all rows, got one per row; train without it and use it to decide, "
    "or in Python give more important rows a larger sample_weight"
)


def check_same_rows(**prices: np.ndarray) -> None:
    """Raise an error for prices per row of different numbers of rows.

    >>> check_same_rows(under=np.ones(3), over=np.ones(2))
    Traceback (most recent call last):
    directgp.errors.DirectGPError: prices per row must be for the same rows, got 3 of under ...
    """
    counts = {name: len(price) for name, price in prices.items() if price.ndim}
    if len(set(counts.values())) > 1:
        listed = " and ".join(f"{count} of {name}" for name, count in counts.items())
        raise DirectGPError(f"prices per row must be for the same rows, got {listed}")


def check_some_price(cost: str, *prices: np.ndarray) -> None:
    """Raise an error for a cost in which every price is 0."""
    if not any(np.any(price > 0) for price in prices):
        raise DirectGPError(f"every entry of the {cost} is 0, so no action is better than another")


def check_one_price(price: np.ndarray) -> float:
    """The price of all rows as a float; training does not support prices per row."""
    if price.ndim:
        raise DirectGPError(ONE_COST)
    return float(price)
