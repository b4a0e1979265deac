"""Exact GP classification: Laplace's approximation, one latent function for each class.

Two classes have one latent function, more have one each (one class against the rest), all with the
same kernel. Hyperparameters are learned by Laplace's evidence, and every training row is predicted
from the others by taking its own factor out of the approximation.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular
from scipy.special import log_expit, log_softmax

from directgp.exact.laplace_rows import (
    curvature_factor,
    find_mode,
    left_out_latents,
    negative_log_evidence,
)
from directgp.exact.matern_linear import MaternLinear
from directgp.linalg.optimise import minimize

_BLOCK = 256
"""Block size of predictions, constant so that a prediction does not depend on other rows."""
_FAILED = 1e10
_JITTER = 1e-6
"""Relative jitter on the diagonal of K, so that it stays regular with duplicated rows."""
_FIRST_VARIANCE, _FIRST_SLOPE = np.log(2.0), np.log(4.0)


class Latents(NamedTuple):
    """Means and variances of the latent functions at rows."""

    mean: Float[np.ndarray, "C N"]
    variance: Float[np.ndarray, "C N"]

    def log_probabilities(self) -> Float[np.ndarray, "N K"]:
        """Log class probabilities.

        Two classes: E σ(f) by MacKay's approximation. More: the softmax of the means, because
        normalised one-against-rest averages are far too underconfident.
        """
        if len(self.mean) == 1:
            flat = self.mean[0] / np.sqrt(1.0 + np.pi / 8.0 * self.variance[0])
            return np.column_stack([log_expit(-flat), log_expit(flat)])
        return log_softmax(self.mean.T, axis=1)


@dataclass(frozen=True)
class ExactClassification:
    """P(y* = k | y) of GPs with a logistic likelihood, for standardised inputs."""

    X: Float[np.ndarray, "N D"]
    kernel: MaternLinear
    level: Float[np.ndarray, "C"]
    """The prior mean of each latent function, from the frequency of its class."""
    alpha: Float[np.ndarray, "C N"] = field(repr=False)
    """K⁻¹(f − level) at the mode."""
    curvature: Float[np.ndarray, "C N"] = field(repr=False)
    """W: the second derivative of −log p(y | f) at the mode."""

    @cached_property
    def factors(self) -> Float[np.ndarray, "C N N"]:
        """The lower Cholesky factors of I + W^½ K W^½; files do not hold them."""
        kernel = _covariance(self.kernel, self.X)
        return np.stack([curvature_factor(kernel, own) for own in self.curvature])

    def predict(self, X: Float[np.ndarray, "N D"]) -> Latents:
        """The latent functions at new rows.

        Args:
            X: rows, standardised as those that the model was fitted to.

        Returns:
            Means and variances [C N], independent of the other rows.
        """
        count = len(self.level)
        mean, variance = np.empty((count, len(X))), np.empty((count, len(X)))
        for first in range(0, len(X), _BLOCK):
            rows = X[first : first + _BLOCK]
            block = np.zeros((_BLOCK, X.shape[1]))
            block[: len(rows)] = rows
            cross, prior = self.kernel.matrix(block, self.X), self.kernel.diagonal(block)
            own = slice(first, first + len(rows))
            for number, factor in enumerate(self.factors):
                root = np.sqrt(self.curvature[number])
                half = solve_triangular(
                    factor, root[:, None] * cross.T, lower=True, check_finite=False
                )
                left = np.maximum(prior - np.einsum("nb,nb->b", half, half), 0.0)
                moved = self.level[number] + cross @ self.alpha[number]
                mean[number, own] = moved[: len(rows)]
                variance[number, own] = left[: len(rows)]
        return Latents(mean, variance)


class FittedClasses(NamedTuple):
    """A model and its leave-one-out predictions of the training rows."""

    gp: ExactClassification
    left_out: Latents


def exact_classification(
    X: Float[np.ndarray, "N D"],
    y: Int[np.ndarray, "N"],
    num_classes: int,
    *,
    weight: Float[np.ndarray, "N"] | None = None,
    max_steps: int = 30,
    prior_deviation: float | int = 1.0,
    learn_from: int = 600,
    seed: int = 0,
) -> FittedClasses:
    """Fit a GP classifier to standardised rows by Laplace's approximation.

    The log length-scales have a Gaussian prior around √(2D). With more than `learn_from` rows the
    hyperparameters are learned from a sample of that many.

    Args:
        X: standardised inputs.
        y: the numbers of the classes, 0 … K − 1; some may not occur.
        num_classes: K.
        weight: the weight of each row; a row of weight 2 counts as two.
        max_steps: L-BFGS steps.
        prior_deviation: deviation of the prior on the log length-scales.
        learn_from: number of rows that hyperparameters are learned from.
        seed: seed of the sample.

    >>> X = np.linspace(-1.7, 1.7, 30)[:, None]
    >>> fitted = exact_classification(X, (np.abs(X[:, 0]) < 0.8).astype(int), 2)
    >>> logs = fitted.gp.predict(np.array([[0.0], [1.5]])).log_probabilities()
    >>> np.argmax(logs, axis=1).tolist()
    [1, 0]
    """
    weight = np.ones(len(y)) if weight is None else weight
    sign = _signs(y, num_classes)
    level = _levels(sign, weight)
    start = MaternLinear.start(X.shape[1]).log_parameters.copy()
    start[-2:] = _FIRST_VARIANCE, _FIRST_SLOPE
    some = np.arange(len(y))
    if len(y) > learn_from:
        some = np.random.default_rng(seed).choice(len(y), learn_from, replace=False)
    problem = _Problem(X[some], sign[:, some], weight[some], level, prior_deviation)
    options: dict[str, Any] = {"maxiter": max_steps, "maxfun": 2 * max_steps, "ftol": 1e-5}
    bounds = MaternLinear(start).bounds()
    found = minimize(problem, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return conditioned_classes(X, sign, weight, level, MaternLinear(np.asarray(found.x)))


def conditioned_classes(
    X: Float[np.ndarray, "N D"],
    sign: Float[np.ndarray, "C N"],
    weight: Float[np.ndarray, "N"],
    level: Float[np.ndarray, "C"],
    kernel: MaternLinear,
) -> FittedClasses:
    """The GPs with these hyperparameters, given the rows.

    Args:
        X: inputs of the rows.
        sign: ±1 for every latent function and row.
        weight: of the rows.
        level: the prior mean of each latent function.
        kernel: of all latent functions.
    """
    matrix = _covariance(kernel, X)
    modes = [find_mode(matrix, *own) for own in _each(sign, weight, level)]
    left = [left_out_latents(matrix, mode) for mode in modes]
    gp = ExactClassification(
        X,
        kernel,
        level,
        np.stack([mode.alpha for mode in modes]),
        np.stack([mode.curvature for mode in modes]),
    )
    means, variances = zip(*left, strict=True)
    return FittedClasses(gp, Latents(np.stack(means), np.stack(variances)))


def _signs(y: Int[np.ndarray, "N"], num_classes: int) -> Float[np.ndarray, "C N"]:
    """±1 for every latent function: class 1 of two, else each class against the rest."""
    own = np.array([1]) if num_classes == 2 else np.arange(num_classes)
    return np.where(y == own[:, None], 1.0, -1.0)


def _levels(sign: Float[np.ndarray, "C N"], weight: Float[np.ndarray, "N"]) -> np.ndarray:
    """Log odds of every latent function's class, with half a row of each side added."""
    inside = (sign > 0) @ weight
    return np.log(inside + 0.5) - np.log(weight.sum() - inside + 0.5)


