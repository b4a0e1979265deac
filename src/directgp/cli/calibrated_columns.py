"""Output columns of a calibrated model: intervals, sets, recalibrated predictions."""

from typing import Any

import numpy as np
import pyarrow as pa

from directgp.calibration import check_coverage
from directgp.cli.console import Terminal
from directgp.cli.errors import UserError
from directgp.cli.models import TableModel
from directgp.predictive import ClassProbabilities, Predictive
from directgp.tables.messages import did_you_mean

USUAL = 0.9


def check_asked(loaded: TableModel, coverage: float | None) -> None:
    """Raise an error for an invalid coverage, or for one without a calibrated model."""
    if coverage is None:
        return
    check_coverage(coverage)
    if loaded.calibration is None:
        raise UserError(
            "--coverage is for a calibrated model and this one is not; run directgp calibrate "
            "first, or give --quantiles"
        )


def warn_of_few_rows(loaded: TableModel, coverage: float | None, terminal: Terminal) -> None:
    """Print a warning if the calibration rows are too few for this coverage."""
    found = loaded.calibration
    advice = None if found is None else found.advice(USUAL if coverage is None else coverage)
    if advice and len(loaded.targets) == 1:
        terminal.warn(advice)


def calibrated_columns(
    loaded: TableModel,
    predicted: Predictive | tuple[Predictive, ...],
    table: pa.Table,
    coverage: float | None,
) -> dict[str, Any]:
    """Columns `lower` and `upper`, or `set` with classes joined by "|".

    Args:
        loaded: the model; without a calibration there are no such columns.
        predicted: its predictions for the rows of `table`.
        table: the rows, which hold the column of groups if there is one.
        coverage: the requested coverage; None is 0.9.
    """
    found = loaded.calibration
    if found is None or not isinstance(predicted, Predictive):
        return {}
    coverage = USUAL if coverage is None else coverage
    groups = groups_of(table, found.column)
    if not isinstance(predicted, ClassProbabilities):
        lower, upper = found.bounds(predicted, coverage, groups)
        return {"lower": lower, "upper": upper}
    names = np.array(loaded.classes or range(predicted.num_classes), dtype=object).astype(str)
    inside = found.classes(predicted, coverage, groups)
    return {"set": ["|".join(names[row]) for row in inside]}


def calibrated(loaded: TableModel, predicted: Predictive, table: pa.Table) -> Predictive:
    """Recalibrated predictions for decisions; those of a model without a calibration unchanged."""
    found = loaded.calibration
    if found is None:
        return predicted
    return found.distribution(predicted, groups_of(table, found.column))


def groups_of(table: pa.Table, column: str | None) -> Any:
    """The column with the group of each row, or None without groups."""
    if column is None:
        return None
    if column not in table.column_names:
        hint = did_you_mean(column, table.column_names)
        raise UserError(f"there is no column {column!r} to take the groups from; {hint}")
    return table[column]
