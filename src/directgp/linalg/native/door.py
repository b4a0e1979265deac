"""The only place that decides between machine code and the same formula in JAX.

Callers pass the formula in JAX, which defines the result and its derivatives, and which is
evaluated wherever machine code is not used.
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

# Part of the cache key of compiled programs, because programs with and without machine code differ.
_asked = jax.make_user_context(None)
_failed: list[str] = []


def machine_code(enabled: bool) -> AbstractContextManager[None]:
    """A context in which programs are traced with or without machine code.

    It applies to the current thread and overrides the environment variable `DIRECTGP_NATIVE`.
    Programs that were compiled outside the context are compiled again.

    Args:
        enabled: False for JAX only; True for machine code where it is supported.

    >>> import jax.numpy as jnp
    >>> from directgp.linalg.triangular import lower_times
    >>> with machine_code(False):
    ...     print(lower_times(jnp.eye(2), jnp.ones((2, 2))))
    [[1. 1.]
     [1. 1.]]
    """
    return _asked(bool(enabled))


def in_use() -> bool:
    """Whether programs that are traced now use machine code, for arrays that it supports."""
    asked = _from_environment() if _asked.value is None else _asked.value
    # For `jax.debug_nans`, only JAX's own operations can be located.
    flags: Any = jax.config
    debugging = flags.jax_debug_nans or flags.jax_debug_infs
    possible = asked and not debugging and not _failed
    return possible and jax.default_backend() == "cpu" and _works()


def run(name: str | None, in_jax: Callable[..., Sequence[Array]], *arguments: Array) -> list[Array]:
    """Evaluate `in_jax(*arguments)`, by machine code if it is in use and supports these arrays.

    Machine code supports non-empty arrays of one type, float32 or float64, with the shapes that the
    pass declares. Derivatives of any order and mode are those of `in_jax`, and `jax.vmap` maps
    `in_jax`.

    Args:
        name: of the equivalent pass; None if there is none.
        in_jax: the formula, a function of the arguments only.
        arguments: the arguments of the pass.

    Returns:
        The results as a list.
    """
    machine = None if name is None or not in_use() else _machine(name, in_jax, arguments)
    return list(in_jax(*arguments)) if machine is None else list(machine(*arguments))


def _machine(name: str, in_jax: Callable[..., Sequence[Array]], arguments: tuple[Array, ...]):
    """The pass as a JAX function; None if it does not support these arrays."""
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
    """The value of the environment variable, read once, because programs are compiled once."""
    given = os.environ.get(VARIABLE, "on")
    if given.lower() not in ("on", "off"):
        raise DirectGPError(f"{VARIABLE} must be 'on' or 'off', got {given!r}")
    return given.lower() == "on"


@cache
def _works() -> bool:
    """Whether machine code is supported and passes the self-test, which runs once."""
    if not (self_test.is_supported() and self_test.has_llvmlite()):
        return False
    problem = self_test.failure()
    if problem:
        _give_up(problem)
    return not problem


def _give_up(problem: str) -> None:
    """Use no more machine code in this process."""
    _failed.append(problem)
    warnings.warn(
        f"machine code does not work here ({problem}); everything is computed in JAX instead, "
        f"which is slower; {VARIABLE}=off says so from the start",
        RuntimeWarning,
        stacklevel=2,
    )
