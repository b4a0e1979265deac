"""Checks of user-defined kernels: positive definite and differentiable.

Training would find out too, by steps that fail, but not why.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.kernels.base import Kernel
from directgp.parameters import float64, on_device

_SPREADS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""How far apart rows are: close ones show most, unless a kernel's own scale is smaller still."""
_ROWS = 30
_ROUNDING = 1e-7
"""Times the largest eigenvalue: below minus this an eigenvalue is negative."""


@float64
def check_sound(kernel: Kernel, name: str, count: int, advice: str) -> None:
    """Refuse a kernel that is none at some rows of `count` columns, or that cannot be learned.

    Args:
        kernel: to be checked.
        name: for the message.
        count: of input columns.
        advice: the end of the message.
    """
    rows = np.random.default_rng(0).normal(size=(_ROWS, count)) / np.sqrt(count)
    for spread in _SPREADS:
        X = on_device(spread * rows)
        if not _is_positive(np.asarray(kernel.matrix(X, X))):
            raise DirectGPError(
                f"the kernel {name} is not positive definite at inputs with {count} "
                f"column{'s' if count > 1 else ''}, so that no GP has it; {advice}"
            )
    if not _is_smooth(kernel, on_device(rows[0])):
        raise DirectGPError(
            f"derivatives of the kernel {name} are not finite where rows coincide, so that it "
            f"cannot be learned; {advice}"
        )


def _is_positive(matrix: Float[np.ndarray, "N N"]) -> bool:
    if not np.isfinite(matrix).all():
        return False
    values = np.linalg.eigvalsh(matrix)
    return bool(values[0] >= -_ROUNDING * values[-1])


def _is_smooth(kernel: Kernel, x: Float[Array, "D"]) -> bool:
    slopes = eqx.filter_grad(lambda given: given[0].evaluate(given[1], x))((kernel, x))
    return all(np.isfinite(np.asarray(slope)).all() for slope in jax.tree.leaves(slopes))
