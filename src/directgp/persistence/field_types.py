"""Check that the fields of objects from a file have their declared types.

Types are the annotations of the classes (`points: int`, `parts: tuple[Kernel, ...]`, `mean:
Float[Array, "P M"]`), so a new class needs no entry here. A field of an Equinox module with
annotation `Any` must hold learned numbers (see `stored_numbers`).
"""

import math
import types
import typing
from collections.abc import Callable
from typing import Any, Union, get_args, get_origin

import equinox as eqx
import jax
import jaxtyping
import numpy as np
import paramax

from directgp.decisions.costs import Cost
from directgp.errors import DirectGPError
from directgp.persistence.classes import field_names, is_ours
from directgp.persistence.stored_numbers import stored

LARGEST_COUNT = 10_000
"""Upper bound of integer fields: classes, quadrature points, samples."""
_LARGEST_NUMBER = 1 << 53


def check_fields(part: Any) -> None:
    """Check the types of all fields of an object, then call its own checks.

    The objects in its fields have been checked before.
    """
    cls = type(part)
    if not is_ours(cls):
        return
    hints = typing.get_type_hints(cls)
    learned = issubclass(cls, eqx.Module)
    for name in field_names(cls):
        hint, value = hints.get(name, Any), getattr(part, name)
        if hint is Any and learned and not _is_learned(value):
            raise DirectGPError(f"{cls.__name__}.{name} must hold learned numbers")
        if not conforms(value, hint):
            raise DirectGPError(f"{cls.__name__}.{name} must be {_shown(hint)}, got {_kind(value)}")
        if type(value) is float and not math.isfinite(value):
            raise DirectGPError(f"{cls.__name__}.{name} must be finite, got {value}")
        if type(value) is int and not -LARGEST_COUNT <= value <= LARGEST_COUNT:
            raise DirectGPError(f"{cls.__name__}.{name} is beyond {LARGEST_COUNT:,}")
    if isinstance(part, Cost):
        part.check_stored()
    for base in reversed(cls.__mro__):
        if "__check_init__" in vars(base):
            vars(base)["__check_init__"](part)


def conforms(value: Any, hint: Any) -> bool:
    """Whether a value has a declared type.

    Args:
        value: the value.
        hint: the annotation; unsupported kinds of annotations accept any value.
    """
    if hint is Any:
        return True
    if hint is None or hint is type(None):
        return value is None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(conforms(value, each) for each in arguments)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](value, arguments)
    if isinstance(hint, type) and issubclass(hint, jaxtyping.AbstractArray):
        return _is_array(value, hint)
    if hint in _PLAIN:
        return _PLAIN[hint](value)
    return isinstance(value, origin or hint) if isinstance(origin or hint, type) else True


def _is_learned(value: Any) -> bool:
    try:
        stored(value)
    except ValueError:
        return False
    return True


def _is_array(value: Any, hint: Any) -> bool:
    """An array of the declared rank and dtype, or a parameter behind a transform."""
    if isinstance(value, hint):
        return True
    wrapped = isinstance(value, paramax.AbstractUnwrappable)
    if not wrapped or hint.array_type is np.ndarray or not _is_learned(value):
        return False
    leaves = [leaf for leaf in jax.tree.leaves(value) if isinstance(leaf, jax.Array)]
    return bool(leaves) and isinstance(leaves[0], hint)


def _is_tuple(value: Any, arguments: tuple[Any, ...]) -> bool:
    if type(value) is not tuple:
        return False
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return all(conforms(each, arguments[0]) for each in value)
    return len(value) == len(arguments) and all(map(conforms, value, arguments))


_CONTAINERS: dict[Any, Callable[[Any, tuple[Any, ...]], bool]] = {
    tuple: _is_tuple,
    list: lambda value, of: isinstance(value, list) and all(conforms(v, of[0]) for v in value),
    dict: lambda value, of: (
        isinstance(value, dict)
        and all(conforms(k, of[0]) and conforms(v, of[1]) for k, v in value.items())
    ),
    typing.Literal: lambda value, of: value in of,
}
_PLAIN: dict[Any, Callable[[Any], bool]] = {
    bool: lambda value: isinstance(value, bool),
    int: lambda value: type(value) is int and abs(value) <= _LARGEST_NUMBER,
    float: lambda value: (
        type(value) is float or (type(value) is int and abs(value) <= _LARGEST_NUMBER)
    ),
    str: lambda value: isinstance(value, str),
}


def _shown(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint).replace("typing.", "")


def _kind(value: Any) -> str:
    shape = f" of shape {np.shape(value)}" if isinstance(value, np.ndarray | jax.Array) else ""
    return type(value).__name__ + shape
