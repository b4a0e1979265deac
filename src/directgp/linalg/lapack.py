"""Cholesky factors and inverses by LAPACK without Python's global lock.

SciPy's functions of the same names hold the global lock while they compute, so boosted trees that
are fitted in another thread would wait. Here LAPACK is called through the pointers that SciPy
exports for compiled code (`scipy.linalg.cython_lapack`), without the lock. Results are bitwise the
same. If the pointers have other signatures than expected, SciPy's functions are used.
"""

import ctypes
import importlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs

_ARGUMENTS = {
    "dpotrf": ("char", "int", "double", "int", "int"),
    "dpotri": ("char", "int", "double", "int", "int"),
    "dpotrs": ("char", "int", "int", "double", "int", "double", "int", "int"),
}
"""The types that the arguments point to."""

Matrix = Float[np.ndarray, "N N"]


def potrf(a: Matrix, lower: int, overwrite_a: int = 0, clean: int = 1) -> tuple[Matrix, int]:
    """The Cholesky factor of a, as by SciPy's `potrf`.

    Args:
        a: symmetric; one triangle is read.
        lower: whether it is the lower one; the factor is the same triangle.
        overwrite_a: whether the factor may overwrite a Fortran-ordered a.
        clean: whether the other triangle is set to zero.

    Returns:
        The factor and 0; or, if a is not positive definite, the order of the first minor that is
        not positive as second element.

    >>> factor, info = potrf(np.array([[4.0, 2.0], [2.0, 10.0]]), lower=1)
    >>> factor.tolist(), info
    ([[2.0, 0.0], [1.0, 3.0]], 0)
    """
    call = _without_lock("dpotrf")
    if call is None:
        return get_lapack_funcs(("potrf",), dtype=np.float64)[0](
            a, lower=lower, overwrite_a=overwrite_a, clean=clean
        )
    factor = _own(a, overwrite_a)
    info = call(_triangle(lower), len(factor), factor, len(factor))
    if clean:
        for column in range(len(factor)):
            other = slice(0, column) if lower else slice(column + 1, None)
            factor[other, column] = 0.0
    return factor, info


def potri(c: Matrix, lower: int, overwrite_c: int = 0) -> tuple[Matrix, int]:
    """One triangle of K⁻¹ from the factor of K, as by SciPy's `potri`.

    Args:
        c: the factor.
        lower: whether it is the lower one.
        overwrite_c: whether the inverse may overwrite a Fortran-ordered factor.

    Returns:
        The triangle (the other one is that of `c`), and 0 unless K is singular.
    """
    call = _without_lock("dpotri")
    if call is None:
        return get_lapack_funcs(("potri",), dtype=np.float64)[0](
            c, lower=lower, overwrite_c=overwrite_c
        )
    inverse = _own(c, overwrite_c)
    return inverse, call(_triangle(lower), len(inverse), inverse, len(inverse))


def potrs(c: Matrix, b: Float[np.ndarray, "N"], lower: int) -> tuple[Float[np.ndarray, "N"], int]:
    """K⁻¹b from the factor of K, as by SciPy's `potrs`.

    Args:
        c: the factor.
        b: a vector.
        lower: whether the factor is the lower one.
    """
    call = _without_lock("dpotrs")
    if call is None:
        return get_lapack_funcs(("potrs",), dtype=np.float64)[0](c, b, lower=lower)
    factor, x = _own(c, overwrite=1), np.array(b, np.float64)
    return x, call(_triangle(lower), len(x), 1, factor, len(x), x, len(x))


def _own(matrix: Matrix, overwrite: int) -> Matrix:
    """The matrix itself if it may be overwritten, else a copy in Fortran order."""
    if overwrite and matrix.flags.f_contiguous and matrix.dtype == np.float64:
        return matrix
    return np.array(matrix, np.float64, order="F")


def _triangle(lower: int) -> bytes:
    return b"L" if lower else b"U"


@cache
def _without_lock(name: str) -> Callable[..., int] | None:
    """A function of LAPACK that returns `info`; None if its signature is not the expected one."""
    try:
        capsule = importlib.import_module("scipy.linalg.cython_lapack").__pyx_capi__[name]
        name_of = ctypes.pythonapi.PyCapsule_GetName
        name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
        signature = name_of(capsule)
        kinds = _ARGUMENTS[name]
        if _kinds(signature.decode()) != kinds:
            return None
        pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
        pointer_of.restype = ctypes.c_void_p
        pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
        function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(
            pointer_of(capsule, signature)
        )
    except (ImportError, AttributeError, KeyError, TypeError, ValueError):
        return None

    def call(*given: Any) -> int:
        info = ctypes.c_int(0)
        kept = [_pointed_at(one) for one in given]  # as long as LAPACK reads it
        function(*(ctypes.cast(one, ctypes.c_void_p) for one in kept), ctypes.addressof(info))
        return info.value

    return call


def _pointed_at(value: Any) -> Any:
    """A pointer to a character, an integer or the first element of an array."""
    match value:
        case bytes():
            return ctypes.c_char_p(value)
        case int():
            return ctypes.pointer(ctypes.c_int(value))
        case _:
            return value.ctypes


def _kinds(signature: str) -> tuple[str, ...]:
    """The types that the arguments of a Cython signature point to.

    >>> _kinds("void (char *, int *, __pyx_t_5scipy_6linalg_13cython_lapack_d *)")
    ('char', 'int', 'double')
    """
    inside = signature.partition("(")[2].rstrip(")")
    names = [part.strip().rstrip("*").strip() for part in inside.split(",")]
    return tuple("double" if name.endswith("cython_lapack_d") else name for name in names)
