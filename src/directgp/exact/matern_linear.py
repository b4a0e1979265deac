"""The default kernel of exact regression: Matérn 5/2 with one length-scale per column, plus linear.

It is written in NumPy, with its derivative by hand: small tables are fitted before JAX would have
compiled the first program. `kernels.Matern52` and `kernels.Linear` are the same formulas; a test
holds the two equal.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_ROOT5 = np.sqrt(5.0)

Matrix = Float[np.ndarray, "N M"]


class KernelGradient(NamedTuple):
    """A kernel matrix, and what the derivative with respect to its parameters needs."""

    matrix: Float[np.ndarray, "N N"]
    matern: Float[np.ndarray, "N N"]
    linear: Float[np.ndarray, "N N"]
    slope: Float[np.ndarray, "N N"]
    scaled: Float[np.ndarray, "N D"]

    def pull_back(self, cotangent: Float[np.ndarray, "N N"]) -> Float[np.ndarray, "P"]:
        """The gradient in the log parameters of Σ_ij cotangent_ij K_ij; it must be symmetric."""
        weight = cotangent * self.slope
        rows = weight @ np.ones(len(weight))
        # Σ_ij weight_ij (x_i − x_j)² by products: no [N N D] array.
        squares = rows @ self.scaled**2 - np.sum(self.scaled * (weight @ self.scaled), axis=0)
        return np.concatenate(
            [-4.0 * squares, [_total(cotangent, self.matern), _total(cotangent, self.linear)]]
        )


class MaternLinear(NamedTuple):
    """k(x, z) = variance · Matérn52(r) + slope_variance · xᵀz / D.

    >>> kernel = MaternLinear.start(2)
    >>> kernel.matrix(np.zeros((1, 2)), np.zeros((1, 2))).round(2).tolist()
    [[0.7]]
    """

    log_parameters: Float[np.ndarray, "P"]
    """Log length-scales [D], log variance, log slope variance."""

    @classmethod
    def start(cls, num_columns: int) -> "MaternLinear":
        """Where learning starts, for standardised columns: rows are about √(2D) from each other."""
        lengthscales = np.full(num_columns, 0.5 * np.log(2.0 * num_columns))
        return cls(np.concatenate([lengthscales, np.log([0.7, 0.3])]))

    @property
    def num_columns(self) -> int:
        """D."""
        return len(self.log_parameters) - 2

    def bounds(self) -> list[tuple[float, float]]:
        """Where the log parameters may go: factors of e⁴ around the start for length-scales."""
        centre = 0.5 * np.log(2.0 * self.num_columns)
        return [(centre - 4.0, centre + 4.0)] * self.num_columns + [(-9.0, 6.0), (-12.0, 6.0)]

    def matrix(self, X: Float[np.ndarray, "N D"], Z: Float[np.ndarray, "M D"]) -> Matrix:
        """k(x_i, z_j) for all pairs."""
        lengthscale, variance, slope_variance = self._unpacked()
        root = _ROOT5 * np.sqrt(_squared_distance(X / lengthscale, Z / lengthscale))
        matern = (1.0 + root + root**2 / 3.0) * np.exp(-root)
        return variance * matern + slope_variance / self.num_columns * (X @ Z.T)

    def diagonal(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """k(x_i, x_i)."""
        _, variance, slope_variance = self._unpacked()
        return variance + slope_variance / self.num_columns * np.einsum("nd,nd->n", X, X)

    def with_gradient(self, X: Float[np.ndarray, "N D"]) -> KernelGradient:
        """The matrix k(X, X) together with what its derivative needs."""
        lengthscale, variance, slope_variance = self._unpacked()
        scaled = X / lengthscale
        root = _squared_distance(scaled, scaled)
        np.sqrt(root, out=root)
        root *= _ROOT5
        decay = np.negative(root)
        np.exp(decay, out=decay)
        decay *= variance
        slope = root + 1.0
        slope *= decay
        root *= root
        root *= decay
        root /= 3.0
        root += slope
        matern = root
        slope *= -5.0 / 6.0
        linear = (X * (slope_variance / self.num_columns)) @ X.T
        return KernelGradient(matern + linear, matern, linear, slope, scaled)

    def _unpacked(self) -> tuple[Float[np.ndarray, "D"], float, float]:
        values = np.exp(self.log_parameters)
        return values[:-2], float(values[-2]), float(values[-1])


def _total(A: Matrix, B: Matrix) -> float:
    """Σ_ij A_ij B_ij."""
    return float(np.einsum("ij,ij->", A, B))


def _squared_distance(X: Float[np.ndarray, "N D"], Z: Float[np.ndarray, "M D"]) -> Matrix:
    """|x_i − z_j|², never below zero."""
    squares = X @ Z.T
    squares *= -2.0
    squares += np.einsum("nd,nd->n", X, X)[:, None]
    squares += np.einsum("md,md->m", Z, Z)[None, :]
    return np.maximum(squares, 0.0, out=squares)
