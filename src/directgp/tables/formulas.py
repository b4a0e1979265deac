"""Protection against CSV injection: mark text that a spreadsheet would evaluate as a formula.

Spreadsheets evaluate cells that begin with =, +, - or @. Predictions repeat text of the input
(class labels, kept columns), so such cells get a leading apostrophe, which marks them as text.
"""

import pyarrow as pa
import pyarrow.compute as compute

from directgp.tables.arrow_values import is_text

_call = compute.call_function
_STARTS = r"^[\s\pZ\pC]*[=+\-@＝＋－＠]"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


def without_formulas(table: pa.Table) -> pa.Table:
    """The same table with an apostrophe before every cell and name that could be a formula.

    Args:
        table: any table; only text changes, except numbers such as "-5".

    >>> found = without_formulas(pa.table({"=a": ["=1+1", "-5", "b"], "x": [-1, 2, 3]}))
    >>> found.to_pydict()
    {"'=a": ["'=1+1", '-5', 'b'], 'x': [-1, 2, 3]}
    """
    columns = [_marked(_texts(column)) if _is_text(column.type) else column for column in table]
    if not table.num_columns:
        return table
    names = _marked(pa.chunked_array([pa.array(table.column_names, pa.string())]))
    return pa.table(columns, names=names.to_pylist())


def _is_text(kind: pa.DataType) -> bool:
    return is_text(kind.value_type if pa.types.is_dictionary(kind) else kind)


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column if column.type == pa.large_string() else column.cast(pa.large_string())


def _marked(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    starts, number = (
        _call("match_substring_regex", [texts], compute.MatchSubstringOptions(pattern))
        for pattern in (_STARTS, _NUMBER)
    )
    mark, nothing = pa.scalar("'", texts.type), pa.scalar("", texts.type)
    marked = _call("binary_join_element_wise", [mark, texts, nothing])
    return _call("if_else", [_call("and_not", [starts, number]), marked, texts])
