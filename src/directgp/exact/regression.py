"""Exact GP regression: one Cholesky factor, hyperparameters by evidence or leave-one-out loss."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import get_lapack_funcs, solve_triangular
from scipy.optimize import minimize

from directgp.errors import DirectGPError
from directgp.exact.leave_one_out import (
    LeaveOneOut,
    RowLoss,
    leave_one_out,
    losses,
    total_and_cotangent,
)
from directgp.exact.matern_linear import MaternLinear

_LOG_2PI = float(np.log(2.0 * np.pi))
_LEAST_NOISE, _MOST_NOISE, _FIRST_NOISE = -16.0, 2.5, float(np.log(0.1))
"""Log of the noise variance of standardised targets: its bounds, and where learning starts."""
_NOISE_DEVIATION = 2.5
"""Of a Gaussian prior on the log noise: two or three rows are no evidence that there is none."""
_JITTER = 1e-9
_POTRF, _POTRI = get_lapack_funcs(("potrf", "potri"), dtype=np.float64)
_BLOCK = 256
"""Rows predicted at once: always as many, so that a prediction does not depend on the others."""
_FAILED = 1e10
_SHARE_FOR_CHECK, _ROWS_FOR_CHECK = 0.7, 20
_OPTIMISM_DEVIATION = 0.2
"""Of a Gaussian prior on the logarithm of the optimism."""


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

    @cached_property
    def factor(self) -> Float[np.ndarray, "N N"]:
        """The lower Cholesky factor of K, made when first needed; files do not hold it."""
        return _cholesky(_covariance(self.X, self.weight, self.kernel, self.log_noise))

    def predict(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        """Mean and variance of y at every row, the noise included.

        Args:
            X: rows, standardised as those that the model was fitted to.

        Returns:
            Means and variances [N]; no row has any influence on another.
        """
        mean, variance = np.empty(len(X)), np.empty(len(X))
        noise = np.exp(self.log_noise)
        for first in range(0, len(X), _BLOCK):
            rows = X[first : first + _BLOCK]
            block = np.zeros((_BLOCK, X.shape[1]))
            block[: len(rows)] = rows
            cross = self.kernel.matrix(block, self.X)
            half = solve_triangular(self.factor, cross.T, lower=True, check_finite=False)
            left = self.kernel.diagonal(block) - np.einsum("nb,nb->b", half, half)
            own = slice(first, first + len(rows))
            mean[own] = (cross @ self.alpha)[: len(rows)]
            variance[own] = np.maximum(left, 0.0)[: len(rows)] + noise
        return mean, variance


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
) -> ExactRegression:
    """Fit an exact GP to standardised rows.

    Hyperparameters minimise −log p(y) ("evidence") or the mean leave-one-out loss ("log", "square",
    "crps", "pinball", or a function), plus Gaussian priors on log length-scales and log noise. With
    more than `learn_from` rows most steps see a sample of that many, and a few see all.

    Args:
        X: standardised inputs.
        y: standardised targets.
        weight: of the rows; a row of weight 2 counts as two.
        objective: "evidence", or the leave-one-out loss to minimise.
        max_steps: of L-BFGS.
        prior_deviation: of the prior on log length-scales around √(2D).
        learn_from: rows that most steps see.
        polish_steps: steps that see all rows, if there are more.
        seed: of the sample.

    >>> X = np.linspace(-1.7, 1.7, 30)[:, None]
    >>> fitted = exact_regression(X, np.sin(2 * X[:, 0]))
    >>> mean, variance = fitted.predict(np.array([[0.5]]))
    >>> bool(abs(mean[0] - np.sin(1.0)) < 0.02)
    True
    """
    weight = np.ones(len(y)) if weight is None else weight
    loss = _row_loss(objective)
    start = MaternLinear.start(X.shape[1])
    theta = np.append(start.log_parameters, _FIRST_NOISE)
    problem = _Problem(X, y, weight, loss, prior_deviation)
    if len(y) > learn_from:
        some = np.random.default_rng(seed).choice(len(y), learn_from, replace=False)
        sample = _Problem(X[some], y[some], weight[some], loss, prior_deviation)
        theta = _minimised(sample, theta, max_steps)
        theta = _minimised(problem, theta, polish_steps) if polish_steps else theta
    else:
        theta = _minimised(problem, theta, max_steps)
    return conditioned(X, y, weight, MaternLinear(theta[:-1]), float(theta[-1]))


class CheckedRegression(NamedTuple):
    """An exact GP, and how far its leave-one-out errors are too good."""

    gp: ExactRegression
    optimism: float
    """Errors of rows that hyperparameters were not learned from, as a multiple of the others'."""


