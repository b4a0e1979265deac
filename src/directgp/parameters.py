"""Learned parameters, stored as unconstrained numbers and unwrapped where they are used.

A *wrapped* tree, which the optimiser updates, has unconstrained numbers; `unwrap` returns the tree
with the constrained parameters. The wrappers are those of paramax, so user modules may use any
`paramax.AbstractUnwrappable`.
"""

import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, Literal, ParamSpec, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import paramax
from jax import lax
from jax.core import Tracer
from jax.tree_util import DictKey, GetAttrKey, SequenceKey
from jaxtyping import Array, Float, PyTree

from directgp.errors import DirectGPError, ForkedProcess
from directgp.registry import Registry

T = TypeVar("T")
P = ParamSpec("P")
unwrap = paramax.unwrap

transforms = Registry("transform")
"""Maps from unconstrained to constrained numbers, by their names in model files."""


_WORD = 0xFFFFFFFF

_processes: dict[str, int] = {}
"""The process that first used JAX ("jax"), and a forked child that cannot use it ("forked")."""


def float64(function: Callable[P, T]) -> Callable[P, T]:
    """Decorator that runs a function in float64, independent of the caller's JAX configuration.

    In a child that was forked after JAX had been used, the call raises `ForkedProcess`.
    """

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        check_process()
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return inside


def check_process() -> None:
    """Raise `ForkedProcess` in a forked child, where JAX cannot compute."""
    _processes.setdefault("jax", os.getpid())
    if "forked" in _processes:
        raise ForkedProcess(
            f"process {os.getpid()} was forked from one that had used JAX, whose threads do not "
            "survive a fork; start processes by joblib (loky) or by multiprocessing with "
            "'spawn' or 'forkserver'"
        )


def _mark_forked_child() -> None:
    try:
        # Public functions of JAX would initialise the backends, which a forked child must not do.
        from jax._src.xla_bridge import backends_are_initialized

        used = "jax" in _processes or backends_are_initialized()
    except ImportError:  # another version of JAX: only the use by directgp is known
        used = "jax" in _processes
    if used:
        _processes["forked"] = os.getpid()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_mark_forked_child)


def on_device(value: Any, dtype: Any = None) -> Array:
    """Convert numbers to a JAX array without compilation.

    `jnp.asarray` compiles a program for every shape. In a compiled function both are the same.

    Args:
        value: numbers; a JAX array is not copied.
        dtype: of the result; None for that of `value`.

    >>> on_device([1, 2], np.float32)
    Array([1., 2.], dtype=float32)
    """
    if isinstance(value, jax.Array):
        return jnp.asarray(value, dtype)
    # A copy, because JAX would share the memory, which the caller may modify.
    return jax.device_put(np.array(value, dtype))


def random_key(seed: int) -> Array:
    """`jax.random.key(seed)` without compilation.

    >>> bool(random_key(7) == jax.random.key(7))
    True
    """
    options: Any = jax.config
    if options.jax_default_prng_impl != "threefry2x32" or not options.jax_enable_x64:
        return jax.random.key(seed)
    words = np.array([seed >> 32 & _WORD, seed & _WORD], np.uint32)
    return jax.random.wrap_key_data(jax.device_put(words))


@transforms.register("exp-above")
def _exp_above(raw: Array, minimum: float) -> Array:
    return minimum + jnp.exp(raw)


@float64
def positive(value: Any, minimum: float = 0.0) -> paramax.Parameterize:
    """A learned number (or array) above `minimum`: value = minimum + exp(raw).

    An optimiser step of the logarithm is a relative change, so one learning rate is suitable for
    length-scales of 0.01 and of 100.

    Args:
        value: the initial value.
        minimum: the lower limit.

    >>> with jax.enable_x64(True):
    ...     float(unwrap(positive(2.0)))
    2.0
    """
    if isinstance(value, Tracer):
        return paramax.Parameterize(_exp_above, jnp.log(value - minimum), minimum)
    # In NumPy, because JAX would compile these operations for every shape.
    number = np.asarray(value, np.float64)
    if not np.all(number > minimum):
        raise DirectGPError(
            f"a positive parameter must start above {minimum}, got {value}; give a larger value"
        )
    return paramax.Parameterize(_exp_above, on_device(np.log(number - minimum)), minimum)


def is_learned(tree: PyTree) -> bool:
    """Whether any number of the tree is trained."""
    return bool(jax.tree.leaves(split_trainable(tree)[0]))


