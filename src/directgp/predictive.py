"""What a user gets back from any model: the distribution of y at each new row, in the user's units.

Everything here is plain numpy in float64 on the host: no JAX, no keys, no model.

    Predictive        what every predictive distribution can be asked (abstract)
    GaussianMixture   p(y_n) = Σ_s w_sn N(y_n; m_sn, v_sn): the answer of every Gaussian likelihood

A new likelihood subclasses `Predictive` and writes `mean`, `variance`, `log_density`, `cdf`,
`sample`, `__len__` and `_take`; quantiles, intervals, the median and the CRPS then follow from the
cdf, and are overridden where a closed form exists.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import erf, log_ndtr, logsumexp, ndtr, ndtri

# Real [N], or one number for all rows. Not a shape that is checked by its type, so that whatever a
# user passes reaches `check_rows`, which says in one line what is wrong with it.
Rows = Any

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_SIGN_BIT = np.int64(-(2**63))

# Panels of the general CRPS: close together where the cdf bends, and out to 1e-12 in the tails.
_LOWER_LEVELS = np.array([1e-12, 1e-9, 1e-7, 1e-5, 1e-4, 1e-3, 0.005, 0.02, 0.05, 0.1, 0.2, 0.35])
_PANEL_LEVELS = np.concatenate([_LOWER_LEVELS, [0.5], 1 - _LOWER_LEVELS[::-1]])
_PANEL_NODES, _PANEL_WEIGHTS = np.polynomial.legendre.leggauss(12)


class Predictive(ABC):
    """The distribution of y at each of N rows: ask it for means, intervals, densities and scores.

    Rows are marginal: nothing here says how the y of two rows vary together. `y` is one value for
    each row, shape [N], or one number for all rows; a column [N 1] is an error, never broadcast.
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
    def log_density(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log p(y) at each row, per unit of y; for counts and classes the log mass."""

    @abstractmethod
    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y ≤ y) at each row."""

    @abstractmethod
    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Independent draws of y at each row; the same seed gives the same draws."""

    @abstractmethod
    def __len__(self) -> int:
        """The number of rows N."""

    @abstractmethod
    def _take(self, rows: Int[np.ndarray, "K"]) -> "Predictive":
        """The same distribution at the K rows with these numbers."""

    def affine(self, scale: float, shift: float) -> "Predictive":
        """The distribution of scale · y + shift, for those that stay in their family."""
        raise NotImplementedError(
            f"{type(self).__name__} has no affine change of units; predict in the units of the data"
        )

    @property
    def std(self) -> Float[np.ndarray, "N"]:
        """The standard deviation of y at each row, the noise included."""
        return np.sqrt(self.variance)

    @property
    def median(self) -> Float[np.ndarray, "N"]:
        """The value that y is as likely to be above as below: the Bayes action of |y − a|."""
        return self.quantile(0.5)

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y > y) at each row; override where 1 − cdf would lose the upper tail."""
        return 1.0 - self.cdf(y)

    def quantile(self, levels: Any) -> Float[np.ndarray, "N"] | Float[np.ndarray, "N K"]:
        """The y with P(Y ≤ y) = level: [N] for one level, [N K] for K levels.

        >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
        >>> p.quantile([0.025, 0.975]).round(2).tolist()
        [[-1.96, 1.96], [-1.96, 1.96]]
        """
        array = np.asarray(levels, dtype=np.float64)
        if array.ndim > 1:
            raise ValueError(
                f"quantile levels must be a number or 1-d, got shape {array.shape}; ravel them"
            )
        _check_levels(array, "quantile level")
        if array.ndim == 0:
            return self._quantile(float(array))
        columns = [self._quantile(float(level)) for level in array]
        return np.stack(columns, axis=1) if columns else np.empty((len(self), 0))

    def interval(
        self, coverage: float = 0.9
    ) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        """The central interval: y is below `lower` and above `upper` with equal probability.

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> lower, upper = p.interval(coverage=0.95)
        >>> f"{lower[0]:.2f} to {upper[0]:.2f}"
        '-1.96 to 1.96'
        """
        _check_levels(np.asarray(coverage, dtype=np.float64), "coverage of an interval")
        tail = 0.5 * (1.0 - coverage)
        return self.quantile(tail), self.quantile(1.0 - tail)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Continuous ranked probability score, in the units of y: lower is better.

            CRPS(F, y) = ∫_{−∞}^{y} F(t)² dt + ∫_{y}^{∞} (1 − F(t))² dt

        Here by Gauss–Legendre panels between quantiles, which follow the distribution at whatever
        scales it has: 12 digits or more for one smooth hump, about 4 for humps of very different
        widths. Counts should override it with a sum.
        """
        y = check_rows(y, len(self))
        # Nodes across an infinite panel would be NaN, and an infinite y is infinitely far away.
        inside = np.where(np.isfinite(y), y, self.median)
        edges = np.sort(np.column_stack([self.quantile(_PANEL_LEVELS), inside]), axis=1)
        total = np.zeros(len(self))
        for left, right in zip(edges.T[:-1], edges.T[1:], strict=True):
            half, below = 0.5 * (right - left), right <= inside
            for node, weight in zip(_PANEL_NODES, _PANEL_WEIGHTS, strict=True):
                t = left + half * (1.0 + node)
                total += half * weight * np.where(below, self.cdf(t), self.survival(t)) ** 2
        return np.where(np.isfinite(y), total, np.inf)

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        """The smallest float64 whose cdf reaches the level: exact for steps, at any scale."""
        largest = np.full(len(self), np.finfo(np.float64).max)
        # 1 − level is exact in floating point for level ≥ ½, so the upper tail keeps its digits.
        if level <= 0.5:
            return _bisect(lambda y: self.cdf(y) >= level, -largest, largest)
        return _bisect(lambda y: self.survival(y) <= 1.0 - level, -largest, largest)

    def __getitem__(self, rows: int | slice | list | np.ndarray) -> "Predictive":
        """The predictive distribution of some rows; one row number gives a predictive of one row.

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


@final
class GaussianMixture(Predictive):
    """A weighted mixture of S Gaussians at each of N rows, everything about it in closed form.

        p(y_n) = Σ_s w_sn N(y_n; m_sn, v_sn)

    S = 1 for a sparse GP, S = samples for a deep GP, S = sigma points for a DSPP; the variances
    include the observation noise. A component of variance 0 is a point mass.

    >>> p = GaussianMixture(
    ...     means=np.array([[0.0, 1.0], [0.0, 3.0]]),      # [S N]
    ...     variances=np.ones((2, 2)),                     # [S N]
    ...     log_weights=np.log([0.5, 0.5]),                # [S], or [S N]
    ... )
    >>> p
    GaussianMixture for 2 rows: mean 0 to 2, std 1 to 1.414
    >>> p.mean.tolist(), p.variance.tolist()
    ([0.0, 2.0], [1.0, 2.0])
    """

    means: Float[np.ndarray, "S N"]
    variances: Float[np.ndarray, "S N"]

    def __init__(self, means: Any, variances: Any, log_weights: Any) -> None:
        self.means = _read_only(means, "means")
        self.variances = _read_only(variances, "variances")
        weights = _read_only(log_weights, "log_weights")
        shape = self.means.shape
        if self.means.ndim != 2 or shape[0] == 0:
            raise ValueError(
                f"means must be [S N] with S ≥ 1 components, got shape {shape}; "
                "use means[None] for one component"
            )
        if self.variances.shape != shape:
            raise ValueError(
                f"variances must have the shape of means {shape}, got {self.variances.shape}; "
                "use np.broadcast_to for a shared variance"
            )
        if weights.shape not in ((shape[0],), shape):
            raise ValueError(
                f"log_weights must be {(shape[0],)} or {shape}, got {weights.shape}; "
                "give one for each component, or for each component and row"
            )
        if not np.all(np.isfinite(self.means)):
            raise ValueError(
                f"means must be finite, got {_first_bad(self.means)}; check that training converged"
            )
        valid = np.isfinite(self.variances) & (self.variances >= 0)
        if not np.all(valid):
            raise ValueError(
                "variances must be finite and ≥ 0, got "
                f"{self.variances[~valid][0]}; clip them or raise the jitter"
            )
        columns = weights if weights.ndim == 2 else weights[:, None]
        # A NaN or an infinite weight makes its total NaN or infinite, and is refused here as well.
        total = logsumexp(columns, axis=0, keepdims=True)
        if not np.all(np.abs(total) < 1e-4):
            raise ValueError(
                f"weights must sum to 1 at each row, got a sum of {np.exp(_worst(total)):.6g}; "
                "subtract logsumexp(log_weights, axis=0)"
            )
        # [S 1] or [S N]: kept narrow when shared. Float32 rounding is normalised away.
        self._log_weights = columns - total
        self._weights = np.exp(self._log_weights)
        self._stds = np.sqrt(self.variances)

    @property
    def log_weights(self) -> Float[np.ndarray, "S N"]:
        """Normalised log w_sn: over the components of each row they sum to 1."""
        return np.broadcast_to(self._log_weights, self.means.shape)

    @property
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y] = Σ_s w_s m_s."""
        reference, offsets = self._offsets()
        return reference + np.sum(self._weights * offsets, axis=0)

    @property
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y] = Σ_s w_s (v_s + (m_s − E[y])²), by offsets so that no digits cancel."""
        _, offsets = self._offsets()
        deviations = offsets - np.sum(self._weights * offsets, axis=0)
        return np.sum(self._weights * (self.variances + deviations**2), axis=0)

    def log_density(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log density per unit of y: log p(y) = logsumexp_s( log w_s + log N(y; m_s, v_s) ).

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.log_density(np.array([1000.0])).round(3).tolist()
        [-500000.919]
        """
        y = check_rows(y, len(self))
        return _log_density(y, self.means, self._stds, self._log_weights)

    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y ≤ y) = Σ_s w_s Φ((y − m_s)/√v_s).

        >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
        >>> p.cdf(0.0).tolist()
        [0.5, 0.5]
        """
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        return np.minimum(np.sum(self._weights * ndtr(z), axis=0), 1.0)

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y > y) = Σ_s w_s Φ(−(y − m_s)/√v_s): small probabilities keep all their digits.

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> f"{p.survival(20.0)[0]:.4g}"
        '2.754e-89'
        """
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        return np.minimum(np.sum(self._weights * ndtr(-z), axis=0), 1.0)

    def log_cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log P(Y ≤ y), exact where the probability itself underflows."""
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        return np.minimum(logsumexp(self._log_weights + log_ndtr(z), axis=0), 0.0)

    def log_survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log P(Y > y), exact where the probability itself underflows.

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.log_survival(1000.0).round(3).tolist()
        [-500007.827]
        """
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        return np.minimum(logsumexp(self._log_weights + log_ndtr(-z), axis=0), 0.0)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """CRPS in closed form (Grimit et al. 2006, eq. 5), S² terms a row in [S N] memory.

            Σ_i w_i A(y − m_i, v_i) − ½ Σ_ij w_i w_j A(m_i − m_j, v_i + v_j)
            A(m, v) = E|N(m, v)| = 2 √v φ(m/√v) + m (2Φ(m/√v) − 1)

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.crps(0.0).round(4).tolist()
        [0.2337]
        """
        y = check_rows(y, len(self))
        weights, means, variances = self._weights, self.means, self.variances
        finite = np.isfinite(y)
        offset = np.where(finite, y, 0.0) - means
        distance = np.sum(weights * _mean_absolute(offset, variances), axis=0)
        # E|N(0, 2v)| = 2 √(v/π); then each pair i < j once, one component i at a time.
        spread = np.sum(weights**2 * self._stds, axis=0) * (2.0 / np.sqrt(np.pi))
        for i in range(len(means) - 1):
            pairs = _mean_absolute(means[i + 1 :] - means[i], variances[i + 1 :] + variances[i])
            spread = spread + 2.0 * weights[i] * np.sum(weights[i + 1 :] * pairs, axis=0)
        # Rounding can leave −1e-17 where the score is 0.
        return np.where(finite, np.maximum(distance - 0.5 * spread, 0.0), np.inf)

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of y: a component by its weight, then a Gaussian; rows are independent.

        >>> p = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1))
        >>> p.sample(5, seed=0).shape, bool(np.all(p.sample(5, seed=0) == p.sample(5, seed=0)))
        ((5, 3), True)
        """
        if num_samples < 0:
            raise ValueError(f"num_samples must be ≥ 0, got {num_samples}; use e.g. 1000")
        generator = np.random.default_rng(seed)
        uniform = generator.random((num_samples, len(self)))
        cumulative = np.cumsum(self._weights, axis=0)
        cumulative = cumulative / cumulative[-1]
        component = np.zeros(uniform.shape, dtype=np.intp)
        for threshold in cumulative[:-1]:
            component += threshold <= uniform
        rows = np.arange(len(self))
        noise = generator.standard_normal(uniform.shape)
        return self.means[component, rows] + self._stds[component, rows] * noise

    def affine(self, scale: float, shift: float) -> "GaussianMixture":
        """The distribution of scale · y + shift: from scaled targets back to the user's units.

            m → scale · m + shift,    v → scale² · v,    log p → log p − log|scale|

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.affine(scale=10.0, shift=3.0)
        GaussianMixture for 1 row: mean 3, std 10
        """
        if not (np.isfinite(scale) and np.isfinite(shift)) or scale == 0:
            raise ValueError(
                f"scale must be finite and not 0, and shift finite, got {scale} and {shift}; "
                "drop constant targets before scaling"
            )
        shared = self._log_weights.shape[1] == 1
        weights = self._log_weights[:, 0] if shared else self._log_weights
        return GaussianMixture(scale * self.means + shift, scale**2 * self.variances, weights)

    def __len__(self) -> int:
        return self.means.shape[1]

    def _take(self, rows: Int[np.ndarray, "K"]) -> "GaussianMixture":
        shared = self._log_weights.shape[1] == 1
        weights = self._log_weights[:, 0] if shared else self._log_weights[:, rows]
        return GaussianMixture(self.means[:, rows], self.variances[:, rows], weights)

    def _offsets(self) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "S N"]]:
        """Means as differences from the heaviest component's: equal means stay exactly equal."""
        heaviest = np.argmax(self.log_weights, axis=0)
        reference = self.means[heaviest, np.arange(len(self))]
        return reference, self.means - reference

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        if len(self.means) == 1:
            return self.means[0] + self._stds[0] * ndtri(level)
        # The upper half is the lower half of the mirrored mixture: 1 − level is exact there.
        sign, tail = (1.0, level) if level <= 0.5 else (-1.0, 1.0 - level)
        guess = sign * self.mean + self.std * ndtri(tail)
        return sign * _lower_quantile(tail, guess, sign * self.means, self._stds, self.log_weights)


