"""Tables: reading, encoding as numbers, validation, standardising, splitting, writing.

`table` and `csv_text` read files and frames; `encode` (with `fit_columns`, `columns`, `categories`,
`target_means`, `dates`) encodes inputs, `target` the target; `frames` is the interface for
estimators; `write` writes files, `scaling` standardises, `splitting` holds out rows, `checks`
validates arrays, and `stream`, `stream_scan`, `shards` and `parquet_source` are for Parquet larger
than memory.
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
    "write_table",
]
