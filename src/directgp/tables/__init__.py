"""From the user's table to scaled arrays: reading, encoding, checks, standardising, splitting.

`table` and `csv_text` read, `encode` (with `fit_columns`, `columns`, `categories`, `target_means`,
`dates`) and `target` make numbers of what was read, `frames` does so for estimators, `write`
writes, `scaling` standardises, `splitting` sets rows aside, `checks` looks at plain arrays.
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
from directgp.tables.frames import EncodedFrame, encode_frame, numbers_encoder
from directgp.tables.messages import TableError
from directgp.tables.notes import Note
from directgp.tables.scaling import Standardiser
from directgp.tables.splitting import (
    WeightedRows,
    check_known_targets,
    drop_zero_weight,
    merge_equal_rows,
    set_aside,
)
from directgp.tables.table import as_table, read_table
from directgp.tables.target import (
    TargetEncoder,
    find_target,
    guess_task,
    known_target,
    without_missing_target,
)
from directgp.tables.target_means import TargetValues
from directgp.tables.write import TableWriter, write_table

__all__ = [
    "EncodedFrame",
    "EncodedTable",
    "Note",
    "Standardiser",
    "TableEncoder",
    "TableError",
    "TableWriter",
    "TargetEncoder",
    "TargetValues",
    "WeightedRows",
    "as_numbers",
    "as_table",
    "check_known_targets",
    "check_inputs",
    "check_names",
    "check_rows",
    "check_weights",
    "column_names",
    "encode_frame",
    "find_target",
    "guess_task",
    "known_target",
    "merge_equal_rows",
    "numbers_encoder",
    "read_table",
    "set_aside",
    "drop_zero_weight",
    "unmasked",
    "without_missing_target",
    "write_table",
]
