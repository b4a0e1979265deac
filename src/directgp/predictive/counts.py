"""`CountMixture`: p(y) = Σ_s w_s ∫ N(f; m_s, v_s) p(y | f) df for counts."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import logsumexp, ndtri

from directgp.predictive.base import Nodes, Predictive, Rows, check_num_samples, check_rows
from directgp.predictive.count_cdf import mean_cdf
from directgp.predictive.count_family import CountFamily
from directgp.predictive.count_sums import sum_over_counts
from directgp.predictive.mixture import draw_components, read_mixture
from directgp.predictive.quadrature import log_mean_exp, mean_of_step
from directgp.predictive.roots import bisect, smallest_count

_TAIL = 1e-9  # the CRPS squares the cdf, so its tails beyond this level are negligible
_LEAST_TAIL = 1e-6  # smaller probabilities are integrated with full relative accuracy
_LARGEST_COUNT = 2.0**53
_MOST_NODES = 1024  # expectations over more counts use quantiles


@final
class CountMixture(Predictive):
    """The distribution of a count at each of N rows, with a mixture over f integrated out.

    Probabilities have about ten correct digits for counts up to 10⁵ and more.

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
        means, stds = self.means.ravel(), self._stds.ravel()
        parts = np.empty(means.size)
        known, unknown = np.flatnonzero(stds == 0.0), np.flatnonzero(stds)
        parts[known] = family.log_mass(counts[known], means[known])
        if unknown.size:
            own = counts[unknown]
            parts[unknown] = log_mean_exp(
                lambda numbers, f: family.log_mass(own[numbers], f), means[unknown], stds[unknown]
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
        """P(Y > y), with full relative accuracy for small probabilities."""
        y = np.floor(check_rows(y, len(self)))
        inside = np.where((y >= 0) & np.isfinite(y), y, 0.0)
        value = self._survival(np.arange(len(self)), inside)
        return np.where(y < 0, 1.0, np.where(np.isfinite(y), value, 0.0))

    def _find_nodes(self) -> Nodes:
        """The counts between extreme quantiles with their probabilities; quantiles if too many."""
        low, high = self._quantile(1e-9), self._quantile(1.0 - 1e-9)
        if len(self) == 0 or not np.all(high - low <= _MOST_NODES):
            return super()._find_nodes()
        values = low[:, None] + np.arange(int(np.max(high - low)) + 1)
        masses = np.stack([np.exp(self.log_prob(column)) for column in values.T], axis=1)
        return values, masses / masses.sum(axis=1, keepdims=True)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Σ_{k ≥ 0} (P(Y ≤ k) − 1[y ≤ k])², to about ten digits.

        The terms on each side of y are smooth, and are summed by Gauss rules for whole numbers: a
        count of 10⁵ takes no longer than one of 10³.
        """
        y = check_rows(y, len(self))
        low, high = (self._quick_quantile(level, 0.01) for level in (_TAIL, 1.0 - _TAIL))
        # Counts beyond 2⁵³ are not distinct floats, so sums over them have no value.
        bounded = np.isfinite(y) & (low <= _LARGEST_COUNT) & (high <= _LARGEST_COUNT)
        y, low, high = (np.where(bounded, values, 0.0) for values in (y, low, high))
        # Below `low` the cdf is 0 and above `high` it is 1.
        total = np.abs(y - np.clip(y, low, high))
        inside = np.clip(np.ceil(y), low, high)
        first, stop = np.concatenate([low, inside]), np.concatenate([inside, high])
        rows, above = np.tile(np.arange(len(self)), 2), np.repeat([0.0, 1.0], len(self))
        parts = sum_over_counts(
            lambda runs, k: (self._quick_cdf(rows[runs], k) - above[runs]) ** 2,
            first,
            stop,
            np.tile(self._guess(0.9) - self._guess(0.1) + 1.0, 2),
        )
        total += parts.reshape(2, -1).sum(axis=0)
        return np.where(bounded, total, np.inf)

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of y: a component, a latent value, then a count; see `Predictive.sample`."""
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

        if min(level, 1.0 - level) >= _LEAST_TAIL:
            return self._quick_quantile(level)
        guess = self._guess(level)
        return _with_large(smallest_count(reached, guess, 0.1 * np.sqrt(guess)), reached)

    def _quick_quantile(self, level: float, tolerance: float = 0.0) -> Float[np.ndarray, "N"]:
        """The quantile by `_quick_cdf`, or a count at most `tolerance` (relative) above it."""

        def reached(rows: np.ndarray, k: np.ndarray) -> np.ndarray:
            return self._quick_cdf(rows, k[None])[0] >= level

        guess = self._guess(level)
        found = smallest_count(reached, guess, 0.1 * np.sqrt(guess), tolerance)
        return _with_large(found, reached)

    def _guess(self, level: float) -> Float[np.ndarray, "N"]:
        """An approximate quantile: the rate at a quantile of f, widened by the deviation of Y."""
        weights = np.exp(self._log_weights)
        centre = np.sum(weights * self.means, axis=0)
        spread = np.sum(weights * (self.variances + (self.means - centre) ** 2), axis=0)
        with np.errstate(over="ignore"):
            width = self.family.threshold_std(self.family.rate(centre))
            return self.family.rate(centre + ndtri(level) * np.sqrt(spread + width**2))

    def _quick_cdf(
        self, rows: Int[np.ndarray, "K"], y: Float[np.ndarray, "n K"]
    ) -> Float[np.ndarray, "n K"]:
        """P(Y ≤ y) at real y with an error as in `mean_cdf`, n values at each of K rows."""
        total = np.zeros(y.shape)
        for mean, std, log_weight in zip(
            self.means[:, rows], self._stds[:, rows], self._log_weights[:, rows], strict=True
        ):
            flat = (np.broadcast_to(each, y.shape).ravel() for each in (y, mean, std))
            total += np.exp(log_weight) * mean_cdf(self.family, *flat).reshape(y.shape)
        return np.minimum(total, 1.0)

    def _cdf(self, rows: Int[np.ndarray, "K"], y: Float[np.ndarray, "K"]) -> np.ndarray:
        found = self._quick_cdf(rows, y[None])[0]
        tail = np.flatnonzero(found < _LEAST_TAIL)
        found[tail] = self._mean_of_step(self.family.cdf, rows[tail], y[tail], falling=True)
        return found

    def _survival(self, rows: Int[np.ndarray, "K"], y: Float[np.ndarray, "K"]) -> np.ndarray:
        found = 1.0 - self._quick_cdf(rows, y[None])[0]
        tail = np.flatnonzero(found < _LEAST_TAIL)
        found[tail] = self._mean_of_step(self.family.survival, rows[tail], y[tail], falling=False)
        return found

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


def _with_large(
    found: Float[np.ndarray, "N"],
    reached: Callable[[Int[np.ndarray, "K"], Float[np.ndarray, "K"]], Bool[np.ndarray, "K"]],
) -> Float[np.ndarray, "N"]:
    """Quantiles, with those above 2⁵³, where every float is whole; ∞ where no float is enough."""
    rows = np.flatnonzero(np.isinf(found))
    if not rows.size:
        return found
    low, high = (np.full(rows.size, end) for end in (_LARGEST_COUNT, np.finfo(np.float64).max))
    with np.errstate(all="ignore"):
        large = bisect(lambda k: reached(rows, k), low, high)
        found[rows] = np.where(reached(rows, large), large, np.inf)
    return found