def checked_regression(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    *,
    weight: Float[np.ndarray, "N"] | None = None,
    max_steps: int = 40,
    prior_deviation: float | int = 1.5,
    learn_from: int = 600,
    polish_steps: int = 4,
    seed: int = 0,
) -> CheckedRegression:
    """`exact_regression` by evidence, and how much its hyperparameters flatter the rows they saw.

    Leave-one-out predictions leave the row out of the posterior, but the hyperparameters have seen
    it; with many columns and few rows its error is then too small. So hyperparameters are learned
    from some of the rows first. Standardised leave-one-out errors of the other rows, divided by
    those of the rows that were seen, give the optimism, shrunk towards 1 because rows are few.
    Learning then goes on from there with all rows.

    Args:
        X: standardised inputs.
        y: standardised targets.
        weight: of the rows; a row of weight 2 counts as two.
        max_steps: of L-BFGS, for some of the rows.
        prior_deviation: of the prior on log length-scales around √(2D).
        learn_from: rows that the first steps see, and at most 70 % of all.
        polish_steps: steps that see all rows, where the first saw `learn_from`; else a third of
            `max_steps`.
        seed: of the sample.

    Returns:
        The GP of all rows and its optimism, at least 1.
    """
    weight = np.ones(len(y)) if weight is None else weight
    theta = np.append(MaternLinear.start(X.shape[1]).log_parameters, _FIRST_NOISE)
    seen = np.zeros(len(y), bool)
    number = min(learn_from, int(_SHARE_FOR_CHECK * len(y)))
    seen[np.random.default_rng(seed).permutation(len(y))[:number]] = True
    sample = _Problem(X[seen], y[seen], weight[seen], None, prior_deviation)
    theta = _minimised(sample, theta, max_steps)
    optimism = 1.0
    if min(seen.sum(), (~seen).sum()) >= _ROWS_FOR_CHECK:
        first = conditioned(X, y, weight, MaternLinear(theta[:-1]), float(theta[-1])).left_out
        sizes = np.abs(y - first.mean) / np.sqrt(first.variance)
        optimism = _optimism(sizes[seen], sizes[~seen])
    steps = polish_steps if number == learn_from else max_steps // 3
    theta = _minimised(_Problem(X, y, weight, None, prior_deviation), theta, steps)
    gp = conditioned(X, y, weight, MaternLinear(theta[:-1]), float(theta[-1]))
    return CheckedRegression(gp, optimism)


def _optimism(seen: Float[np.ndarray, "N"], unseen: Float[np.ndarray, "M"]) -> float:
    """The ratio of mean absolute errors, shrunk in the logarithm by its standard error, ≥ 1."""
    means = np.mean(seen), np.mean(unseen)
    if not min(means) > 0:
        return 1.0
    error = np.var(seen) / (len(seen) * means[0] ** 2) + np.var(unseen) / (
        len(unseen) * means[1] ** 2
    )
    prior = _OPTIMISM_DEVIATION**2
    return float(np.exp(max(0.0, np.log(means[1] / means[0])) * prior / (prior + error)))


def _row_loss(objective: str | RowLoss) -> RowLoss | None:
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
    """The GP with these hyperparameters, given the rows."""
    inverse = _inverse(_cholesky(_covariance(X, weight, kernel, log_noise)))
    alpha = inverse @ y
    mean, variance = leave_one_out(y, inverse, alpha)
    # Of one observation, as `predict` has it: K holds the mean of `weight` equal ones.
    noise = float(np.exp(log_noise))
    left_out = LeaveOneOut(mean, np.maximum(variance - noise / weight, 0.0) + noise)
    return ExactRegression(X, y, weight, kernel, log_noise, alpha, left_out)


