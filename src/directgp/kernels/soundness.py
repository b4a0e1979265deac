"""Checks of user-defined kernels: positive definite and differentiable.

Without them training would fail at some step, without saying why.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.kernels.base import Kernel
from directgp.parameters import float64, on_device

_SPREADS = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01)
"""Spreads of the rows at which the kernel is evaluated: close rows reveal most failures."""
_ROWS = 30
_ROUNDING = 1e-7
"""Tolerance of negative eigenvalues, relative to the largest eigenvalue."""


@float64
def check_sound(kernel: Kernel, name: str, count: int, advice: str) -> None:
    """Refuse a kernel that is not positive definite, or whose gradient is not finite.

    Args:
        kernel: the kernel to check.
        name: of the kernel, for the message.
        count: the number of input columns.
        advice: the end of the message.
    """
    rows = np.random.default_rng(0).normal(size=(_ROWS, count)) / np.sqrt(count)
    for spread in _SPREADS:
        X = on_device(spread * rows)
        if not _is_positive(np.asarray(kernel.matrix(X, X))):
            raise DirectGPError(
                f"the kernel {name} is not positive definite at inputs with {count} "
                f"column{'s' if count > 1 else ''}, and no GP has such a covariance; {advice}"
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
