"""Costs whose prices come from columns of a table."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.cli.errors import UserError
from directgp.decisions import Cost, FunctionCost, TableCost
from directgp.decisions.cost_file import CostSettings
from directgp.tables import TargetEncoder
from directgp.tables.arrow_values import Where, numbers


class PricedColumns(Mapping[str, np.ndarray]):
    """The columns of a table as numbers; records in `asked` which of them a cost has used."""

    def __init__(self, rows: pa.Table):
        self._rows = rows
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        self.asked.add(name)
        return numbers(self._rows[name], Where(name))

    def __contains__(self, name: object) -> bool:
        return name in self._rows.column_names

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows.column_names)

    def __len__(self) -> int:
        return self._rows.num_columns


def labelled_cost(
    written: Mapping[str, Any] | CostSettings,
    target: TargetEncoder,
    columns: Mapping[str, Any] | None,
) -> Cost:
    """The cost that settings describe, for the classes of the target if it has any.

    Args:
        written: the settings. A function named in a plain mapping is not imported, as the mapping
            may come from a model file.
        target: the target; a cost of another kind of target is an error.
        columns: what prices may refer to.
    """
    if not isinstance(written, CostSettings):
        written = CostSettings(written)
    cost = written.cost(columns)
    classes = target.task == "classes"
    if classes != isinstance(cost, TableCost) and not isinstance(cost, FunctionCost):
        kinds = "binary, matrix or reject" if classes else "newsvendor, square or interval"
        kind = written.settings["kind"]
        raise UserError(f"a {kind} cost is not for the task {target.task}; use a {kinds} cost")
    return cost.for_labels(target.labels) if classes else cost
