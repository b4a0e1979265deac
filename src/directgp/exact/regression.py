"""Exact GP regression: one Cholesky factor, hyperparameters by evidence or leave-one-out loss."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from directgp.exact.evidence import negative_log_evidence
from directgp.exact.leave_one_out import LeaveOneOut, RowLoss, leave_one_out, losses
from directgp.exact.matern_linear import MaternLinear
from directgp.exact.regression_objective import (
    Problem,
    cholesky,
    covariance,
    first_theta,
    inverse_of,
    minimised,
)
from directgp.linalg.blas_threads import one_blas_thread

_BLOCK = 256
"""Block size of predictions, constant so that a prediction does not depend on other rows."""


@dataclass(frozen=True)
class ExactRegression:
    """p(y* | y) of a GP with Gaussian noise, for standardised inputs and targets.

    Rows of weight w have noise variance / w, as the mean of w equal rows has.
    """

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]
    kernel: MaternLinear
    log_noise: float
    alpha: Float[np.ndarray, "N"] = field(repr=False)
    """K⁻¹y."""
    left_out: LeaveOneOut = field(repr=False)
    """The prediction of every training row from all others, the noise included."""

    @property
    def log_evidence(self) -> float:
        """Log p(y), without the priors of the hyperparameters."""
        with one_blas_thread():
            return -negative_log_evidence(
                self.y, self.weight, self.factor, self.alpha, self.log_noise
            )

    @cached_property
    def factor(self) -> Float[np.ndarray, "N N"]:
        """The lower Cholesky factor of K, computed on first use and not stored in files."""
        with one_blas_thread():  # faster for some hundred rows
            return cholesky(covariance(self.X, self.weight, self.kernel, self.log_noise))

    def predict(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        """Mean and variance of y at every row, the noise included.

        Args:
            X: rows, standardised as those that the model was fitted to.

        Returns:
            Means and variances [N], independent of the other rows.
        """
        mean, variance = np.empty(len(X)), np.empty(len(X))
        noise = np.exp(self.log_noise)
        for own, block in _blocks(X):
            rows = own.stop - own.start
            cross = self.kernel.matrix(block, self.X)
            half = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
            left = self.kernel.diagonal(block) - np.einsum("nb,nb->b", half, half)
            mean[own] = (cross @ self.alpha)[:rows]
            variance[own] = np.maximum(left, 0.0)[:rows] + noise
        return mean, variance

    def predicted_mean(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """The mean of `predict`, without the cost of the variance.

        Args:
            X: rows, standardised as those that the model was fitted to.
        """
        mean = np.empty(len(X))
        for own, block in _blocks(X):
            mean[own] = (self.kernel.matrix(block, self.X) @ self.alpha)[: own.stop - own.start]
        return mean


def _blocks(X: Float[np.ndarray, "N D"]) -> Iterator[tuple[slice, Float[np.ndarray, "B D"]]]:
    """Slices of rows, and their values in blocks of one size, the last padded with zeros."""
    for first in range(0, len(X), _BLOCK):
        rows = X[first : first + _BLOCK]
        block = np.zeros((_BLOCK, X.shape[1]))
        block[: len(rows)] = rows
        yield slice(first, first + len(rows)), block


def exact_regression(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    *,
    weight: Float[np.ndarray, "N"] | None = None,
    objective: str | RowLoss = "evidence",
    max_steps: int = 40,
    prior_deviation: float | int = 1.5,
    learn_from: int = 600,
    polish_steps: int = 4,
    seed: int = 0,
    start: ExactRegression | None = None,
) -> ExactRegression:
    """Fit an exact GP to standardised rows.

    Hyperparameters minimise −log p(y) ("evidence") or the mean leave-one-out loss ("log", "square",
    "crps", "pinball", or a function), plus Gaussian priors on log length-scales and log noise. With
    more than `learn_from` rows most steps use a sample of that many, and a few use all.

    Args:
        X: standardised inputs.
        y: standardised targets.
        weight: the weight of each row; a row of weight 2 counts as two.
        objective: "evidence", or the leave-one-out loss to minimise.
        max_steps: L-BFGS steps.
        prior_deviation: deviation of the prior on log length-scales around √(2D).
        learn_from: number of rows in most steps.
        polish_steps: steps on all rows, if there are more.
        seed: seed of the sample.
        start: a GP of the same inputs with the initial hyperparameters.

    >>> X = np.linspace(-1.7, 1.7, 30)[:, None]
    >>> fitted = exact_regression(X, np.sin(2 * X[:, 0]))
    >>> mean, variance = fitted.predict(np.array([[0.5]]))
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.02)
    True
    """
    weight = np.ones(len(y)) if weight is None else weight
    loss = row_loss(objective)
    theta = first_theta(X.shape[1])
    if start is not None:
        theta = np.append(start.kernel.log_parameters, start.log_noise)
    problem = Problem(X, y, weight, loss, prior_deviation)
    if len(y) > learn_from:
        some = np.random.default_rng(seed).choice(len(y), learn_from, replace=False)
        sample = Problem(X[some], y[some], weight[some], loss, prior_deviation)
        theta = minimised(sample, theta, max_steps)
        theta = minimised(problem, theta, polish_steps) if polish_steps else theta
    else:
        theta = minimised(problem, theta, max_steps)
    return conditioned(X, y, weight, MaternLinear(theta[:-1]), float(theta[-1]))


def row_loss(objective: str | RowLoss) -> RowLoss | None:
    """None for the evidence."""
    if isinstance(objective, str):
        return None if objective == "evidence" else losses.lookup(objective)
    return objective


def conditioned(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    kernel: MaternLinear,
    log_noise: float,
) -> ExactRegression:
    """The GP with these hyperparameters, given the rows.

    Args:
        X: inputs.
        y: standardised targets.
        weight: of the rows.
        kernel: with its hyperparameters.
        log_noise: the log of the noise variance.
    """
    inverse = inverse_of(cholesky(covariance(X, weight, kernel, log_noise)))
    alpha = inverse @ y
    mean, variance = leave_one_out(y, inverse, alpha)
    # The variance of one observation, as in `predict`; K has that of a mean of `weight` ones.
    noise = float(np.exp(log_noise))
    left_out = LeaveOneOut(mean, np.maximum(variance - noise / weight, 0.0) + noise)
    return ExactRegression(X, y, weight, kernel, log_noise, alpha, left_out)
