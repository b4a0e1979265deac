"""Counts: p(y) = Σ_s w_s ∫ N(f; m_s, v_s) p(y | f) df, integrated over f, never plugged in."""

from abc import ABC, abstractmethod
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp, ndtri

from directgp.predictive.base import Nodes, Predictive, Rows, check_num_samples, check_rows
from directgp.predictive.mixture import draw_components, read_mixture
from directgp.predictive.quadrature import log_mean_exp, mean_of_step
from directgp.predictive.roots import smallest_count

_TAIL = 1e-10  # the CRPS squares the tails beyond this level away

# Panels of the CRPS of wide distributions.
_LOWER_LEVELS = (1e-6, 1e-3, 0.02, 0.1, 0.3)
_LEVELS = np.array([*_LOWER_LEVELS, 0.5, *(1 - level for level in reversed(_LOWER_LEVELS))])
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)
_EXACT = 128  # up to so many counts are summed one by one
_MOST_NODES = 1024  # more counts than this are averaged by quantiles
_SHORT = 8  # so are panels of up to so many counts


class CountFamily(ABC):
    """p(y | f) of a count, on the host: what a count likelihood gives `CountMixture`.

    `cdf` and `survival` take real y, between the counts too, where they must be smooth.
    """

    @abstractmethod
    def log_mass(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Log p(y | f)."""

    @abstractmethod
    def cdf(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """P(Y ≤ y | f), which falls with f."""

    @abstractmethod
    def survival(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """P(Y > y | f)."""

    @abstractmethod
    def step(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The f below which the cdf at y is 1, and above which it is 0, to 1e-14 or so."""

    @abstractmethod
    def rate(self, f: np.ndarray) -> np.ndarray:
        """E[Y | f]."""

    @abstractmethod
    def moments(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[Y] and Var[Y] for f ~ N(mean, variance)."""

    @abstractmethod
    def draw(self, f: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        """One count for each f."""


@final
class CountMixture(Predictive):
    """The distribution of a count at each of N rows: a mixture over f, pushed through `family`.

    Masses hold about ten digits from 0 to 10⁵ and beyond, cdfs and quantiles are of whole numbers.

    >>> from directgp.likelihoods import PoissonExp
    >>> p = PoissonExp().predictive(np.zeros((1, 2, 1)), np.full((1, 2, 1), 0.5), np.zeros(1))
    >>> p.mean.round(3).tolist(), p.quantile(0.9).tolist(), np.exp(p.log_prob(0)).round(3)
    ([1.284, 1.284], [3.0, 3.0], array([0.374, 0.374]))
    """

    means: Float[np.ndarray, "S N"]
    variances: Float[np.ndarray, "S N"]
    family: CountFamily

    def __init__(self, means: Any, variances: Any, log_weights: Any, family: CountFamily) -> None:
        self.means, self.variances, columns = read_mixture(means, variances, log_weights)
        self._log_weights = np.broadcast_to(columns, self.means.shape)
        self._stds = np.sqrt(self.variances)
        self.family = family

    @property
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y] = Σ_s w_s E_s[rate(f)]."""
        return self._moments()[0]

    @property
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y] = Σ_s w_s (Var_s[y] + (E_s[y] − E[y])²)."""
        return self._moments()[1]

    def log_prob(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log P(Y = y); −∞ where y is negative or not whole."""
        y = check_rows(y, len(self))
        possible = (y >= 0) & (y == np.floor(y)) & np.isfinite(y)
        counts = np.broadcast_to(np.where(possible, y, 0.0), self.means.shape).ravel()
        family = self.family
        parts = log_mean_exp(
            lambda numbers, f: family.log_mass(counts[numbers], f),
            self.means.ravel(),
            self._stds.ravel(),
        )
        total = logsumexp(self._log_weights + parts.reshape(self.means.shape), axis=0)
        return np.where(possible, np.minimum(np.asarray(total), 0.0), -np.inf)

    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y ≤ y)."""
        y = np.floor(check_rows(y, len(self)))
        inside = np.where((y >= 0) & np.isfinite(y), y, 0.0)
        value = self._cdf(np.arange(len(self)), inside)
        return np.where(y < 0, 0.0, np.where(np.isfinite(y), value, 1.0))

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y > y): small probabilities keep their digits."""
        y = np.floor(check_rows(y, len(self)))
        inside = np.where((y >= 0) & np.isfinite(y), y, 0.0)
        value = self._survival(np.arange(len(self)), inside)
        return np.where(y < 0, 1.0, np.where(np.isfinite(y), value, 0.0))

    def _find_nodes(self) -> Nodes:
        """The counts between far quantiles and their probabilities; quantiles where too many."""
        low, high = self._quantile(1e-9), self._quantile(1.0 - 1e-9)
        if len(self) == 0 or not np.all(high - low <= _MOST_NODES):
            return super()._find_nodes()
        values = low[:, None] + np.arange(int(np.max(high - low)) + 1)
        masses = np.stack([np.exp(self.log_prob(column)) for column in values.T], axis=1)
        return values, masses / masses.sum(axis=1, keepdims=True)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Σ_{k ≥ 0} (P(Y ≤ k) − 1[y ≤ k])², term by term over up to 128 counts.

        Wider distributions are smooth from one count to the next, so long panels between their
        quantiles are integrated (Euler–Maclaurin, its first correction included: 6 digits or more)
        instead of summed, and a count of 10⁵ costs no more than one of 10³.
        """
        y = check_rows(y, len(self))
        low, high = self._quantile(_TAIL), self._quantile(1.0 - _TAIL)
        # Rates beyond 2⁵³ have no quantile: their score is beyond all counts too.
        bounded = np.isfinite(y) & np.isfinite(low) & np.isfinite(high)
        y, low, high = (np.where(bounded, values, 0.0) for values in (y, low, high))
        inside = np.clip(y, low, high)
        # Below `low` the cdf is 0 and above `high` it is 1.
        total = np.abs(y - inside)
        narrow = np.flatnonzero(high - low <= _EXACT)
        total[narrow] += self._sum(narrow, low[narrow], high[narrow], inside[narrow])
        wide = np.flatnonzero(high - low > _EXACT)
        if wide.size:
            total[wide] += self._sum_by_panels(wide, low[wide], high[wide], inside[wide])
        return np.where(bounded, total, np.inf)

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of y: a component, a latent value, then a count."""
        check_num_samples(num_samples)
        generator = np.random.default_rng(seed)
        shape = (num_samples, len(self))
        component = draw_components(np.exp(self._log_weights), shape, generator)
        rows = np.arange(len(self))
        f = self.means[component, rows] + self._stds[component, rows] * generator.standard_normal(
            shape
        )
        return self.family.draw(f, generator).astype(np.float64)

    def __len__(self) -> int:
        return self.means.shape[1]

    def _take(self, rows: Int[np.ndarray, "K"]) -> "CountMixture":
        return CountMixture(
            self.means[:, rows], self.variances[:, rows], self._log_weights[:, rows], self.family
        )

    def _moments(self) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        weights = np.exp(self._log_weights)
        with np.errstate(over="ignore", invalid="ignore"):
            means, variances = self.family.moments(self.means, self.variances)
            mean = np.sum(weights * means, axis=0)
            deviations = np.where(np.isfinite(means), means - mean, 0.0)
            variance = np.sum(weights * (variances + deviations**2), axis=0)
        return mean, np.where(np.isfinite(mean), variance, np.inf)

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        """The smallest count whose cdf reaches the level."""

        def reached(rows: np.ndarray, k: np.ndarray) -> np.ndarray:
            if level <= 0.5:
                return self._cdf(rows, k) >= level
            return self._survival(rows, k) <= 1.0 - level

        weights = np.exp(self._log_weights)
        centre = np.sum(weights * self.means, axis=0)
        spread = np.sum(weights * (self.variances + (self.means - centre) ** 2), axis=0)
        with np.errstate(over="ignore"):
            typical = self.family.rate(centre) + 1.0
            guess = self.family.rate(centre + ndtri(level) * np.sqrt(spread + 1.0 / typical))
        return smallest_count(reached, guess, 0.1 * np.sqrt(guess))

    def _cdf(self, rows: Int[np.ndarray, "K"], y: Float[np.ndarray, "K"]) -> np.ndarray:
        return self._mean_of_step(self.family.cdf, rows, y, falling=True)

    def _survival(self, rows: Int[np.ndarray, "K"], y: Float[np.ndarray, "K"]) -> np.ndarray:
        return self._mean_of_step(self.family.survival, rows, y, falling=False)

    def _mean_of_step(self, step: Any, rows: Any, y: Any, falling: bool) -> np.ndarray:
        """Σ_s w_s E_s[step(y, f)] at some rows, for real y."""
        start, stop = self.family.step(y)
        means, stds = self.means[:, rows], self._stds[:, rows]
        y, start, stop = (np.broadcast_to(each, means.shape).ravel() for each in (y, start, stop))
        parts = mean_of_step(
            lambda numbers, f: step(y[numbers], f),
            start,
            stop,
            means.ravel(),
            stds.ravel(),
            falling,
        )
        total = np.sum(np.exp(self._log_weights[:, rows]) * parts.reshape(means.shape), axis=0)
        return np.minimum(total, 1.0)

    def _sum(self, rows: Any, left: Any, right: Any, y: Any) -> np.ndarray:
        """Σ_{left ≤ k < right} (F(k) − 1[y ≤ k])², one count after the other."""
        total = np.zeros(rows.size)
        for offset in range(int(np.max(right - left, initial=0))):
            todo = np.flatnonzero(left + offset < right)
            k = left[todo] + offset
            total[todo] += (self._cdf(rows[todo], k) - (y[todo] <= k)) ** 2
        return total

    def _sum_by_panels(self, rows: Any, low: Any, high: Any, y: Any) -> np.ndarray:
        """The same sum from low to high, for wide distributions."""
        # Where the cdf bends: looked up on a coarse grid, since panel edges need not be exact.
        fractions = np.linspace(0.0, 1.0, 41)
        grid = np.rint((low + 1.0) * ((high + 1.0) / (low + 1.0)) ** fractions[:, None] - 1.0)
        cdf = np.stack([self._cdf(rows, k) for k in grid])
        inner = [np.interp(_LEVELS, *pair) for pair in zip(cdf.T, grid.T, strict=True)]
        edges = np.sort(np.column_stack([low, np.rint(inner), y, high]), axis=1)
        total = np.zeros(rows.size)
        for left, right in zip(edges.T[:-1], edges.T[1:], strict=True):
            short = np.flatnonzero(right - left <= _SHORT)
            total[short] += self._sum(rows[short], left[short], right[short], y[short])
            long = np.flatnonzero(right - left > _SHORT)
            total[long] += self._integral(rows[long], left[long], right[long], y[long])
        return total

    def _integral(self, rows: Any, left: Any, right: Any, y: Any) -> np.ndarray:
        """Σ_{left ≤ k < right} g(k) ≈ ∫ g − (1/24) [g′], both from left − ½ to right − ½."""
        above = y <= left
        half = 0.5 * (right - left)
        integral = np.zeros(rows.size)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            integral += half * weight * self._square(rows, left - 0.5 + half * (1.0 + node), above)
        # At a count minus a half the derivative is the difference of its neighbours; F(−1) is 0.
        ends = [self._square(rows, k, above) for k in (right, right - 1.0, left)]
        before = self._square(rows, np.maximum(left - 1.0, 0.0), above)
        slope = ends[0] - ends[1] - ends[2] + np.where(left > 0, before, above)
        return integral - slope / 24.0

    def _square(self, rows: Any, k: Any, above: Any) -> np.ndarray:
        return (self._cdf(rows, k) - above) ** 2
