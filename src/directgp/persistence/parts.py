"""A tree of parts as JSON and named arrays, and back: no code ever comes from the file.

JSON holds plain values as they are and everything else as an object with one key that starts with
"!": `{"!class": "directgp.kernels.stationary.RBF", "fields": {…}}`. A class is found again only if
it is a data class (Equinox module, dataclass, named tuple) that is defined in an already imported
module of directgp, or that the program itself passed to `savable`; nothing is imported by name.
Objects are put together field by field, as JAX does, so no constructor runs.
"""

import dataclasses
import math
import sys
from collections.abc import Callable
from functools import singledispatch
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import paramax

from directgp.parameters import transforms
from directgp.persistence.errors import NotSavable

C = TypeVar("C", bound=type)
Arrays = dict[str, np.ndarray]

_granted: dict[str, type] = {}


def savable(cls: C) -> C:
    """Class decorator: models with parts of this class (yours) can be saved and loaded.

    The program that loads must define and decorate the same class. It must be a data class: an
    Equinox module (as every kernel, likelihood, loss is), a dataclass or a named tuple.
    """
    if not _is_data(cls):
        raise TypeError(
            f"savable takes an Equinox module, dataclass or named tuple, got {cls!r}; "
            "derive it from equinox.Module"
        )
    _granted[_path(cls)] = cls
    return cls


