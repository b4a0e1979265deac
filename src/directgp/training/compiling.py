"""How programs are compiled: quickly where they run for seconds, thoroughly where they run long.

XLA's way of compiling for the processor takes seconds a program, more than many a fit computes.
Without its newer emitters and at its first level of optimisation it takes half of that, and the
programs are up to a tenth slower (docs/decisions/0011).
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeVar

import equinox as eqx
import jax

T = TypeVar("T")

_QUICK: dict[str, Any] = {
    "xla_cpu_use_fusion_emitters": False,
    "xla_backend_optimization_level": 1,
}


@cache
def quick_options() -> dict[str, Any]:
    """What XLA is told; nothing on accelerators, or where it does not know these words."""
    if jax.default_backend() != "cpu":
        return {}
    try:
        jax.jit(lambda x: x, compiler_options=_QUICK).lower(0.0).compile()
    except jax.errors.JaxRuntimeError:
        return {}
    return _QUICK


def compiled_quickly(function: Callable[..., T]) -> Callable[..., T]:
    """`equinox.filter_jit` for what runs seldom, or not for long."""

    @cache
    def program() -> Callable[..., T]:  # not at import: JAX may not have been set up yet
        # Equinox hands further options on to jax.jit, which its types do not say.
        options: Any = {"compiler_options": quick_options()}
        return eqx.filter_jit(function, **options)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> T:
        return program()(*args, **kwargs)

    return call