def check_rows(y: Rows, num_rows: int) -> Float[np.ndarray, "N"]:
    """Make y float64 [N]: one number serves all rows, any other shape than [N] is an error.

    >>> check_rows(np.zeros((3, 1)), 3)
    Traceback (most recent call last):
    ValueError: y must have shape (3,), got (3, 1); pass y.ravel()
    """
    array = np.asarray(y)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"y must be numbers, got dtype {array.dtype}; convert it to float first")
    if array.ndim == 0:
        array = np.full(num_rows, float(array))
    if array.shape != (num_rows,):
        advice = "pass y.ravel()" if array.size == num_rows else "give one y for each predicted row"
        raise ValueError(f"y must have shape ({num_rows},), got {array.shape}; {advice}")
    missing = np.flatnonzero(np.isnan(array))
    if missing.size:
        raise ValueError(f"y is NaN at {missing.size} rows, first {missing[0]}; drop these rows")
    return array.astype(np.float64)


def _check_levels(levels: np.ndarray, name: str) -> None:
    outside = ~((levels > 0) & (levels < 1))
    if np.any(outside):
        raise ValueError(
            f"{name} must lie strictly between 0 and 1, got {levels[outside].flat[0]}; "
            "use e.g. 0.9 for 90 %"
        )


def _read_only(values: Any, name: str) -> Float[np.ndarray, "..."]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, got {type(values).__name__}") from None
    array.setflags(write=False)
    return array