def _each(sign: np.ndarray, weight: np.ndarray, level: np.ndarray) -> list[tuple[Any, ...]]:
    return [(own, weight, float(mean)) for own, mean in zip(sign, level, strict=True)]


def _covariance(kernel: MaternLinear, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N N"]:
    """K with jitter on its diagonal."""
    matrix = kernel.matrix(X, X)
    matrix[np.diag_indices_from(matrix)] *= 1.0 + _JITTER
    return matrix


@dataclass
class _Problem:
    """The objective as a function of the log parameters; modes warm-start the next evaluation."""

    X: Float[np.ndarray, "N D"]
    sign: Float[np.ndarray, "C N"]
    weight: Float[np.ndarray, "N"]
    level: Float[np.ndarray, "C"]
    prior_deviation: float | int
    starts: list[Any] = field(default_factory=list)

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        kernel, total = MaternLinear(theta), float(self.weight.sum())
        own = kernel.with_gradient(self.X)
        matrix = own.matrix.copy()
        matrix[np.diag_indices_from(matrix)] *= 1.0 + _JITTER
        columns = kernel.num_columns
        off = (theta[:columns] - MaternLinear.start(columns).log_parameters[:columns]) / (
            self.prior_deviation
        )
        value, cotangent = 0.5 * float(off @ off), np.zeros_like(matrix)
        starts = self.starts or [None] * len(self.sign)
        self.starts = []
        for (sign, weight, level), start in zip(
            _each(self.sign, self.weight, self.level), starts, strict=True
        ):
            mode = find_mode(matrix, sign, weight, level, start)
            self.starts.append(mode.alpha)
            found = negative_log_evidence(matrix, mode)
            value += found.value
            cotangent += found.cotangent
        cotangent[np.diag_indices_from(cotangent)] *= 1.0 + _JITTER
        gradient = own.pull_back(cotangent)
        gradient[:columns] += off / self.prior_deviation
        if not (np.isfinite(value) and np.all(np.isfinite(gradient))):
            return _FAILED, np.zeros_like(theta)
        return value / total, gradient / total
