"""Machine code for what a step spends its time on, where XLA's own is slower.

XLA multiplies the zeros of triangles and both halves of symmetric matrices, writes every [M N]
array on the way to memory, and sums over long columns in passes of their own. The passes here leave
out what is known, keep a few columns in the nearest cache while they are worked on, and use every
thread of XLA's pool. LLVM (llvmlite) makes machine code for the processor at hand when a pass is
first needed, in a tenth of a second; XLA calls it through its foreign function interface.

* `emit` is the little language they are written in; `panels`, `gram`, `profiles` what they share.
* `passes` says what a pass is; `passes_of_triangles`, `passes_of_moments` and `passes_of_kernels`
  are those of `triangular.py`, `moments/` and `kernels/stationary_matrix.py`.
* `handler` is how XLA calls them, `library` compiles and registers.

What is computed here is also written in JAX, where it is first to be read: those three use one or
the other, and tests hold the two equal. Where there is no
llvmlite, or no processor that this was tried on, or another device than a CPU, JAX's is used.
"""

import importlib.util
import platform
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

__all__ = ["call", "is_tried_here", "serves", "works"]

_TRIED_ON = (("linux", "x86_64"),)
_KINDS = ("float32", "float64")


def serves(*arrays: Array) -> bool:
    """Whether passes can take these arrays: of one kind of number, and not empty."""
    kinds = {str(array.dtype) for array in arrays}
    fit = len(kinds) == 1 and kinds <= set(_KINDS) and all(array.size for array in arrays)
    return fit and works()


def call(name: str, twin: Callable[..., Any], *arguments: Array) -> list[Array]:
    """The results of a pass; ask `serves` before.

    `twin` is the same function in JAX, returning a list: what derivatives of a pass are taken from,
    of any order and in either mode. Machine code runs where nothing is differentiated.
    """
    from directgp.native.library import PASSES, target  # (llvmlite is optional)

    dtype = arguments[0].dtype
    shapes = PASSES[name].result_shapes(*(array.shape for array in arguments))
    results = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    run = jax.custom_jvp(
        lambda *arguments: jax.ffi.ffi_call(
            target(name, str(dtype)), results, vmap_method="sequential"
        )(*arguments)
    )
    run.defjvp(lambda primals, tangents: jax.jvp(lambda *own: list(twin(*own)), primals, tangents))
    return list(run(*arguments))


def is_tried_here() -> bool:
    """Whether this is a platform that the machine code was tried on."""
    return (sys.platform, platform.machine()) in _TRIED_ON


def works() -> bool:
    """Whether there is machine code for JAX's default device."""
    return jax.default_backend() == "cpu" and _works()


@cache
def _works() -> bool:
    """Try it once: what cannot be compiled, or computes something else, is not used."""
    if not is_tried_here() or importlib.util.find_spec("llvmlite") is None:
        return False
    # A whole panel of columns and a part of one.
    matrix = np.tril(np.arange(1.0, 10.0, dtype=np.float32).reshape(3, 3))
    mean, cross = np.ones(3, np.float32), np.arange(180.0, dtype=np.float32).reshape(3, 60)
    known = mean @ cross, np.sum(cross * (matrix @ cross), axis=0)
    try:
        with jax.ensure_compile_time_eval(), jax.transfer_guard("allow"):
            given = map(jnp.asarray, (matrix, mean, cross))
            found = call("quadratic", lambda *_: known, *given)
            wrong = "" if np.allclose(found, known, rtol=1e-5) else "other numbers than NumPy's"
    except Exception as problem:
        wrong = f"{type(problem).__name__}: {problem}".splitlines()[0]
    if wrong:
        warnings.warn(
            f"directgp's own machine code does not work here ({wrong}); JAX's is used, "
            "which is slower",
            RuntimeWarning,
            stacklevel=2,
        )
    return not wrong
