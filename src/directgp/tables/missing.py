"""Missing values: policies, imputation and messages."""

import numpy as np
from jaxtyping import Bool, Float

from directgp.tables.messages import TableError

MISSING_POLICIES = ("indicator", "median", "mean", "error")
"""Policies for missing inputs that users can choose."""
POLICIES = (*MISSING_POLICIES, "keep")
"""All policies; "keep" keeps NaN, for trees."""


def means(values: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "D"]:
    """Column means of the known values, computed so that numbers near 1e308 do not overflow."""
    power = np.frexp(np.nanmax(np.abs(values), axis=0))[1]
    return np.ldexp(np.nanmean(np.ldexp(values, -power), axis=0), power)


def medians(values: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "D"]:
    """Column medians of the known values."""
    power = np.frexp(np.nanmax(np.abs(values), axis=0))[1]
    return np.ldexp(np.nanmedian(np.ldexp(values, -power), axis=0), power)


def different_gaps(gone: dict[str, Bool[np.ndarray, "N"]]) -> tuple[str, ...]:
    """Columns that get an indicator; of columns missing in the same rows, only the first.

    Args:
        gone: for each column the rows in which its value is missing.
    """
    first: dict[bytes, str] = {}
    for name, mask in gone.items():
        if mask.any():
            first.setdefault(np.packbits(mask).tobytes(), name)
    return tuple(first.values())


def check_missing(unknown: dict[str, int], missing: str, rows: str, advice: str) -> None:
    """Raise an error for missing values if the policy is "error".

    Args:
        unknown: the number of missing values of each column.
        missing: the policy, one of `POLICIES`.
        rows: how many rows there are, and which.
        advice: what to do, the end of the error message.
    """
    gaps = {name: count for name, count in unknown.items() if count}
    if gaps and missing == "error":
        counts = [f"{name!r} ({count})" for name, count in list(gaps.items())[:6]]
        more = f" and {len(gaps) - 6} more columns" if len(gaps) > 6 else ""
        raise TableError(f"values are missing in {', '.join(counts)}{more}, of {rows}; {advice}")


def missing_in(count: int, missing: str, filler: str = "", marked: bool = True) -> str:
    """A phrase about the missing values of a column; empty if there are none.

    Args:
        count: the number of missing values.
        missing: the policy, one of `POLICIES`.
        filler: the name of the value that replaces them, if neither the mean nor the median.
        marked: whether to mention the indicator column.

    Returns:
        The phrase, beginning with a comma.
    """
    if not count or missing == "error":
        return ""
    if missing == "keep":
        return f", {count} missing values kept"
    how = " and marked by an indicator column" if marked and missing == "indicator" else ""
    middle = filler or ("mean" if missing == "mean" else "median")
    return f", {count} missing values filled with the {middle}{how}"
