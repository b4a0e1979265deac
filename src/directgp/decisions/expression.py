"""Cost expressions as text, such as `maximum(4 * (y - action), action - y)`.

Only arithmetic, comparisons and the functions in `FUNCTIONS` are supported. Text from a file is
never run as Python.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from directgp.decisions.checks import shown
from directgp.errors import DirectGPError

FUNCTIONS: dict[str, tuple[Callable[..., Any], int]] = {
    "abs": (np.abs, 1),
    "clip": (np.clip, 3),
    "exp": (np.exp, 1),
    "log": (np.log, 1),
    "maximum": (np.maximum, 2),
    "minimum": (np.minimum, 2),
    "sqrt": (np.sqrt, 1),
    "where": (np.where, 3),
}
"""Supported functions with their numbers of arguments (a further one would be NumPy's `out`)."""

_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.BitAnd: np.logical_and,
    ast.BitOr: np.logical_or,
    ast.Invert: np.logical_not,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}

_MOST_CHARACTERS = 1000
_LARGEST = 1e100
_DEEPEST = 100  # levels of nesting, because evaluation is recursive


class Expression:
    """cost(y, action) from text; other names are columns, with one value per row.

    Args:
        text: the expression.
        columns: the columns by name.

    >>> cost = Expression("where(y > action, 4 * (y - action), action - y)")
    >>> cost(np.array([1.0, 5.0]), np.array([2.0, 2.0])).tolist()
    [1.0, 12.0]
    >>> Expression("open('x')")
    Traceback (most recent call last):
    directgp.errors.DirectGPError: the cost expression "open('x')" uses the function ...
    """

    def __init__(self, text: Any, columns: Mapping[str, Any] | None = None):
        if not isinstance(text, str) or not 0 < len(text) <= _MOST_CHARACTERS:
            raise DirectGPError(
                f"expression must be a text such as 'abs(y - action)', got {shown(text)}"
            )
        self.text = text
        try:
            with warnings.catch_warnings():  # warnings of Python's parser
                warnings.simplefilter("ignore")
                self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise DirectGPError(
                f"the cost expression {shown(text)} cannot be read; write e.g. abs(y - action)"
            ) from None
        if _depth(self._tree) > _DEEPEST:
            raise DirectGPError(
                f"the cost expression {shown(text)} has more than {_DEEPEST} levels of nesting; "
                "write it shorter"
            )
        used = _names(self._tree, text) - {"y", "action"}
        missing = sorted(name for name in used if columns is None or name not in columns)
        if missing:
            raise DirectGPError(
                f"the cost expression {shown(text)} uses {shown(missing[0])}, which is neither y, "
                "action nor a column of the data"
            )
        columns = columns or {}
        self._columns = {
            name: np.asarray(columns[name], dtype=np.float64)[:, None] for name in used
        }

    def __call__(self, y: np.ndarray, action: np.ndarray) -> np.ndarray:
        shape = np.broadcast_shapes(y.shape, action.shape)
        for name, column in self._columns.items():
            if len(column) != shape[0]:  # one row would be broadcast to all
                raise DirectGPError(
                    f"the column {name!r} has {len(column)} rows, but there are {shape[0]} to "
                    "decide"
                )
        with np.errstate(all="ignore"):  # costs that are not finite are an error later
            found = _value(self._tree, {"y": y, "action": action, **self._columns})
        return np.broadcast_to(np.asarray(found, dtype=np.float64), shape)


def _depth(tree: ast.AST) -> int:
    """The depth of nesting, without recursion."""
    level, depth = [tree], 0
    while level:
        level, depth = [part for whole in level for part in ast.iter_child_nodes(whole)], depth + 1
    return depth


def _names(tree: ast.AST, text: str) -> set[str]:
    """The names of variables in an expression; unsupported syntax is an error."""
    match tree:
        case ast.Constant(value=bool() | int() | float() as value):
            if not -_LARGEST <= value <= _LARGEST:
                raise DirectGPError(
                    f"the cost expression {shown(text)} has a number beyond {_LARGEST:g}; "
                    "write smaller numbers"
                )
            return set()
        case ast.Name(id=name):
            return {name}
        case ast.UnaryOp(op=op, operand=part) if type(op) in _OPERATORS:
            return _names(part, text)
        case ast.BinOp(op=op, left=left, right=right) if type(op) in _OPERATORS:
            return _names(left, text) | _names(right, text)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _OPERATORS:
            return _names(left, text) | _names(right, text)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            if name not in FUNCTIONS:
                raise DirectGPError(
                    f"the cost expression {shown(text)} uses the function {shown(name)}; it knows "
                    f"{', '.join(FUNCTIONS)}"
                )
            _, count = FUNCTIONS[name]
            if len(arguments) != count:
                raise DirectGPError(
                    f"the cost expression {shown(text)} gives {name} {len(arguments)} values; it "
                    f"takes {count}"
                )
            return set().union(*(_names(argument, text) for argument in arguments))
    raise DirectGPError(
        f"the cost expression {shown(text)} has a part that is not supported; it may use numbers, "
        "y, action, columns, + - * / ** %, one comparison at a time (join with & and |), and "
        f"{', '.join(FUNCTIONS)}"
    )


def _value(tree: ast.AST, names: Mapping[str, np.ndarray]) -> Any:
    match tree:
        case ast.Constant(value=bool() | int() | float() as value):
            # In float64, because integers of Python have no bound.
            return np.float64(value)
        case ast.Name(id=name):
            return names[name]
        case ast.UnaryOp(op=op, operand=part):
            return _OPERATORS[type(op)](_value(part, names))
        case ast.BinOp(op=op, left=left, right=right):
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return FUNCTIONS[name][0](*(_value(argument, names) for argument in arguments))
    raise AssertionError(f"{tree} was not checked")
