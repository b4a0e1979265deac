"""Compiler options: fast compilation for short runs, full optimisation for long ones.

XLA's way of compiling for the processor takes seconds a program, more than many a fit computes.
Without its newer emitters and at its first level of optimisation it takes half of that, and steps
are 3 to 12 % slower; with no optimisation a sixth of it, and programs take twice as long, but for
their products, which are the same at every level (docs/decisions/0011).

A program is kept as long as the process lives, about five megabytes of it, and every shape of table
has its own. So that a process that fits many tables does not grow without end, JAX is told to
forget all programs once a hundred have been made; those in use are found again on disk.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

import equinox as eqx
import jax

from directgp.linalg.compile_cache import kept_programs

T = TypeVar("T")

MOST_PROGRAMS = 100
"""Number of programs after which all are dropped."""

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


class _Programs:
    """Counts compiled programs."""

    def __init__(self) -> None:
        self._made = 0

    def add(self) -> None:
        """Count a program that is being traced."""
        self._made += 1

    def forget_many(self) -> None:
        """Drop all compiled programs if there are many."""
        if self._made >= MOST_PROGRAMS:
            self._made = 0
            jax.clear_caches()


_programs = _Programs()


def _compiled(function: Callable[..., T], level: int) -> Callable[..., T]:
    @wraps(function)
    def traced(*args: Any, **kwargs: Any) -> T:  # its body runs when a program is made
        _programs.add()
        return function(*args, **kwargs)

    @cache
    def program() -> Callable[..., T]:  # not at import: JAX may not have been set up yet
        kept_programs()
        # Equinox hands further options on to jax.jit, which its types do not say.
        options: Any = {"compiler_options": quick_options(level)}
        return eqx.filter_jit(traced, **options)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> T:
        _programs.forget_many()
        return program()(*args, **kwargs)

    return call


def compiled_quickly(function: Callable[..., T]) -> Callable[..., T]:
    """`equinox.filter_jit` for what runs for seconds in all."""
    return _compiled(function, 1)


def compiled_at_once(function: Callable[..., T]) -> Callable[..., T]:
    """`equinox.filter_jit` for what runs a few times, or on few rows: hardly optimised at all."""
    return _compiled(function, 0)
