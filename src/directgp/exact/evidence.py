"""−log p(y) of an exact GP with its gradient, optimised for some hundred rows.

Only the lower triangle of symmetric matrices is computed, in panels of rows that fit into the
cache, and in memory that is reused between evaluations: passes over newly allocated memory would
take longer than the factorisation.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.exact.matern_linear import MaternLinear, matern_and_slope
from directgp.linalg.lapack import potrf, potri, potrs

_LOG_2PI = float(np.log(2.0 * np.pi))
_PANEL = 64
"""Rows of a panel."""


class EvidenceGradient(NamedTuple):
    """−log p(y), and its derivatives in the kernel's log parameters and in the log noise."""

    value: float
    by_kernel: Float[np.ndarray, "P"]
    by_noise: float


class Evidence:
    """−log p(y) of weighted rows as a function of kernel and noise.

    Args:
        X: inputs.
        y: targets.
        weight: the weight of each row.

    >>> evidence = Evidence(np.zeros((1, 1)), np.zeros(1), np.ones(1))
    >>> found = evidence(MaternLinear.start(1), log_noise=0.0, jitter=0.0)
    >>> bool(np.isclose(found.value, 0.5 * np.log(2 * np.pi * 1.7)))
    True
    """

    def __init__(
        self,
        X: Float[np.ndarray, "N D"],
        y: Float[np.ndarray, "N"],
        weight: Float[np.ndarray, "N"],
    ):
        count = len(y)
        self._X, self._y, self._weight = X, y, weight
        # Lower triangles of K, then of its factor, then of its inverse.
        self._lower, self._slope = np.empty((count, count)), np.empty((count, count))
        self._work = np.empty((2, min(_PANEL, count) * count))

    def __call__(
        self, kernel: MaternLinear, log_noise: float, jitter: float
    ) -> EvidenceGradient | None:
        """Value and gradient; None if K is not positive definite.

        Args:
            kernel: with its hyperparameters.
            log_noise: the log of the noise variance.
            jitter: added to the diagonal of K.
        """
        noise = np.exp(log_noise) / self._weight
        self._fill(kernel)
        diagonal = np.einsum("ii->i", self._lower)
        diagonal += noise + jitter
        factor, info = potrf(self._lower.T, lower=0, overwrite_a=1, clean=0)
        if info:
            return None
        alpha, _ = potrs(factor, self._y, lower=0)
        value = negative_log_evidence(self._y, self._weight, factor, alpha, log_noise)
        inverse, info = potri(factor, lower=0, overwrite_c=1)
        if info:
            return None
        by_kernel, own = self._pulled_back(kernel, inverse.T, alpha, noise + jitter)
        extra = 0.5 * float((self._weight - 1.0).sum())
        return EvidenceGradient(value, by_kernel, float(noise @ own) + extra)

    def _panels(self) -> Iterator[tuple[slice, slice]]:
        """Rows of each panel, and the columns up to the diagonal."""
        for first in range(0, len(self._y), _PANEL):
            last = min(first + _PANEL, len(self._y))
            yield slice(first, last), slice(0, last)

    def _buffer(self, number: int, rows: slice, columns: slice) -> Float[np.ndarray, "B M"]:
        shape = rows.stop - rows.start, columns.stop
        return self._work[number, : shape[0] * shape[1]].reshape(shape)

    def _fill(self, kernel: MaternLinear) -> None:
        """K without its noise, and the slopes."""
        X = self._X
        lengthscale, variance, slope_variance = kernel.unpacked()
        scaled, linear = X / lengthscale, X * (slope_variance / kernel.num_columns)
        squares = np.einsum("nd,nd->n", scaled, scaled)
        for rows, columns in self._panels():
            own = np.matmul(scaled[rows], scaled[columns].T, out=self._buffer(0, rows, columns))
            own *= -2.0
            own += squares[rows, None]
            own += squares[columns]
            np.maximum(own, 0.0, out=own)
            np.sqrt(own, out=own)
            matern_and_slope(own, variance, self._slope[rows, columns])
            other = np.matmul(linear[rows], X[columns].T, out=self._buffer(1, rows, columns))
            np.add(own, other, out=self._lower[rows, columns])

    def _pulled_back(
        self,
        kernel: MaternLinear,
        inverse: Float[np.ndarray, "N N"],
        alpha: Float[np.ndarray, "N"],
        noise: Float[np.ndarray, "N"],
    ) -> tuple[Float[np.ndarray, "P"], Float[np.ndarray, "N"]]:
        """The gradient in the kernel's parameters, and the derivative in the diagonal of K.

        The derivative in K is C = ½ (K⁻¹ − ααᵀ), which is used as L + Lᵀ with a lower triangle L.

        Args:
            kernel: with its hyperparameters.
            inverse: K⁻¹, its lower triangle.
            alpha: K⁻¹y.
            noise: the part of the diagonal of K besides the kernel.
        """
        X = self._X
        lengthscale, _, slope_variance = kernel.unpacked()
        scaled = X / lengthscale
        squares, by_product = np.zeros(kernel.num_columns), 0.0
        for rows, columns in self._panels():
            own = self._buffer(0, rows, columns)
            np.multiply(alpha[rows, None], alpha[columns], out=own)
            np.subtract(inverse[rows, columns], own, out=own)
            block = own[:, rows]
            block[...] = np.tril(block)
            np.einsum("ii->i", block)[...] *= 0.5
            by_product += float(np.sum(X[rows] * (own @ X[columns])))
            own *= self._slope[rows, columns]
            squares += 0.5 * (own.sum(axis=1) @ scaled[rows] ** 2)
            squares += 0.5 * (own.sum(axis=0) @ scaled[columns] ** 2)
            squares -= np.sum(scaled[rows] * (own @ scaled[columns]), axis=0)
        by_diagonal = 0.5 * (np.diagonal(inverse) - alpha**2)
        by_linear = slope_variance / kernel.num_columns * by_product
        # Σ_ij C_ij K_ij = ½ (N − yᵀα); the Matérn part is the remainder.
        whole = 0.5 * (len(alpha) - float(self._y @ alpha))
        by_matern = whole - by_linear - float(noise @ by_diagonal)
        return np.concatenate([-4.0 * squares, [by_matern, by_linear]]), by_diagonal


def negative_log_evidence(
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    factor: Float[np.ndarray, "N N"],
    alpha: Float[np.ndarray, "N"],
    log_noise: float,
) -> float:
    """−log p(y) of weighted rows.

    Args:
        y: targets.
        weight: the weight of each row.
        factor: the lower Cholesky factor of K, noise included.
        alpha: K⁻¹y.
        log_noise: the log of the noise variance.
    """
    value = 0.5 * y @ alpha + np.log(np.diagonal(factor)).sum() + 0.5 * len(y) * _LOG_2PI
    # A row of weight w stands for w rows with this mean.
    copies = float((weight - 1.0).sum())
    return float(value + 0.5 * (copies * (log_noise + _LOG_2PI) + np.log(weight).sum()))