def _first_bad(values: np.ndarray) -> float:
    return values[~np.isfinite(values)][0]


def _worst(log_total: np.ndarray) -> float:
    return log_total.flat[np.argmax(np.abs(log_total))]


def _standardise(
    y: Float[np.ndarray, "N"], means: Float[np.ndarray, "S N"], stds: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, "S N"]:
    """(y − m)/√v, where a point mass gives −∞ below it and +∞ at it and above it."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(stds > 0, (y - means) / stds, np.where(y >= means, np.inf, -np.inf))


def _log_density(
    y: Float[np.ndarray, "N"],
    means: Float[np.ndarray, "S N"],
    stds: Float[np.ndarray, "S N"],
    log_weights: Float[np.ndarray, "S _"],
) -> Float[np.ndarray, "N"]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        z = (y - means) / stds
        gaussian = -0.5 * z**2 - np.log(stds) - _LOG_SQRT_2PI
        point_mass = np.where(y == means, np.inf, -np.inf)
        terms = log_weights + np.where(stds > 0, gaussian, point_mass)
        # Weight 0 on a point mass at y would be −∞ + ∞.
        return logsumexp(np.where(log_weights > -np.inf, terms, -np.inf), axis=0)


def _mean_absolute(
    mean: Float[np.ndarray, "S N"], variance: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, "S N"]:
    """E|N(mean, variance)|, which is |mean| at variance 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        std = np.sqrt(variance)
        z = mean / std
        value = 2 * std * np.exp(-0.5 * z**2 - _LOG_SQRT_2PI) + mean * erf(z / np.sqrt(2))
        return np.where(std > 0, value, np.abs(mean))


