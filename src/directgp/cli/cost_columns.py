"""A cost for the rows of a table and the classes of a model."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from directgp.cli.errors import UserError
from directgp.decisions import Cost, FunctionCost, TableCost
from directgp.decisions.toml import WrittenCost
from directgp.tables import TargetEncoder
from directgp.tables.arrow_values import Where, numbers


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
    written: Mapping[str, Any] | WrittenCost,
    target: TargetEncoder,
    columns: Mapping[str, Any] | None,
) -> Cost:
    """The cost, if it suits the target; for its classes if it has any.

    A function that plain settings name is not imported: they may be those of a model file.
    """
    if not isinstance(written, WrittenCost):
        written = WrittenCost(written)
    cost = written.cost(columns)
    classes = target.task == "classes"
    if classes != isinstance(cost, TableCost) and not isinstance(cost, FunctionCost):
        kinds = "binary, matrix or reject" if classes else "newsvendor, square or interval"
        kind = written.settings["kind"]
        raise UserError(f"a {kind} cost is not for the task {target.task}; use a {kinds} cost")
    return cost.for_labels(target.labels) if classes else cost