def _covariance(
    X: Float[np.ndarray, "N D"],
    weight: Float[np.ndarray, "N"],
    kernel: MaternLinear,
    log_noise: float,
) -> Float[np.ndarray, "N N"]:
    """K with the noise on its diagonal."""
    matrix = kernel.matrix(X, X)
    matrix[np.diag_indices_from(matrix)] += np.exp(log_noise) / weight
    return matrix


@dataclass(frozen=True)
class _Problem:
    """The objective as a function of the log parameters, the log noise last."""

    X: Float[np.ndarray, "N D"]
    y: Float[np.ndarray, "N"]
    weight: Float[np.ndarray, "N"]
    loss: RowLoss | None
    prior_deviation: float | int

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, total = MaternLinear(theta[:-1]), float(self.weight.sum())
        own = kernel.with_gradient(self.X)
        noise = np.exp(theta[-1]) / self.weight
        matrix = own.matrix
        matrix[np.diag_indices_from(matrix)] += noise + _JITTER
        factor, info = _POTRF(matrix.T, lower=1, overwrite_a=1)  # its own transpose
        if info:
            return _FAILED, np.zeros_like(theta)
        inverse = _inverse(factor)
        alpha = inverse @ self.y
        extra = 0.0
        if self.loss is None:
            value = 0.5 * self.y @ alpha + np.log(np.diagonal(factor)).sum()
            value += 0.5 * len(self.y) * _LOG_2PI
            cotangent = np.outer(alpha, -alpha)
            cotangent += inverse
            cotangent *= 0.5
            # A row of weight w is w rows, whose mean is all that K sees.
            copies = self.weight - 1.0
            value += 0.5 * float(copies.sum() * (theta[-1] + _LOG_2PI) + np.log(self.weight).sum())
            extra = 0.5 * float(copies.sum())
        else:
            value, cotangent = total_and_cotangent(self.loss, self.weight, inverse, alpha)
        by_noise = float(noise @ np.diagonal(cotangent)) + extra
        gradient = np.append(own.pull_back(cotangent), by_noise)
        columns = kernel.num_columns
        centre = MaternLinear.start(columns).log_parameters[:columns]
        off = (theta[:columns] - centre) / self.prior_deviation
        gradient[:columns] += off / self.prior_deviation
        value += 0.5 * float(off @ off)
        quiet = (theta[-1] - _FIRST_NOISE) / _NOISE_DEVIATION
        gradient[-1] += quiet / _NOISE_DEVIATION
        value += 0.5 * float(quiet**2)
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return _FAILED, np.zeros_like(theta)
        return float(value) / total, gradient / total


def _minimised(problem: _Problem, theta: np.ndarray, steps: int) -> np.ndarray:
    bounds = [*MaternLinear(theta[:-1]).bounds(), (_LEAST_NOISE, _MOST_NOISE)]
    options: dict[str, Any] = {"maxiter": steps, "maxfun": 2 * steps}
    found = minimize(problem, theta, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


def _cholesky(matrix: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """The lower factor, with as much added to the diagonal as it takes."""
    size = float(np.mean(np.diagonal(matrix)))
    for jitter in (_JITTER, 1e-7, 1e-5, 1e-3):
        raised = matrix.copy()
        raised[np.diag_indices_from(raised)] += jitter * size
        factor, info = _POTRF(raised.T, lower=1, overwrite_a=1)
        if not info and np.all(np.isfinite(np.diagonal(factor))):
            return factor
    raise DirectGPError(
        "the kernel matrix of these rows cannot be factorised; check X for values that are not "
        "finite, or fit a sparse model"
    )


def _inverse(factor: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "N N"]:
    """K⁻¹ of K = factor · factorᵀ, both of its triangles filled; zeros are above the factor."""
    lower, _ = _POTRI(factor, lower=1)
    whole = lower + lower.T
    whole[np.diag_indices_from(whole)] = np.diagonal(lower)
    return whole
