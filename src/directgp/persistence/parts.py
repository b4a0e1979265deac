"""Convert nested objects to JSON and named arrays, and back.

Plain values are plain JSON; everything else is an object with one key that starts with "!", such
as `{"!class": "RBF", "fields": {…}}`. Only classes on the closed list of `classes` are accepted.
Objects are assembled field by field, without their constructor, and then checked (`field_types`).
"""

import dataclasses
import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from directgp.errors import DirectGPError
from directgp.parameters import on_device, transforms
from directgp.persistence.classes import class_named, field_names, is_data, name_of
from directgp.persistence.errors import NotSavable
from directgp.persistence.field_types import check_fields

Arrays = dict[str, np.ndarray]

DEEPEST = 100
"""Maximum depth of nesting."""
_MOST_ITEMS = 1 << 20
_FLOATS = ("inf", "-inf", "nan")


class Encoder:
    """Converts values to JSON and collects their arrays.

    All methods take a value and `where`, its path in the object, which names arrays and appears in
    errors.
    """

    def __init__(self) -> None:
        self.arrays: Arrays = {}

    def __call__(self, value: Any, where: str) -> Any:
        """The value as JSON."""
        return _encoded(value, self, where)

    def each(self, values: Any, where: str) -> list:
        """A sequence of values."""
        return [self(value, f"{where}[{number}]") for number, value in enumerate(values)]

    def mapping(self, values: dict, where: str) -> Any:
        """A dict; as pairs if JSON cannot have its keys."""
        if all(isinstance(key, str) and not key.startswith("!") for key in values):
            return {key: self(value, f"{where}.{key}") for key, value in values.items()}
        pairs = [[self(k, where), self(v, f"{where}[{k!r}]")] for k, v in values.items()]
        return {"!pairs": pairs}

    def array(self, value: Any, where: str) -> Any:
        """The name under which the array is stored, or its texts."""
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
        # safetensors needs native byte order and C layout; scalars keep their shape.
        native = array.dtype.newbyteorder("=")
        name = where if where not in self.arrays else f"{where}#{len(self.arrays)}"
        self.arrays[name] = np.array(array, dtype=native, order="C")
        return {"!array": name, "jax": isinstance(value, jax.Array)}

    def part(self, value: Any, where: str) -> Any:
        """An object as the name of its class and its fields."""
        cls = type(value)
        name = name_of(cls)
        if name is None:
            raise NotSavable(
                f"{where} is a {cls.__module__}.{cls.__qualname__}, which is not directgp's own "
                "and cannot be saved; use a part of directgp, or decorate your class with "
                "directgp.persistence.savable"
            )
        fields = {each: self(getattr(value, each), f"{where}.{each}") for each in field_names(cls)}
        return {"!class": name, "fields": fields}

    def function(self, value: Any, where: str) -> Any:
        """The name of a transform of parameters; other functions cannot be stored."""
        names = {transforms.lookup(name): name for name in transforms}
        if callable(value) and value in names:
            return {"!transform": names[value]}
        raise NotSavable(
            f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which cannot be "
            "saved; use numbers, texts, lists, dicts, arrays or parts of directgp"
        )


@singledispatch
def _encoded(value: Any, encode: Encoder, where: str) -> Any:
    """Data classes and transforms; other types are registered below."""
    return encode.part(value, where) if is_data(type(value)) else encode.function(value, where)


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
    named = is_data(type(value))
    return encode.part(value, where) if named else {"!tuple": encode.each(value, where)}


@_encoded.register
def _(value: list, encode: Encoder, where: str) -> Any:
    return encode.each(value, where)


@_encoded.register
def _(value: dict, encode: Encoder, where: str) -> Any:
    return encode.mapping(value, where)


