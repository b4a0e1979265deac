"""Validation of mixture parameters, and sampling of components."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from directgp.errors import DirectGPError, WrongType


def read_mixture(
    means: Any, variances: Any, log_weights: Any
) -> tuple[Float[np.ndarray, "S N"], Float[np.ndarray, "S N"], Float[np.ndarray, "S _"]]:
    """Validate the parameters of a mixture.

    Args:
        means: of the components [S N].
        variances: of the components [S N].
        log_weights: [S] or [S N].

    Returns:
        Read-only means and variances, and normalised log-weights [S 1] or [S N].
    """
    means = _read_only(means, "means")
    variances = _read_only(variances, "variances")
    weights = _read_only(log_weights, "log_weights")
    shape = means.shape
    if means.ndim != 2 or shape[0] == 0:
        raise DirectGPError(
            f"means must be [S N] with S ≥ 1 components, got shape {shape}; "
            "use means[None] for one component"
        )
    if variances.shape != shape:
        raise DirectGPError(
            f"variances must have the shape of means {shape}, got {variances.shape}; "
            "use np.broadcast_to for a shared variance"
        )
    if weights.shape not in ((shape[0],), shape):
        raise DirectGPError(
            f"log_weights must be {(shape[0],)} or {shape}, got {weights.shape}; "
            "give one for each component, or for each component and row"
        )
    if not np.all(np.isfinite(means)):
        raise DirectGPError(
            f"means must be finite, got {_first_bad(means)}; check that training converged"
        )
    valid = np.isfinite(variances) & (variances >= 0)
    if not np.all(valid):
        raise DirectGPError(
            "variances must be finite and ≥ 0, got "
            f"{variances[~valid][0]}; clip them or raise the jitter"
        )
    columns = weights if weights.ndim == 2 else weights[:, None]
    # A NaN or infinite weight is refused here too, because its total is NaN or infinite.
    total = np.asarray(logsumexp(columns, axis=0, keepdims=True))
    if not np.all(np.abs(total) < 1e-4):
        raise DirectGPError(
            f"weights must sum to 1 at each row, got a sum of {np.exp(_worst(total)):.6g}; "
            "subtract logsumexp(log_weights, axis=0)"
        )
    # Normalised, because the total may differ from 1 by float32 rounding.
    return means, variances, columns - total


def draw_components(
    weights: Float[np.ndarray, "S _"], shape: tuple[int, int], generator: np.random.Generator
) -> Int[np.ndarray, "num_samples N"]:
    """A random component for each draw and row, by weight.

    Args:
        weights: of the components.
        shape: draws and rows.
        generator: of random numbers.
    """
    uniform = generator.random(shape)
    cumulative = np.cumsum(weights, axis=0)
    cumulative = cumulative / cumulative[-1]
    component = np.zeros(shape, dtype=np.intp)
    for threshold in cumulative[:-1]:
        component += threshold <= uniform
    return component


def _read_only(values: Any, name: str) -> Float[np.ndarray, "..."]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongType(f"{name} must be numbers, got {type(values).__name__}") from None
    array.setflags(write=False)
    return array


def _first_bad(values: np.ndarray) -> float:
    return values[~np.isfinite(values)][0]


def _worst(log_total: np.ndarray) -> float:
    return log_total.flat[np.argmax(np.abs(log_total))]