@float64
def with_value(parameter: paramax.Parameterize, value: Any) -> paramax.Parameterize:
    """A parameter made by `positive`, with another value and the same minimum.

    Args:
        parameter: from `positive`.
        value: the new value.

    >>> with jax.enable_x64(True):
    ...     float(unwrap(with_value(positive(2.0, minimum=1.0), 3.0)))
    3.0
    """
    _, minimum = parameter.args
    return paramax.Parameterize(_exp_above, jnp.log(value - minimum), minimum)


def diagonal(matrix: Float[Array, "... M M"]) -> Float[Array, "... M"]:
    """The diagonal by a masked sum, whose derivative is a product instead of a slow scatter."""
    return jnp.sum(matrix * jnp.eye(matrix.shape[-1], dtype=matrix.dtype), axis=-1)


@transforms.register("lower-triangular")
def _assemble_lower(raw: Array) -> Array:
    eye = jnp.eye(raw.shape[-1], dtype=raw.dtype)
    return jnp.tril(raw, -1) + eye * jnp.exp(diagonal(raw))[..., None]


@float64
def lower_triangular(value: Float[Array | np.ndarray, "... M M"]) -> paramax.Parameterize:
    """A learned lower-triangular matrix with a positive diagonal (stored as its logarithm)."""
    if isinstance(value, Tracer):
        logs = jnp.log(diagonal(value))[..., None] * jnp.eye(value.shape[-1])
        return paramax.Parameterize(_assemble_lower, jnp.tril(value, -1) + logs)
    matrix = np.asarray(value, np.float64)
    positive_part = np.diagonal(matrix, axis1=-2, axis2=-1)
    if not np.all(positive_part > 0):
        raise DirectGPError("a lower-triangular parameter needs a positive diagonal")
    raw = np.tril(matrix, -1) + np.log(positive_part)[..., None] * np.eye(matrix.shape[-1])
    return paramax.Parameterize(_assemble_lower, on_device(raw))


def part(
    *, rate: Literal["usual", "fast", "by part"] = "usual", columns: bool = False, **options: Any
) -> Any:
    """A field of a model or kernel that declares its role in training.

    Args:
        rate: "usual" for the learning rate itself, "fast" for the rate times `quick`, "by part" if
            the parts of the field declare it. The declaration of a part is used only if all fields
            that contain it are "by part".
        columns: whether its last axis has the input columns (or length 1, or is missing, for one
            number for all columns). If inputs are padded with columns of zeros, so is this axis.
        options: further arguments of `equinox.field`.

    Returns:
        The field, to be assigned in the class body.

    >>> class Kernel(eqx.Module):
    ...     variance: Any
    ...     lengthscale: Any = part(columns=True)
    """
    return eqx.field(metadata={"rate": rate, "columns": columns}, **options)


def declared(tree: PyTree, path: tuple[Any, ...]) -> Iterator[Mapping[str, Any]]:
    """The declarations of the fields on the path to a leaf, from the outermost to the innermost.

    Args:
        tree: a model, or a tree that contains one.
        path: of the leaf, from `jax.tree_util.tree_map_with_path`.

    Returns:
        The metadata of each field of an Equinox module or dataclass; see `part`.
    """
    for key in path:
        match key:
            case GetAttrKey(name=name):
                if dataclasses.is_dataclass(tree):
                    fields = {field.name: field for field in dataclasses.fields(tree)}
                    yield fields[name].metadata
                tree = getattr(tree, name)
            case SequenceKey(idx=position) | DictKey(key=position):
                tree = tree[position]
            case _:
                return


def frozen(tree: PyTree) -> PyTree:
    """The same tree with all numbers fixed during training."""
    return paramax.non_trainable(tree)


class Lent(paramax.NonTrainable):
    """Fixed during one fit only; a fit that continues from it learns it again."""


def lent(tree: PyTree) -> PyTree:
    """The same tree with all numbers fixed until it is `thawed`."""
    return jax.tree.map(
        lambda leaf: Lent(leaf) if eqx.is_inexact_array(leaf) else leaf,
        tree,
        is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable),
    )


def thawed(tree: PyTree) -> PyTree:
    """Undo `lent`; numbers that are `frozen` stay fixed."""
    return jax.tree.map(
        lambda leaf: leaf.tree if isinstance(leaf, Lent) else leaf,
        tree,
        is_leaf=lambda leaf: isinstance(leaf, Lent),
    )


def split_trainable(tree: PyTree) -> tuple[PyTree, PyTree]:
    """Split into (learned numbers, everything else); the inverse is `equinox.combine`."""
    return eqx.partition(
        tree, eqx.is_inexact_array, is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable)
    )


def without_gradient(tree: PyTree) -> PyTree:
    """The same tree with every array constant under differentiation."""
    arrays, rest = eqx.partition(tree, eqx.is_inexact_array)
    return eqx.combine(lax.stop_gradient(arrays), rest)
