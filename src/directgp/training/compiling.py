"""How programs are compiled: quickly where they run for seconds, thoroughly where they run long.

XLA's way of compiling for the processor takes seconds a program, more than many a fit computes.
Without its newer emitters and at its first level of optimisation it takes half of that, and steps
are 3 to 12 % slower; with no optimisation a sixth of it, and programs take twice as long, but for
their products, which are the same at every level (docs/decisions/0011).
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

import equinox as eqx
import jax

from directgp.linalg.compile_cache import kept_programs

T = TypeVar("T")

_OPTIONS: dict[int, dict[str, Any]] = {
    level: {"xla_cpu_use_fusion_emitters": False, "xla_backend_optimization_level": level}
    for level in (0, 1)
}


@cache
def quick_options(level: int = 1) -> dict[str, Any]:
    """Compiler options for XLA; none on accelerators, or where this XLA does not know them."""
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda x: x, compiler_options=_OPTIONS[level]).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return {}
    return _OPTIONS[level]


def _compiled(function: Callable[..., T], level: int) -> Callable[..., T]:
    @cache
    def program() -> Callable[..., T]:  # not at import: JAX may not have been set up yet
        kept_programs()
        # Equinox hands further options on to jax.jit, which its types do not say.
        options: Any = {"compiler_options": quick_options(level)}
        return eqx.filter_jit(function, **options)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> T:
        return program()(*args, **kwargs)

    return call


def compiled_quickly(function: Callable[..., T]) -> Callable[..., T]:
    """`equinox.filter_jit` for what runs for seconds in all."""
    return _compiled(function, 1)


def compiled_at_once(function: Callable[..., T]) -> Callable[..., T]:
    """`equinox.filter_jit` for what runs a few times, or on few rows: hardly optimised at all."""
    return _compiled(function, 0)
