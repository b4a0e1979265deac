"""A cost for the rows of a table and the classes of a model."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.cli.errors import UserError
from directgp.data import TargetEncoder
from directgp.data.cells import Where, numbers
from directgp.decisions import Cost, FunctionCost, TableCost, cost_from


class PricedColumns(Mapping[str, np.ndarray]):
    """The columns of a table as the numbers a cost asks for; remembers which were asked."""

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
    settings: Mapping[str, Any], target: TargetEncoder, columns: Mapping[str, Any] | None
) -> Cost:
    """The cost, if it suits the target; for its classes if it has any."""
    cost = cost_from(settings, columns)
    classes = target.task == "classes"
    if classes != isinstance(cost, TableCost) and not isinstance(cost, FunctionCost):
        kinds = "binary, matrix or reject" if classes else "newsvendor, square or interval"
        raise UserError(
            f"a {settings['kind']} cost is not for the task {target.task}; use a {kinds} cost"
        )
    return cost.for_labels(target.labels) if classes else cost
