"""Leave-one-out predictions of an exact GP in closed form, and losses of them with derivatives.

With α = K⁻¹y and s = diag K⁻¹, the prediction of y_i from all other rows is N(y_i − α_i/s_i, 1/s_i)
(Rasmussen & Williams 2006, section 5.4.2). A loss of these predictions is a direct loss in which
only hyperparameters are learned. Its gradient takes one more matrix product,

    K̄ = −½(K⁻¹ᾱ αᵀ + α (K⁻¹ᾱ)ᵀ) − K⁻¹ diag(s̄) K⁻¹,

for any loss ℓ(α, s) with derivatives ᾱ and s̄.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from directgp.registry import Registry

_LOG_2PI = float(np.log(2.0 * np.pi))

Rows = Float[np.ndarray, "N"]
losses = Registry("leave-one-out loss")
"""name → function (error, deviation) → (loss, its derivative in each), all [N]."""

RowLoss = Callable[[Rows, Rows], tuple[Rows, Rows, Rows]]


@losses.register("log")
def log_loss(error: Rows, deviation: Rows) -> tuple[Rows, Rows, Rows]:
    """−log N(error; 0, deviation²).

    Args:
        error: y minus the mean.
        deviation: the predicted standard deviation.

    Returns:
        The loss and its derivatives in both arguments, as for all losses below.
    """
    z = error / deviation
    return 0.5 * (z**2 + _LOG_2PI) + np.log(deviation), z / deviation, (1.0 - z**2) / deviation


@losses.register("square")
def square_loss(error: Rows, deviation: Rows) -> tuple[Rows, Rows, Rows]:
    """½ error², independent of the deviation."""
    return 0.5 * error**2, error, np.zeros_like(error)


@losses.register("crps")
def crps_loss(error: Rows, deviation: Rows) -> tuple[Rows, Rows, Rows]:
    """The CRPS of N(0, deviation²) at the error (Gneiting et al. 2005, eq. 5)."""
    z = error / deviation
    density, probability = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi), ndtr(z)
    by_deviation = 2.0 * density - 1.0 / np.sqrt(np.pi)
    value = deviation * (z * (2.0 * probability - 1.0) + by_deviation)
    return value, 2.0 * probability - 1.0, by_deviation


def pinball_loss(levels: Sequence[float]) -> RowLoss:
    """The mean pinball loss of the Gaussian quantiles at these levels."""
    z = ndtri(np.asarray(levels, np.float64))[:, None]
    level = np.asarray(levels, np.float64)[:, None]

    def loss(error: Rows, deviation: Rows) -> tuple[Rows, Rows, Rows]:
        beyond = error - z * deviation
        slope = np.where(beyond > 0, level, level - 1.0)
        return (
            np.mean(slope * beyond, axis=0),
            np.mean(slope, axis=0),
            np.mean(-z * slope, axis=0),
        )

    return loss


@losses.register("pinball")
def usual_pinball_loss(error: Rows, deviation: Rows) -> tuple[Rows, Rows, Rows]:
    """The mean pinball loss at 5, 25, 50, 75 and 95 %."""
    return pinball_loss((0.05, 0.25, 0.5, 0.75, 0.95))(error, deviation)


class LeaveOneOut(NamedTuple):
    """The prediction of every training row from all others."""

    mean: Float[np.ndarray, "N"]
    variance: Float[np.ndarray, "N"]


def leave_one_out(y: Rows, inverse: Float[np.ndarray, "N N"], alpha: Rows) -> LeaveOneOut:
    """Means and variances, the noise included.

    Args:
        y: the targets.
        inverse: K⁻¹, K with the noise on its diagonal.
        alpha: K⁻¹y.
    """
    precision = np.diagonal(inverse)
    return LeaveOneOut(y - alpha / precision, 1.0 / precision)


def total_and_cotangent(
    loss: RowLoss, weight: Rows, inverse: Float[np.ndarray, "N N"], alpha: Rows
) -> tuple[float, Float[np.ndarray, "N N"]]:
    """Σ weight_i loss_i of the leave-one-out predictions, and its derivative K̄ in K (symmetric).

    Args:
        loss: of an error and its deviation, with both derivatives.
        weight: of the rows.
        inverse: K⁻¹, noise included.
        alpha: K⁻¹ y.
    """
    precision = np.diagonal(inverse)
    error, deviation = alpha / precision, 1.0 / np.sqrt(precision)
    value, by_error, by_deviation = loss(error, deviation)
    by_error, by_deviation = weight * by_error, weight * by_deviation
    by_alpha = by_error / precision
    by_precision = -by_error * error / precision - 0.5 * by_deviation * deviation / precision
    moved = inverse @ by_alpha
    outer = np.outer(moved, alpha)
    return float(weight @ value), -0.5 * (outer + outer.T) - (inverse * by_precision) @ inverse