def _path(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _is_data(cls: Any) -> bool:
    if not isinstance(cls, type):
        return False
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


savable(paramax.Parameterize)
savable(paramax.NonTrainable)


def _find_class(path: str) -> type | None:
    """The class of that name, if it may come out of a file."""
    if path in _granted:
        return _granted[path]
    module, _, name = path.rpartition(".")
    if not module.startswith("directgp."):
        return None
    found = getattr(sys.modules.get(module), name, None)
    return found if isinstance(found, type) and _is_data(found) and _path(found) == path else None


def _field_names(cls: type) -> list[str]:
    """What is stored of an object: all but what it keeps for itself (a leading underscore)."""
    if issubclass(cls, tuple):
        return list(cls._fields)  # pyright: ignore[reportAttributeAccessIssue]
    return [field.name for field in dataclasses.fields(cls) if not field.name.startswith("_")]


class Encoder:
    """Turns values into JSON and collects the arrays on the way; `where` names a bad one."""

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def __call__(self, value: Any, where: str) -> Any:
        """The value as JSON."""
        return _encoded(value, self, where)

    def each(self, values: Any, where: str) -> list:
        """Values one by one."""
        return [self(value, f"{where}[{number}]") for number, value in enumerate(values)]

    def mapping(self, values: dict, where: str) -> Any:
        """A dict, by pairs where JSON cannot have its keys."""
        if all(isinstance(key, str) and not key.startswith("!") for key in values):
            return {key: self(value, f"{where}.{key}") for key, value in values.items()}
        pairs = [[self(k, where), self(v, f"{where}[{k!r}]")] for k, v in values.items()]
        return {"!pairs": pairs}

    def array(self, value: Any, where: str) -> Any:
        """The name under which the array is stored, or texts as they are."""
        if isinstance(value, jax.Array) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise NotSavable(f"{where} is a random key, which cannot be saved; store its seed")
        array = np.asarray(value)
        if array.dtype.kind in "UO" and all(isinstance(text, str) for text in array.flat):
            shape, texts = list(array.shape), [str(text) for text in array.flat]
            return {"!texts": texts, "shape": shape, "kind": array.dtype.kind}
        if array.dtype.kind not in "biuf":
            raise NotSavable(
                f"{where} is an array of dtype {array.dtype}, which cannot be saved; "
                "use numbers, booleans or texts"
            )
        # safetensors reads raw bytes: one byte order, one layout, and scalars stay scalars.
        native = array.dtype.newbyteorder("=")
        self.arrays[where] = np.array(array, dtype=native, order="C")
        return {"!array": where, "jax": isinstance(value, jax.Array)}

    def part(self, value: Any, where: str) -> Any:
        """The class of a part and its fields."""
        cls = type(value)
        path = _path(cls)
        if _find_class(path) is not cls:
            raise NotSavable(
                f"{where} is a {path}, which is not directgp's own and cannot be saved; use a part "
                "of directgp, or decorate your class with directgp.persistence.savable"
            )
        fields = {name: self(getattr(value, name), f"{where}.{name}") for name in _field_names(cls)}
        return {"!class": path, "fields": fields}

    def function(self, value: Any, where: str) -> Any:
        """The name of a transform; nothing else that is no data can be stored."""
        names = {transforms.lookup(name): name for name in transforms}
        if callable(value) and value in names:
            return {"!transform": names[value]}
        raise NotSavable(
            f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which cannot be "
            "saved; use numbers, texts, lists, dicts, arrays or parts of directgp"
        )


@singledispatch
def _encoded(value: Any, encode: Encoder, where: str) -> Any:
    """Parts, and functions that have a name; all other types are registered below."""
    return encode.part(value, where) if _is_data(type(value)) else encode.function(value, where)


@_encoded.register(type(None))
@_encoded.register(bool)
def _(value: Any, encode: Encoder, where: str) -> Any:
    return value


@_encoded.register
def _(value: str, encode: Encoder, where: str) -> Any:
    return str(value)


@_encoded.register
def _(value: int, encode: Encoder, where: str) -> Any:
    return int(value)


@_encoded.register
def _(value: float, encode: Encoder, where: str) -> Any:
    return float(value) if math.isfinite(value) else {"!float": repr(float(value))}


@_encoded.register
def _(value: np.generic, encode: Encoder, where: str) -> Any:
    return encode(value.item(), where)


@_encoded.register(np.ndarray)
@_encoded.register(jax.Array)
def _(value: Any, encode: Encoder, where: str) -> Any:
    return encode.array(value, where)


@_encoded.register
def _(value: tuple, encode: Encoder, where: str) -> Any:
    named = _is_data(type(value))
    return encode.part(value, where) if named else {"!tuple": encode.each(value, where)}


@_encoded.register
def _(value: list, encode: Encoder, where: str) -> Any:
    return encode.each(value, where)


@_encoded.register
def _(value: dict, encode: Encoder, where: str) -> Any:
    return encode.mapping(value, where)


class Decoder:
    """The way back; call it in float64, so that arrays keep their precision."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._readers: dict[str, Callable[[dict], Any]] = {
            "!float": lambda node: float(node["!float"]),
            "!tuple": lambda node: tuple(self(value) for value in node["!tuple"]),
            "!pairs": lambda node: {self(key): self(value) for key, value in node["!pairs"]},
            "!texts": _read_texts,
            "!array": self._read_array,
            "!class": self._read_object,
            "!transform": lambda node: transforms.lookup(node["!transform"]),
        }

    def __call__(self, node: Any) -> Any:
        """The value that `Encoder` wrote."""
        if isinstance(node, list):
            return [self(value) for value in node]
        if not isinstance(node, dict):
            return node
        tag = next((key for key in node if key.startswith("!")), None)
        if tag is None:
            return {key: self(value) for key, value in node.items()}
        return self._readers[tag](node)

    def _read_array(self, node: dict) -> Any:
        array = self._arrays[node["!array"]]
        return jnp.asarray(array) if node["jax"] else array

    def _read_object(self, node: dict) -> Any:
        cls = _find_class(node["!class"])
        if cls is None:
            raise LookupError(node["!class"])
        fields = {name: self(value) for name, value in node["fields"].items()}
        known = _field_names(cls)
        if not set(fields) <= set(known):
            raise LookupError(f"{node['!class']}.{sorted(set(fields) - set(known))[0]}")
        if issubclass(cls, tuple):
            return cls(**fields)
        return _assembled(cls, fields)


def _read_texts(node: dict) -> np.ndarray:
    dtype = object if node["kind"] == "O" else np.str_
    return np.array(node["!texts"], dtype=dtype).reshape(node["shape"])


def _assembled(cls: type, fields: dict[str, Any]) -> Any:
    """An object with these fields; those that the file does not know take their defaults."""
    made = object.__new__(cls)
    for field in dataclasses.fields(cls):
        if field.name in fields:
            value = fields[field.name]
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            raise LookupError(f"{_path(cls)}.{field.name}")
        object.__setattr__(made, field.name, value)
    return made
