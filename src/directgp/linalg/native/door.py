"""The one place that decides, for every call, between machine code and the same formula in JAX.

Callers pass the formula in JAX: it is what is meant, what derivatives are taken from, and what
runs wherever machine code does not.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import jax
from jax.custom_batching import custom_vmap
from jaxtyping import Array

from directgp.errors import DirectGPError
from directgp.linalg.native import self_test

VARIABLE = "DIRECTGP_NATIVE"
"""The environment variable that turns machine code off."""
_DTYPES = ("float32", "float64")

# Part of the key under which JAX keeps compiled programs: each is compiled for one of the two ways.
_asked = jax.make_user_context(None)
_failed: list[str] = []


def machine_code(enabled: bool) -> AbstractContextManager[None]:
    """A context in which programs are traced with or without machine code.

    It holds for the thread that enters it, and goes before the environment variable
    `DIRECTGP_NATIVE`. Programs that were compiled outside the context are compiled again.

    Args:
        enabled: False computes everything in JAX; True uses machine code where it works.

    >>> import jax.numpy as jnp
    >>> from directgp.linalg.triangular import lower_times
    >>> with machine_code(False):
    ...     print(lower_times(jnp.eye(2), jnp.ones((2, 2))))
    [[1. 1.]
     [1. 1.]]
    """
    return _asked(bool(enabled))


def in_use() -> bool:
    """Whether programs traced now call machine code, for arrays that it takes."""
    asked = _from_environment() if _asked.value is None else _asked.value
    # While JAX looks for numbers that are not finite, its own operations tell where they arise.
    flags: Any = jax.config
    debugging = flags.jax_debug_nans or flags.jax_debug_infs
    possible = asked and not debugging and not _failed
    return possible and jax.default_backend() == "cpu" and _works()


def run(name: str | None, in_jax: Callable[..., Sequence[Array]], *arguments: Array) -> list[Array]:
    """What `in_jax(*arguments)` gives, by machine code where that is in use and takes these arrays.

    Machine code takes non-empty arrays of one type, float32 or float64, with the shapes that its
    pass declares. Derivatives of any order and mode are those of `in_jax`, and `jax.vmap` maps
    `in_jax`.

    Args:
        name: which pass computes the same; None if there is none.
        in_jax: the formula, a function of the arguments alone.
        arguments: arrays, as many as the pass takes.

    Returns:
        The results as a list.
    """
    machine = None if name is None or not in_use() else _machine(name, in_jax, arguments)
    return list(in_jax(*arguments)) if machine is None else list(machine(*arguments))


def _machine(name: str, in_jax: Callable[..., Sequence[Array]], arguments: tuple[Array, ...]):
    """The pass as a function of JAX; None where it does not take these arrays."""
    from directgp.linalg.native.library import PASSES, target  # (llvmlite is optional)

    dtypes = {str(array.dtype) for array in arguments}
    shapes = PASSES[name].result_shapes(*(array.shape for array in arguments))
    dtype = dtypes.pop()
    # Outside `jax.enable_x64` JAX computes in float32 even with arrays of float64.
    taken = not dtypes and dtype in _DTYPES and dtype == jax.dtypes.canonicalize_dtype(dtype)
    if shapes is None or not taken:
        return None
    try:
        known_to_xla = target(name, dtype)
    except Exception as problem:
        _give_up(self_test.described(problem))
        return None
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]

    def listed(*own: Array) -> list[Array]:
        return list(in_jax(*own))

    @custom_vmap
    def call(*own: Array) -> list[Array]:
        return list(jax.ffi.ffi_call(known_to_xla, results)(*own))

    @call.def_vmap
    def _(axis_size: int, is_mapped: Sequence[bool], *own: Array):
        axes = [0 if mapped else None for mapped in is_mapped]
        found = jax.vmap(listed, axes, axis_size=axis_size)(*own)
        return found, [True] * len(found)

    differentiable: Any = jax.custom_jvp(lambda *own: call(*own))
    differentiable.defjvp(lambda primals, tangents: jax.jvp(listed, primals, tangents))
    return differentiable


@cache
def _from_environment() -> bool:
    """What the environment variable says; read once, as programs are compiled once."""
    given = os.environ.get(VARIABLE, "on")
    if given.lower() not in ("on", "off"):
        raise DirectGPError(f"{VARIABLE} must be 'on' or 'off', got {given!r}")
    return given.lower() == "on"


@cache
def _works() -> bool:
    """Whether machine code is supported here and passes its test, which runs once."""
    if not (self_test.is_supported() and self_test.has_llvmlite()):
        return False
    problem = self_test.failure()
    if problem:
        _give_up(problem)
    return not problem


def _give_up(problem: str) -> None:
    """No more machine code in this process."""
    _failed.append(problem)
    warnings.warn(
        f"machine code does not work here ({problem}); everything is computed in JAX instead, "
        f"which is slower; {VARIABLE}=off says so from the start",
        RuntimeWarning,
        stacklevel=2,
    )
