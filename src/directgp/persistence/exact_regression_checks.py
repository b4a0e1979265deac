"""Consistency checks of a stored exact regression: shapes and values of its arrays."""

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.fit_exact_regression import objective_of
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.persistence.gp_checks import check_column_names, check_scales, check_target_scale
from directgp.persistence.shape_checks import check_shape
from directgp.persistence.stack_checks import check_gp
from directgp.persistence.stored_numbers import check_numbers

_MOST_GIVEN = 1 << 24
_ROUNDING = 1e-6
_LARGEST_JITTER = 2e-3
"""Twice the largest jitter of a factorisation, relative to the mean of the diagonal."""
_BLOCK = 512


def check_exact_regression(fitted: FittedExactRegression) -> None:
    """Raise a `ValueError` if the parts of an exact regression are inconsistent."""
    columns = check_scales("the scales of the inputs", fitted.inputs)
    check_target_scale(fitted.targets)
    check_column_names(fitted)
    if fitted.num_outputs != 1 or not fitted.seconds >= 0 or not 1 <= fitted.optimism < 1e3:
        raise DirectGPError("an exact regression has one output and an optimism of at least 1")
    objective_of(fitted.loss)
    gp = fitted.gp
    check_gp(gp, columns)
    _check_posterior(fitted)
    rows = len(fitted.row)
    if not 1 <= rows <= _MOST_GIVEN:
        raise DirectGPError(f"an exact regression has 1 to {_MOST_GIVEN:,} rows, got {rows:,}")
    check_shape("the numbers of the rows", fitted.row.shape, rows)
    check_shape("the weights of the rows", check_numbers(fitted.row_weight).shape, rows)
    if fitted.row.dtype.kind != "i" or np.any((fitted.row < 0) | (fitted.row >= len(gp.y))):
        raise DirectGPError("the row numbers are invalid")
    if not np.all(fitted.row_weight > 0):
        raise DirectGPError("the weights of the rows must be positive")
    total = np.bincount(fitted.row, weights=fitted.row_weight, minlength=len(gp.y))
    if not np.allclose(total, gp.weight, rtol=_ROUNDING, atol=0.0):
        raise DirectGPError("the weights of the rows are not those of the model")


def _check_posterior(fitted: FittedExactRegression) -> None:
    """K α = y up to the largest jitter, and leave-one-out predictions are those of α."""
    gp, noise = fitted.gp, np.exp(fitted.gp.log_noise)
    if not np.all(gp.left_out.variance >= noise * (1 - _ROUNDING)):
        raise DirectGPError("leave-one-out variances must be at least the noise")
    error = gp.y - gp.left_out.mean
    expected = gp.alpha * (gp.left_out.variance - noise + noise / gp.weight)
    if not np.allclose(
        error, expected, rtol=_ROUNDING, atol=_ROUNDING * (1 + np.max(np.abs(gp.y)))
    ):
        raise DirectGPError("leave-one-out predictions are not those of the posterior")
    diagonal = gp.kernel.diagonal(gp.X) + noise / gp.weight
    found = gp.alpha * noise / gp.weight
    for first in range(0, len(gp.y), _BLOCK):
        rows = slice(first, first + _BLOCK)
        found[rows] += gp.kernel.matrix(gp.X[rows], gp.X) @ gp.alpha
    jitter = _LARGEST_JITTER * np.mean(diagonal) * np.abs(gp.alpha)
    rounding = _ROUNDING * (1 + np.sum(np.abs(gp.alpha)) * np.max(diagonal))
    if not np.all(np.abs(found - gp.y) <= jitter + rounding):
        raise DirectGPError("the posterior is not that of the rows")