def _lower_quantile(
    level: float,
    guess: Float[np.ndarray, "N"],
    means: Float[np.ndarray, "S N"],
    stds: Float[np.ndarray, "S N"],
    log_weights: Float[np.ndarray, "S N"],
) -> Float[np.ndarray, "N"]:
    """Solve log F(y) = log level, level ≤ ½: Newton within a bracket, then bisection for the rest.

    The components' own quantiles bracket the mixture's. In log space Newton is quick in far tails.
    """
    of_components, present = means + stds * ndtri(level), log_weights > -np.inf
    # One float lower, because at a point mass the level may already be reached.
    low = np.nextafter(np.min(np.where(present, of_components, np.inf), axis=0), -np.inf)
    high = np.max(np.where(present, of_components, -np.inf), axis=0)
    y = np.clip(guess, low, high)
    target = np.log(level)
    tolerance = 4 * np.finfo(np.float64).eps * max(1.0, -target)
    active = np.flatnonzero(low < high)
    for _ in range(40):
        if active.size == 0:
            return y
        m, s, w, at = means[:, active], stds[:, active], log_weights[:, active], y[active]
        log_cdf = logsumexp(w + log_ndtr(_standardise(at, m, s)), axis=0)
        error = log_cdf - target
        low[active] = np.where(error < 0, at, low[active])
        high[active] = np.where(error < 0, high[active], at)
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            newton = at - error * np.exp(log_cdf - _log_density(at, m, s, w))
        # A step below the spacing of floats tries the neighbour, to close the bracket: the density
        # may be a spike narrower than that spacing, with the root far away.
        neighbour = np.nextafter(at, np.where(error < 0, np.inf, -np.inf))
        proposal = np.where(newton == at, neighbour, newton)
        below, above = _to_order(low[active]), _to_order(high[active])
        middle = _middle(below, above)
        inside = (proposal > low[active]) & (proposal < high[active])
        exact, closed = np.abs(error) <= tolerance, middle == below
        following = np.where(inside, proposal, _from_order(middle))
        y[active] = np.where(exact, at, np.where(closed, high[active], following))
        active = active[~(exact | closed)]
    if active.size:
        m, s, w = means[:, active], stds[:, active], log_weights[:, active]

        def reached(at: np.ndarray) -> np.ndarray:
            return logsumexp(w + log_ndtr(_standardise(at, m, s)), axis=0) >= target

        y[active] = _bisect(reached, low[active], high[active])
    return y


