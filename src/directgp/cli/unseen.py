"""Rows that a model was not trained on, by which it is judged."""

from typing import NamedTuple

import numpy as np

from directgp.cli.console import Voice
from directgp.cli.read_rows import Rows, unseen


class Unseen(NamedTuple):
    """The rows to score a model on; `seen`: whether it was trained on them, None if unknown."""

    rows: np.ndarray
    warning: str = ""
    seen: bool | None = False


def rows_not_trained_on(seen: np.ndarray, rows: Rows, judged_by: str) -> Unseen:
    """The rows that a model was not trained on.

    If there are none, or the model does not remember its training rows, these are all rows, and a
    warning says that their scores are too good.

    Args:
        seen: fingerprints of the training rows; none if the model does not remember them.
        rows: the candidates.
        judged_by: what is computed from the rows, for the warning: "scores" or "costs".
    """
    every = np.ones(len(rows), dtype=bool)
    if not len(seen):
        return Unseen(
            every,
            "this model does not know which rows it was trained on; if these are among them, "
            f"the {judged_by} are too good",
            seen=None,
        )
    fresh = unseen(rows, seen)
    if not fresh.any():
        warning = f"all these rows were trained on, so the {judged_by} are too good"
        return Unseen(every, warning, seen=True)
    return Unseen(fresh)


def report_unseen(found: Unseen, total: int, judged_by: str, source: str, voice: Voice) -> str:
    """Print a warning, or how many rows are left out.

    Args:
        found: the rows not trained on.
        total: the number of all rows.
        judged_by: what is computed from the rows: "scores" or "costs".
        source: the name of the table.
        voice: the console.

    Returns:
        The name of the table, which says whether rows were left out.
    """
    fresh = int(found.rows.sum())
    if found.warning:
        voice.warn(found.warning)
    elif fresh < total:
        voice.say(
            f"{total - fresh:,} of {total:,} rows were trained on and are left out; the "
            f"{judged_by} are those of the other {fresh:,}."
        )
        source = f"{source}, rows it was not trained on"
    return source
