"""The objective of an exact GP's hyperparameters, with its gradient, and its factorisations."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.exact.evidence import Evidence
from directgp.exact.leave_one_out import RowLoss, total_and_cotangent
from directgp.exact.matern_linear import MaternLinear
from directgp.linalg.lapack import potrf, potri
from directgp.linalg.optimise import minimize

_LEAST_NOISE, _MOST_NOISE, _FIRST_NOISE = -16.0, 2.5, float(np.log(0.1))
"""Log of the noise variance of standardised targets: its bounds and its initial value."""
_NOISE_DEVIATION = 2.5
"""Standard deviation of a Gaussian prior on the log noise, which has an effect for few rows."""
_JITTER = 1e-9
_FAILED = 1e10


def first_theta(num_columns: int) -> Float[np.ndarray, "P"]:
    """Initial log parameters of the kernel and log noise."""
    return np.append(MaternLinear.start(num_columns).log_parameters, _FIRST_NOISE)


def covariance(
    X: Float[np.ndarray, "N D"],
    weight: Float[np.ndarray, "N"],
    kernel: MaternLinear,
    log_noise: float,
) -> Float[np.ndarray, "N N"]:
    """K with the noise on its diagonal.

    Args:
        X: inputs.
        weight: the weight of each row.
        kernel: with its hyperparameters.
        log_noise: the log of the noise variance.
    """
    matrix = kernel.matrix(X, X)
    matrix[np.diag_indices_from(matrix)] += np.exp(log_noise) / weight
    return matrix


@dataclass(frozen=True)
class Problem:
    """The objective as a function of the log parameters, the log noise last."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]
    loss: RowLoss | None
    prior_deviation: float | int
    prior_weight: float | int = 1.0
    """Weight of the log priors relative to the loss."""

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, total = MaternLinear(theta[:-1]), float(self.weight.sum())
        if self.loss is None:
            found = self._by_evidence(kernel, theta[-1])
        else:
            found = self._by_left_out(self.loss, kernel, theta[-1])
        if found is None:
            return _FAILED, np.zeros_like(theta)
        value, gradient = found
        columns = kernel.num_columns
        centre = MaternLinear.start(columns).log_parameters[:columns]
        nat, off = self.prior_weight, (theta[:columns] - centre) / self.prior_deviation
        gradient[:columns] += nat * off / self.prior_deviation
        value += 0.5 * nat * float(off @ off)
        off_noise = (theta[-1] - _FIRST_NOISE) / _NOISE_DEVIATION
        gradient[-1] += nat * off_noise / _NOISE_DEVIATION
        value += 0.5 * nat * float(off_noise**2)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return _FAILED, np.zeros_like(theta)
        return float(value) / total, gradient / total

    @cached_property
    def _evidence(self) -> Evidence:
        return Evidence(self.X, self.y, self.weight)

    def _by_evidence(
        self, kernel: MaternLinear, log_noise: float
    ) -> tuple[float, np.ndarray] | None:
        """Value and gradient of −log p(y), without priors."""
        found = self._evidence(kernel, log_noise, _JITTER)
        return None if found is None else (found.value, np.append(found.by_kernel, found.by_noise))

    def _by_left_out(
        self, loss: RowLoss, kernel: MaternLinear, log_noise: float
    ) -> tuple[float, np.ndarray] | None:
        """Value and gradient of the sum of leave-one-out losses, without priors."""
        own = kernel.with_gradient(self.X)
        noise = np.exp(log_noise) / self.weight
        matrix = own.matrix
        matrix[np.diag_indices_from(matrix)] += noise + _JITTER
        factor, info = potrf(matrix.T, lower=1, overwrite_a=1)  # its own transpose
        if info:
            return None
        inverse = inverse_of(factor)
        value, cotangent = total_and_cotangent(loss, self.weight, inverse, inverse @ self.y)
        by_noise = float(noise @ np.diagonal(cotangent))
        return value, np.append(own.pull_back(cotangent), by_noise)


def minimised(problem: Problem, theta: np.ndarray, steps: int) -> np.ndarray:
    """Minimise the objective by L-BFGS.

    Args:
        problem: the objective.
        theta: the initial log parameters.
        steps: L-BFGS steps.
    """
    bounds = [*MaternLinear(theta[:-1]).bounds(), (_LEAST_NOISE, _MOST_NOISE)]
    options: dict[str, Any] = {"maxiter": steps, "maxfun": 2 * steps}
    found = minimize(problem, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def cholesky(matrix: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """The lower Cholesky factor, with jitter increased until it exists."""
    size = float(np.mean(np.diagonal(matrix)))
    for jitter in (_JITTER, 1e-7, 1e-5, 1e-3):
        raised = matrix.copy()
        raised[np.diag_indices_from(raised)] += jitter * size
        factor, info = potrf(raised.T, lower=1, overwrite_a=1)
        if not info and np.all(np.isfinite(np.diagonal(factor))):
            return factor
    raise DirectGPError(
        "the kernel matrix of these rows cannot be factorised; check X for values that are not "
        "finite, or fit a sparse model"
    )


def inverse_of(factor: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """K⁻¹ of K = factor · factorᵀ, from its lower Cholesky factor."""
    lower, _ = potri(factor, lower=1)
    whole = lower + lower.T
    whole[np.diag_indices_from(whole)] = np.diagonal(lower)
    return whole
