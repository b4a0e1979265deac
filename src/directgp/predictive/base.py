"""`Predictive`: the interface of predictive distributions, with defaults computed from the cdf."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from directgp.errors import DirectGPError, WrongType
from directgp.predictive.roots import bisect

# Real [N], or one number for all rows. Any, so that invalid values reach `check_rows` and its
# messages.
Rows = Any

# Panels of the general CRPS: narrow where the cdf has curvature, and up to 1e-12 in the tails.
_LOWER_LEVELS = np.array([1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.005, 0.02, 0.05, 0.1, 0.2, 0.35])
_PANEL_LEVELS = np.concatenate([_LOWER_LEVELS, [0.5], 1 - _LOWER_LEVELS[::-1]])
_PANEL_NODES, _PANEL_WEIGHTS = np.polynomial.legendre.leggauss(12)

# Panels of probability levels for `nodes`; tails beyond 1e-9 are ignored.
_TAIL_LEVELS = np.array([1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.15, 0.3])
_LEVEL_EDGES = np.concatenate([_TAIL_LEVELS, [0.5], 1 - _TAIL_LEVELS[::-1]])
_MOST_KEPT = 20_000

Nodes = tuple[Float[np.ndarray, "N J"], Float[np.ndarray, "N J"]]
"""Values and probabilities of a discrete approximation of a distribution."""


class Predictive(ABC):
    """The marginal distribution of y at each of N rows: moments, quantiles, log_prob, scores.

    Correlations between rows are not represented. `y` is one value per row, shape [N], or one
    number for all rows; a column [N 1] is an error and is not broadcast.
    """

    @property
    @abstractmethod
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y] at each row."""

    @property
    @abstractmethod
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y] at each row, the noise included."""

    @abstractmethod
    def log_prob(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log p(y) at each row, per unit of y; for counts and classes the log mass."""

    @abstractmethod
    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y ≤ y) at each row."""

    @abstractmethod
    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Independent draws of y at each row; the same seed gives the same draws.

        Args:
            num_samples: draws of each row.
            seed: of the random numbers.
        """

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows N."""

    @abstractmethod
    def _take(self, rows: Int[np.ndarray, "K"]) -> "Predictive":
        """The same distribution at the K rows with these numbers."""

    def affine(self, scale: float, shift: float) -> "Predictive":
        """The distribution of scale · y + shift, for location-scale families.

        Counts and classes raise an error: their targets are never standardised.

        Args:
            scale: what y is multiplied by.
            shift: what is added then.
        """
        raise WrongType(
            f"{type(self).__name__} has no affine change of units; predict in the units of the data"
        )

    @property
    def std(self) -> Float[np.ndarray, "N"]:
        """The standard deviation of y at each row, the noise included."""
        return np.sqrt(self.variance)

    @property
    def median(self) -> Float[np.ndarray, "N"]:
        """The median, the Bayes action for the loss |y − a|."""
        return self.quantile(0.5)

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y > y) at each row; to be overridden if 1 − cdf is inaccurate in the upper tail."""
        return 1.0 - self.cdf(y)

    def quantile(self, levels: Any) -> Float[np.ndarray, "N"] | Float[np.ndarray, "N K"]:
        """The y with P(Y ≤ y) = level: [N] for one level, [N K] for K levels.

        >>> from directgp.predictive import GaussianMixture
        >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
        >>> p.quantile([0.025, 0.975]).round(2).tolist()
        [[-1.96, 1.96], [-1.96, 1.96]]
        """
        array = np.asarray(levels, dtype=np.float64)
        if array.ndim > 1:
            raise DirectGPError(
                f"quantile levels must be a number or 1-d, got shape {array.shape}; ravel them"
            )
        check_levels(array, "quantile level")
        if array.ndim == 0:
            return self._quantile(float(array))
        columns = [self._quantile(float(level)) for level in array]
        return np.stack(columns, axis=1) if columns else np.empty((len(self), 0))

    def interval(
        self, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        """The central interval (lower, upper), with equal probabilities below and above it.

        >>> from directgp.predictive import GaussianMixture
        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> lower, upper = p.interval(coverage=0.95)
        >>> f"{lower[0]:.2f} to {upper[0]:.2f}"
        '-1.96 to 1.96'
        """
        check_levels(np.asarray(coverage, dtype=np.float64), "coverage of an interval")
        tail = 0.5 * (1.0 - coverage)
        return self.quantile(tail), self.quantile(1.0 - tail)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Continuous ranked probability score, in the units of y: lower is better.

            CRPS(F, y) = ∫_{−∞}^{y} F(t)² dt + ∫_{y}^{∞} (1 − F(t))² dt

        By Gauss–Legendre panels between quantiles: at least 12 digits for a smooth unimodal
        distribution, about 4 for modes of very different widths. Counts should override it by a
        sum.
        """
        y = check_rows(y, len(self))
        # Nodes in an infinite panel would be NaN; the score of an infinite y is infinite.
        inside = np.where(np.isfinite(y), y, self.median)
        edges = np.sort(np.column_stack([self.quantile(_PANEL_LEVELS), inside]), axis=1)
        total = np.zeros(len(self))
        for left, right in zip(edges.T[:-1], edges.T[1:], strict=True):
            half, below = 0.5 * (right - left), right <= inside
            for node, weight in zip(_PANEL_NODES, _PANEL_WEIGHTS, strict=True):
                t = left + half * (1.0 + node)
                total += half * weight * np.where(below, self.cdf(t), self.survival(t)) ** 2
        return np.where(np.isfinite(y), total, np.inf)

    def nodes(self) -> Nodes:
        """A discrete approximation for expectations: J values and probabilities per row.

            E[g(y)] = ∫₀¹ g(Q(u)) du ≈ Σ_j weights_j g(values_j)

        Quantiles at Gauss–Legendre points of 16 panels of u, narrower in the tails: about six
        digits for smooth g. Discrete distributions with few values return these values. The result
        is cached, except for very many rows.
        """
        return self._find_nodes() if len(self) > _MOST_KEPT else self._kept_nodes

    @cached_property
    def _kept_nodes(self) -> Nodes:
        values, weights = self._find_nodes()
        values.setflags(write=False)  # a cost function must not change the cached array
        return values, weights

    def _find_nodes(self) -> Nodes:
        left, right = _LEVEL_EDGES[:-1, None], _LEVEL_EDGES[1:, None]
        nodes, weights = np.polynomial.legendre.leggauss(6)
        levels = (left + 0.5 * (right - left) * (1.0 + nodes)).ravel()
        shares = (0.5 * (right - left) * weights).ravel()
        values = np.asarray(self.quantile(levels))
        return values, np.broadcast_to(shares / shares.sum(), values.shape)

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        """The smallest float64 whose cdf reaches the level, also for discrete distributions."""
        largest = np.full(len(self), np.finfo(np.float64).max)
        # 1 − level is exact in floating point for level ≥ ½, so the upper tail keeps its digits.
        if level <= 0.5:
            return bisect(lambda y: self.cdf(y) >= level, -largest, largest)
        return bisect(lambda y: self.survival(y) <= 1.0 - level, -largest, largest)

    def __getitem__(self, rows: int | slice | list | np.ndarray) -> "Predictive":
        """The predictive distribution of some rows; a single row number gives a predictive of one
        row.

        >>> from directgp.predictive import GaussianMixture
        >>> p = GaussianMixture(np.arange(4.0)[None], np.ones((1, 4)), np.zeros(1))
        >>> p[1:3].mean.tolist(), len(p[0]), p[np.array([True, False, False, True])].mean.tolist()
        ([1.0, 2.0], 1, [0.0, 3.0])
        """
        # An empty list is a float array to numpy, and floats cannot index.
        key = np.empty(0, dtype=np.intp) if isinstance(rows, list) and not rows else rows
        taken = np.atleast_1d(np.arange(len(self))[key])
        if taken.ndim != 1:
            raise IndexError(
                f"rows must be a number, a slice, or 1-d, got an index of shape {taken.shape}"
            )
        return self._take(taken)

    def __repr__(self) -> str:
        name, count = type(self).__name__, len(self)
        if count == 0:
            return f"{name} for 0 rows"
        if count == 1:
            return f"{name} for 1 row: mean {self.mean[0]:.4g}, std {self.std[0]:.4g}"
        mean, std = self.mean, self.std
        return (
            f"{name} for {count} rows: mean {mean.min():.4g} to {mean.max():.4g}, "
            f"std {std.min():.4g} to {std.max():.4g}"
        )


def check_predictive(given: Any, order: str = "give it first, then y") -> None:
    """Raise an error unless `given` is a `Predictive`.

    Args:
        given: the argument of a user.
        order: the end of the message.

    >>> check_predictive([1.0, 2.0])
    Traceback (most recent call last):
    directgp.errors.WrongType: predictive must be what predict(X) of a fit returns, got ...
    """
    if not isinstance(given, Predictive):
        raise WrongType(
            f"predictive must be what predict(X) of a fit returns, got {type(given).__name__}; "
            f"{order}"
        )


def check_rows(y: Rows, num_rows: int) -> Float[np.ndarray, "N"]:
    """Convert y to float64 [N]; any shape other than [N] or a single number is an error.

    Args:
        y: given by the user.
        num_rows: N.

    >>> check_rows(np.zeros((3, 1)), 3)
    Traceback (most recent call last):
    directgp.errors.DirectGPError: y must have shape (3,), got (3, 1); pass y.ravel()
    """
    if np.ma.is_masked(y):
        masked = np.flatnonzero(np.ma.getmaskarray(y))
        raise DirectGPError(
            f"y is masked at {masked.size} rows, first {masked[0]}; drop these rows"
        )
    array = np.asarray(y)
    if array.dtype.kind not in "fiub":
        raise WrongType(f"y must be numbers, got dtype {array.dtype}; convert it to float first")
    if array.ndim == 0:
        array = np.full(num_rows, float(array))
    if array.shape != (num_rows,):
        advice = "pass y.ravel()" if array.size == num_rows else "give one y for each predicted row"
        raise DirectGPError(f"y must have shape ({num_rows},), got {array.shape}; {advice}")
    missing = np.flatnonzero(np.isnan(array))
    if missing.size:
        raise DirectGPError(f"y is NaN at {missing.size} rows, first {missing[0]}; drop these rows")
    return array.astype(np.float64)


def check_levels(levels: np.ndarray, name: str) -> None:
    """Raise an error for probabilities that are not strictly between 0 and 1.

    Args:
        levels: the probabilities.
        name: for the message.
    """
    outside = ~((levels > 0) & (levels < 1))
    if np.any(outside):
        raise DirectGPError(
            f"{name} must lie strictly between 0 and 1, got {levels[outside].flat[0]}; "
            "use e.g. 0.9 for 90 %"
        )


def check_num_samples(num_samples: int) -> None:
    """Raise an error for a negative number of draws."""
    if num_samples < 0:
        raise DirectGPError(f"num_samples must be ≥ 0, got {num_samples}; use e.g. 1000")
