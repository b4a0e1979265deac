"""The default kernel of exact regression: Matérn 5/2 with one length-scale per column, plus linear.

It is in NumPy, with a derivative by hand, because small tables are fitted in less time than JAX
takes to compile. `kernels.Matern52` and `kernels.Linear` have the same formulas; a test compares
them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

_ROOT5 = np.sqrt(5.0)
_IN_CACHE = 1 << 15
"""Numbers of an array that are worked on together."""

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
        """Initial parameters for standardised columns, whose rows have distances of about √(2D)."""
        lengthscales = np.full(num_columns, 0.5 * np.log(2.0 * num_columns))
        return cls(np.concatenate([lengthscales, np.log([0.7, 0.3])]))

    @property
    def num_columns(self) -> int:
        """D."""
        return len(self.log_parameters) - 2

    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the log parameters: factors of e⁴ around the start for length-scales."""
        centre = 0.5 * np.log(2.0 * self.num_columns)
        return [(centre - 4.0, centre + 4.0)] * self.num_columns + [(-9.0, 6.0), (-12.0, 6.0)]

    def matrix(self, X: Float[np.ndarray, "N D"], Z: Float[np.ndarray, "M D"]) -> Matrix:
        """k(x_i, z_j) for all pairs."""
        lengthscale, variance, slope_variance = self.unpacked()
        pairs = Pairs.of(X / lengthscale, Z / lengthscale)
        linear = X @ Z.T
        linear *= slope_variance / self.num_columns
        for rows in blocks_of_rows(len(X), len(Z)):
            root = pairs.distance(rows)
            root *= _ROOT5
            decay = np.negative(root)
            np.exp(decay, out=decay)
            square = root**2
            square /= 3.0
            root += 1.0
            root += square
            root *= decay
            root *= variance
            root += linear[rows]
        return pairs.matrix

    def diagonal(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """k(x_i, x_i)."""
        _, variance, slope_variance = self.unpacked()
        return variance + slope_variance / self.num_columns * np.einsum("nd,nd->n", X, X)

    def with_gradient(self, X: Float[np.ndarray, "N D"]) -> KernelGradient:
        """The matrix k(X, X) together with what its derivative needs."""
        lengthscale, variance, slope_variance = self.unpacked()
        scaled = X / lengthscale
        pairs, slope = Pairs.of(scaled, scaled), np.empty((len(X), len(X)))
        for rows in blocks_of_rows(len(X), len(X)):
            matern_and_slope(pairs.distance(rows), variance, slope[rows])
        linear = (X * (slope_variance / self.num_columns)) @ X.T
        return KernelGradient(pairs.matrix + linear, pairs.matrix, linear, slope, scaled)

    def unpacked(self) -> tuple[Float[np.ndarray, "D"], float, float]:
        """Length-scales, variance and slope variance."""
        values = np.exp(self.log_parameters)
        return values[:-2], float(values[-2]), float(values[-1])


def _total(A: Matrix, B: Matrix) -> float:
    """Σ_ij A_ij B_ij."""
    return float(np.einsum("ij,ij->", A, B))


class Pairs(NamedTuple):
    """Distances of all pairs of rows, made block by block in the memory of their products."""

    matrix: Matrix
    """x_iᵀz_j, and |x_i − z_j| in the rows whose `distance` was computed."""
    left: Float[np.ndarray, "N"]
    right: Float[np.ndarray, "M"]
    """The squares |x_i|² and |z_j|²."""

    @classmethod
    def of(cls, X: Float[np.ndarray, "N D"], Z: Float[np.ndarray, "M D"]) -> "Pairs":
        """All rows of X with all of Z."""
        return cls(X @ Z.T, np.einsum("nd,nd->n", X, X), np.einsum("md,md->m", Z, Z))

    def distance(self, rows: slice) -> Float[np.ndarray, "B M"]:
        """|x_i − z_j| for a block of rows x_i, as a view of `matrix`; call it once per block."""
        found = self.matrix[rows]
        found *= -2.0
        found += self.left[rows, None]
        found += self.right
        np.maximum(found, 0.0, out=found)
        return np.sqrt(found, out=found)


def matern_and_slope(
    distance: Float[np.ndarray, "B M"], variance: float, slope: Float[np.ndarray, "B M"]
) -> None:
    """Turn scaled distances r into variance · Matérn52(r), in place, and fill in the slope.

    Args:
        distance: r; replaced by the kernel.
        variance: the variance of the Matérn part.
        slope: output; −2 Σ cotangent · slope · (x − z)² is the derivative in a log length-scale.
    """
    root = distance
    root *= _ROOT5
    decay = np.negative(root)
    np.exp(decay, out=decay)
    decay *= variance
    np.add(root, 1.0, out=slope)
    slope *= decay
    root *= root
    root *= decay
    root /= 3.0
    root += slope
    slope *= -5.0 / 6.0


def blocks_of_rows(count: int, width: int) -> Iterator[slice]:
    """Blocks of rows that fit into the cache.

    Args:
        count: the number of rows.
        width: their length.
    """
    size = max(1, _IN_CACHE // max(width, 1))
    for first in range(0, count, size):
        yield slice(first, min(first + size, count))
