"""From the user's table to scaled arrays: reading, encoding, checks, standardising, splitting.

`table` and `csv_text` read, `encode` (with `columns`, `cells`, `moments`) and `target` make
numbers of what was read, `write` writes, `scaling` standardises, `splitting` sets rows aside,
`checks` looks at plain arrays.
"""

from directgp.tables.checks import (
    as_numbers,
    check_inputs,
    check_names,
    check_rows,
    check_weights,
    column_names,
    unmasked,
)
from directgp.tables.encode import EncodedTable, TableEncoder
from directgp.tables.messages import TableError
from directgp.tables.notes import Note
from directgp.tables.scaling import Standardiser
from directgp.tables.splitting import WeightedRows, check_known_targets, drop_zero_weight, set_aside
from directgp.tables.table import as_table, read_table
from directgp.tables.target import (
    TargetEncoder,
    find_target,
    guess_task,
    known_target,
    without_missing_target,
)
from directgp.tables.write import TableWriter, write_table

__all__ = [
    "EncodedTable",
    "Note",
    "Standardiser",
    "TableEncoder",
    "TableError",
    "TableWriter",
    "TargetEncoder",
    "WeightedRows",
    "as_numbers",
    "as_table",
    "check_known_targets",
    "check_inputs",
    "check_names",
    "check_rows",
    "check_weights",
    "column_names",
    "find_target",
    "guess_task",
    "known_target",
    "read_table",
    "set_aside",
    "drop_zero_weight",
    "unmasked",
    "without_missing_target",
    "write_table",
]
