"""Rows that a model was not trained on, for its evaluation."""

from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64

from directgp.cli.console import Terminal
from directgp.cli.read_rows import Rows
from directgp.tables.row_hash import row_hashes


class Unseen(NamedTuple):
    """The rows to evaluate a model on; `seen`: whether it was trained on them, None if unknown."""

    rows: np.ndarray
    warning: str = ""
    seen: bool | None = False


def fingerprints(rows: Rows) -> UInt64[np.ndarray, "N"]:
    """A 64-bit number for each row, the same for the same inputs and target.

    A model file stores them to recognise training rows later; rows cannot be recovered from them.
    """
    return row_hashes(np.column_stack([rows.X, rows.y]), seed=20240229)


def unseen(rows: Rows, seen: np.ndarray) -> np.ndarray:
    """Mask of the rows that the model was not trained on.

    A training row that occurs k times accounts for k rows of the table; further rows with the same
    inputs and target are new. If less than half of the table and of the training rows match, the
    matches are taken for coincidences and all rows are new.

    Args:
        rows: the rows.
        seen: fingerprints of the training rows.
    """
    found = fingerprints(rows)
    values, counts = np.unique(seen, return_counts=True)
    known = np.isin(found, values)
    order = np.argsort(found, kind="stable")
    ordered = found[order]
    place = np.empty(len(found), dtype=np.intp)  # how many equal rows come before it
    place[order] = np.arange(len(found)) - np.searchsorted(ordered, ordered)
    allowed = np.zeros(len(found), dtype=np.intp)
    allowed[known] = counts[np.searchsorted(values, found[known])]
    trained = place < allowed
    coincidence = 2 * trained.sum() < min(len(found), len(seen))
    return np.ones(len(found), dtype=bool) if coincidence else ~trained


def rows_not_trained_on(seen: np.ndarray, rows: Rows, judged_by: str) -> Unseen:
    """The rows that a model was not trained on.

    If there are none, or the training rows are unknown, these are all rows, with a warning that the
    scores are too optimistic.

    Args:
        seen: fingerprints of the training rows; empty if they were not stored.
        rows: the candidates.
        judged_by: what is computed from the rows, for the warning: "scores" or "costs".
    """
    every = np.ones(len(rows), dtype=bool)
    if not len(seen):
        return Unseen(
            every,
            "this model has no record of its training rows; if these are among them, the "
            f"{judged_by} are too optimistic",
            seen=None,
        )
    fresh = unseen(rows, seen)
    if not fresh.any():
        warning = f"all these rows are training rows, so the {judged_by} are too optimistic"
        return Unseen(every, warning, seen=True)
    return Unseen(fresh)


def report_unseen(
    found: Unseen, total: int, judged_by: str, source: str, terminal: Terminal
) -> str:
    """Print a warning, or how many rows are left out.

    Args:
        found: the rows not trained on.
        total: the number of all rows.
        judged_by: what is computed from the rows: "scores" or "costs".
        source: the name of the table.
        terminal: the console.

    Returns:
        The name of the table, which says whether rows were left out.
    """
    fresh = int(found.rows.sum())
    if found.warning:
        terminal.warn(found.warning)
    elif fresh < total:
        terminal.info(
            f"{total - fresh:,} of {total:,} rows are training rows and are left out; the "
            f"{judged_by} are those of the other {fresh:,}."
        )
        source = f"{source}, without training rows"
    return source