class Decoder:
    """Inverse of `Encoder`; call it in float64, so that arrays keep their precision.

    Inconsistent content is a `DirectGPError`, an unknown class an `UnknownPart`.
    """

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = dict(arrays)
        self._depth = 0
        self._readers: dict[str, Callable[[dict, str], Any]] = {
            "!float": self._read_float,
            "!tuple": lambda node, where: tuple(self._each(_list(node["!tuple"]), where)),
            "!pairs": self._read_pairs,
            "!texts": lambda node, where: _read_texts(node),
            "!array": self._read_array,
            "!class": self._read_object,
            "!transform": lambda node, where: transforms.lookup(node["!transform"]),
        }
        self._keys = {
            "!texts": {"!texts", "shape", "kind"},
            "!array": {"!array", "jax"},
            "!class": {"!class", "fields"},
        }

    def __call__(self, node: Any, where: str) -> Any:
        """The value that `Encoder` wrote at a path."""
        if not isinstance(node, dict | list):
            return node
        self._depth += 1
        if self._depth > DEEPEST:
            raise DirectGPError(f"it has more than {DEEPEST} levels of nesting")
        found = self._each(node, where) if isinstance(node, list) else self._mapping(node, where)
        self._depth -= 1
        return found

    def check_all_used(self) -> None:
        """Raise an error for arrays that are not referred to."""
        if self._arrays:
            raise DirectGPError("it has an unused array")

    def _each(self, nodes: list, where: str) -> list:
        if len(nodes) > _MOST_ITEMS:
            raise DirectGPError("it has a list that is too long")
        return [self(node, f"{where}[{number}]") for number, node in enumerate(nodes)]

    def _mapping(self, node: dict, where: str) -> Any:
        tag = next((key for key in node if key.startswith("!")), None)
        if tag is None:
            return {key: self(value, f"{where}.{key}") for key, value in node.items()}
        if tag not in self._readers:
            raise UnknownPart(tag)
        if set(node) != self._keys.get(tag, {tag}):
            raise DirectGPError("an entry has the wrong keys")
        return self._readers[tag](node, where)

    def _read_float(self, node: dict, where: str) -> float:
        if node["!float"] not in _FLOATS:
            raise DirectGPError("an entry should be an infinite number or NaN")
        return float(node["!float"])

    def _read_pairs(self, node: dict, where: str) -> dict:
        found = {}
        for pair in _list(node["!pairs"]):
            key, value = _list(pair)
            read = self(key, where)
            found[read] = self(value, f"{where}[{read!r}]")
        return found

    def _read_array(self, node: dict, where: str) -> Any:
        """The array at a path; one of another path is an error."""
        name = node["!array"]
        if not isinstance(name, str) or name.split("#")[0] != where.split("#")[0]:
            raise DirectGPError("an array belongs to another path")
        if name not in self._arrays:
            raise DirectGPError("an array is missing")
        array = self._arrays.pop(name)
        return on_device(array) if node["jax"] is True else array

    def _read_object(self, node: dict, where: str) -> Any:
        cls = class_named(node["!class"])
        if cls is None:
            raise UnknownPart(node["!class"])
        known = field_names(cls)
        if not isinstance(node["fields"], dict):
            raise DirectGPError("the fields of an object are not a mapping")
        unknown = sorted(set(node["fields"]) - set(known))
        if unknown:
            raise UnknownPart(f"{node['!class']}.{unknown[0]}")
        fields = {name: self(value, f"{where}.{name}") for name, value in node["fields"].items()}
        made = cls(**fields) if issubclass(cls, tuple) else _assembled(cls, fields)
        check_fields(made)
        return made


class UnknownPart(DirectGPError):
    """A class or tag that this version does not know; the text is its name."""


def _list(node: Any) -> list:
    if not isinstance(node, list):
        raise DirectGPError("an entry should be a list")
    return node


def _read_texts(node: dict) -> np.ndarray:
    texts, shape, kind = _list(node["!texts"]), _list(node["shape"]), node["kind"]
    if not all(isinstance(text, str) for text in texts) or kind not in ("U", "O"):
        raise DirectGPError("an array of texts holds something else")
    if not all(type(size) is int and size >= 0 for size in shape) or math.prod(shape) != len(texts):
        raise DirectGPError("an array of texts has the wrong shape")
    if kind == "U" and max(map(len, texts), default=0) * len(texts) > _MOST_ITEMS:
        raise DirectGPError("an array of texts is too large")
    return np.array(texts, dtype=object if kind == "O" else np.str_).reshape(shape)


def _assembled(cls: type, fields: dict[str, Any]) -> Any:
    """An object with these fields; missing ones take their defaults."""
    made = object.__new__(cls)
    for field in dataclasses.fields(cls):
        if field.name in fields:
            value = fields[field.name]
        elif field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            raise UnknownPart(f"{cls.__name__} without {field.name}")
        object.__setattr__(made, field.name, value)
    return made
