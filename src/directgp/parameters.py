"""How learned quantities are stored: always as unconstrained numbers, unwrapped on use.

A *wrapped* tree (what an optimiser sees) holds raw numbers; `unwrap` gives the constrained
tree (what the equations see). Everything here is built on paramax, so user modules may use
any `paramax.AbstractUnwrappable` of their own.
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
from jax.core import Tracer
from jax.tree_util import DictKey, GetAttrKey, SequenceKey
from jaxtyping import Array, Float, PyTree

from directgp.errors import DirectGPError, ForkedProcess
from directgp.registry import Registry

T = TypeVar("T")
P = ParamSpec("P")
unwrap = paramax.unwrap

transforms = Registry("transform")
"""From raw numbers to constrained ones; a model file names its transforms by these names."""


_WORD = 0xFFFFFFFF

_processes: dict[str, int] = {}
"""By "jax" the process in which JAX was first used; by "forked" a child that cannot use it."""


def float64(function: Callable[P, T]) -> Callable[P, T]:
    """Run `function` in double precision whatever the caller's own JAX setting is.

    In a child that was forked after JAX had been used it is an error, `ForkedProcess`.
    """

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> T:
        check_process()
        with jax.enable_x64(True):
            return function(*args, **kwargs)

    return inside


def check_process() -> None:
    """Raise `ForkedProcess` where JAX cannot compute; everything that uses JAX starts here."""
    _processes.setdefault("jax", os.getpid())
    if "forked" in _processes:
        raise ForkedProcess(
            f"process {os.getpid()} was forked from one that had used JAX, whose threads do not "
            "survive a fork; start processes by joblib (loky) or by multiprocessing with "
            "'spawn' or 'forkserver'"
        )


def _mark_forked_child() -> None:
    try:
        # Every public question about backends starts them, which a forked child must not.
        from jax._src.xla_bridge import backends_are_initialized

        used = "jax" in _processes or backends_are_initialized()
    except ImportError:  # a later JAX: what directgp itself has used is known
        used = "jax" in _processes
    if used:
        _processes["forked"] = os.getpid()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(after_in_child=_mark_forked_child)


def on_device(value: Any, dtype: Any = None) -> Array:
    """Numbers of the host as an array of JAX, without compiling anything.

    `jnp.asarray` compiles a program for every shape, which takes longer than most small fits copy
    data. Within a compiled function both do the same.

    Args:
        value: numbers, or an array of JAX, which is returned as it is.
        dtype: None for the numbers' own.

    >>> on_device([1, 2], np.float32)
    Array([1., 2.], dtype=float32)
    """
    if isinstance(value, jax.Array):
        return jnp.asarray(value, dtype)
    # A copy: JAX would share the memory of an array that its owner may change.
    return jax.device_put(np.array(value, dtype))


def random_key(seed: int) -> Array:
    """`jax.random.key(seed)`, without compiling anything.

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
    """A learned number (or array) that stays above `minimum`: value = minimum + exp(raw).

    The logarithm makes one optimiser step a relative change, so the same learning rate
    serves length-scales of 0.01 and of 100.

    >>> with jax.enable_x64(True):
    ...     float(unwrap(positive(2.0)))
    2.0
    """
    if isinstance(value, Tracer):
        return paramax.Parameterize(_exp_above, jnp.log(value - minimum), minimum)
    # On the host: JAX would compile every one of these operations for every new shape.
    number = np.asarray(value, np.float64)
    if not np.all(number > minimum):
        raise DirectGPError(
            f"a positive parameter must start above {minimum}, got {value}; give a larger value"
        )
    return paramax.Parameterize(_exp_above, on_device(np.log(number - minimum)), minimum)


def is_learned(tree: PyTree) -> bool:
    """Whether training moves any number of the tree."""
    return bool(jax.tree.leaves(split_trainable(tree)[0]))


@float64
def with_value(parameter: paramax.Parameterize, value: Any) -> paramax.Parameterize:
    """A parameter made by `positive`, with another value above the same minimum.

    >>> with jax.enable_x64(True):
    ...     float(unwrap(with_value(positive(2.0, minimum=1.0), 3.0)))
    3.0
    """
    _, minimum = parameter.args
    return paramax.Parameterize(_exp_above, jnp.log(value - minimum), minimum)


def diagonal(matrix: Float[Array, "... M M"]) -> Float[Array, "... M"]:
    """The diagonal by a masked sum: its derivative is a product, not a slow scatter."""
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
    """A field of a model or kernel, with what training has to know of it.

    Args:
        rate: how fast its numbers are learned: at the usual learning rate, faster (by the factor
            that a fit calls `quick`), or each of its own parts as that part declares. A part counts
            only if everything that it is part of says "by part".
        columns: whether its last axis is the input columns (or of length 1, or missing, for one
            number for all of them). Padding adds zeros there where it adds columns of zeros to the
            inputs.
        options: further ones of `equinox.field`.

    Returns:
        What stands in the class body where a default would.

    >>> class Kernel(eqx.Module):
    ...     variance: Any
    ...     lengthscale: Any = part(columns=True)
    """
    return eqx.field(metadata={"rate": rate, "columns": columns}, **options)


def declared(tree: PyTree, path: tuple[Any, ...]) -> Iterator[Mapping[str, Any]]:
    """What the fields on the way to a leaf declare, from the outermost to the innermost.

    Args:
        tree: a model, or anything that holds one.
        path: where the leaf is, as `jax.tree_util.tree_map_with_path` has it.

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
    """The same tree with every number held fixed during training."""
    return paramax.non_trainable(tree)


class Lent(paramax.NonTrainable):
    """Held fixed for one fit, not by the user: whoever goes on from it may learn it again."""


def lent(tree: PyTree) -> PyTree:
    """The same tree with every number held fixed until it is `thawed`."""
    return jax.tree.map(
        lambda leaf: Lent(leaf) if eqx.is_inexact_array(leaf) else leaf,
        tree,
        is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable),
    )


def thawed(tree: PyTree) -> PyTree:
    """Undo `lent`; what is `frozen` stays so."""
    return jax.tree.map(
        lambda leaf: leaf.tree if isinstance(leaf, Lent) else leaf,
        tree,
        is_leaf=lambda leaf: isinstance(leaf, Lent),
    )


def split_trainable(tree: PyTree) -> tuple[PyTree, PyTree]:
    """Split into (what the optimiser moves, everything else); `equinox.combine` undoes it."""
    return eqx.partition(
        tree, eqx.is_inexact_array, is_leaf=lambda leaf: isinstance(leaf, paramax.NonTrainable)
    )