def _bisect(
    reached: Callable[[Float[np.ndarray, "N"]], Bool[np.ndarray, "N"]],
    low: Float[np.ndarray, "N"],
    high: Float[np.ndarray, "N"],
) -> Float[np.ndarray, "N"]:
    """The smallest float64 in (low, high] at which each row's condition holds, in ≤ 64 halvings.

    It halves the count of floats in between, not the distance: any scale costs the same.
    """
    below, above = _to_order(low), _to_order(high)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        while np.any(_middle(below, above) != below):
            middle = _middle(below, above)
            holds = reached(_from_order(middle))
            above = np.where(holds, middle, above)
            below = np.where(holds, below, middle)
    return _from_order(above)


def _to_order(x: Float[np.ndarray, "N"]) -> Int[np.ndarray, "N"]:
    """Integers in the order of the floats, neighbours for neighbours: a double's bits, signed."""
    bits = np.ascontiguousarray(x, dtype=np.float64).view(np.int64)
    return np.where(bits >= 0, bits, _SIGN_BIT - bits)


def _from_order(order: Int[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    return np.where(order >= 0, order, _SIGN_BIT - order).view(np.float64)


def _middle(low: Int[np.ndarray, "N"], high: Int[np.ndarray, "N"]) -> Int[np.ndarray, "N"]:
    """⌊(low + high)/2⌋ without overflow."""
    return (low >> 1) + (high >> 1) + (low & high & 1)
