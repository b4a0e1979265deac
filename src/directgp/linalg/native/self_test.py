"""Self-test of machine code: a small computation compared with JAX before it is used.

It goes the whole way: XLA's header is read, a pass is compiled by LLVM, registered, called by XLA
with several arguments, results and sizes, shared among XLA's threads, and compared with NumPy.
"""

import importlib.util
import platform
import sys

import jax
import jax.numpy as jnp
import numpy as np

_SUPPORTED = (("linux", "x86_64"),)
_ROWS, _COLUMNS, _INPUTS = 9, 1003, 2
"""Enough work for several threads (`handler`), and rows and columns left over by every tile."""


def is_supported() -> bool:
    """Whether this is a platform that machine code was tried on."""
    return (sys.platform, platform.machine()) in _SUPPORTED


def has_llvmlite() -> bool:
    """Whether llvmlite is installed, of whatever version."""
    return importlib.util.find_spec("llvmlite") is not None


def failure() -> str:
    """What goes wrong when machine code computes the Matérn-5/2 kernel; "" if nothing does."""
    centres = np.linspace(-1.0, 2.0, _ROWS * _INPUTS).reshape(_ROWS, _INPUTS)
    columns = np.linspace(1.5, -1.0, _INPUTS * _COLUMNS).reshape(_INPUTS, _COLUMNS)
    squared = np.sum((centres[:, :, None] - columns) ** 2, axis=1)
    root = np.sqrt(5.0 * squared)
    decay = np.exp(-root)
    known = (1.0 + root + root**2 / 3.0) * decay, -5.0 / 6.0 * (1.0 + root) * decay
    try:
        from directgp.linalg.native.library import target  # (llvmlite is optional)

        # Whatever the caller traces or has set, this is computed here and now, as it stands.
        with (
            jax.ensure_compile_time_eval(),
            jax.transfer_guard("allow"),
            jax.enable_x64(True),
            jax.disable_jit(False),
            jax.debug_nans(False),
        ):
            shapes = [jax.ShapeDtypeStruct((_ROWS, _COLUMNS), jnp.float64)] * 2
            call = jax.ffi.ffi_call(target("kernel_matern52", "float64"), shapes)
            found = [np.asarray(each) for each in call(*map(jax.device_put, (centres, columns)))]
    except Exception as problem:
        return described(problem)
    right = all(map(lambda *pair: np.allclose(*pair, rtol=1e-9, atol=1e-12), found, known))
    return "" if right else "its numbers differ from NumPy's"


def described(problem: Exception) -> str:
    """An error in one line."""
    return f"{type(problem).__name__}: {problem}".splitlines()[0]
