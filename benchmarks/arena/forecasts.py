"""Predictive distributions of peers, with the methods that the scores need.

The methods have the same names as those of `directgp.predictive.Predictive`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import stats


class Forecast(Protocol):
    """One distribution for each test row."""

    @property
    def mean(self) -> np.ndarray:
        """The predicted mean of each row."""
        ...

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Log density (of counts: log probability) of y at each row."""
        ...

    def crps(self, y: np.ndarray) -> np.ndarray:
        """Continuous ranked probability score of each row, in the units of y."""
        ...

    def interval(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper end of the central interval."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """Normal distributions."""

    mean: np.ndarray
    std: np.ndarray

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """See `Forecast`."""
        return stats.norm.logpdf(y, self.mean, self.std)

    def crps(self, y: np.ndarray) -> np.ndarray:
        """See `Forecast`."""
        z = (y - self.mean) / self.std
        pdf, cdf = stats.norm.pdf(z), stats.norm.cdf(z)
        return self.std * (z * (2 * cdf - 1) + 2 * pdf - 1 / np.sqrt(np.pi))

    def interval(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Forecast`."""
        half = stats.norm.ppf(0.5 + 0.5 * coverage) * self.std
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Counts:
    """Negative-binomial counts with variance mean + dispersion × mean²; Poisson at dispersion 0."""

    mean: np.ndarray
    dispersion: float

    def _distribution(self, rows: slice = slice(None)) -> Any:
        mean = self.mean[rows, None]
        if self.dispersion == 0:
            return stats.poisson(mean)
        size = 1 / self.dispersion
        return stats.nbinom(size, size / (size + mean))

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """See `Forecast`."""
        return self._distribution().logpmf(y[:, None])[:, 0]

    def crps(self, y: np.ndarray) -> np.ndarray:
        """See `Forecast`; Σ_k (F(k) − 1{y ≤ k})² up to where both have ended."""
        made = []
        for start in range(0, len(y), _PIECE):
            rows = slice(start, start + _PIECE)
            found, at = self._distribution(rows), y[rows, None]
            last = max(np.max(found.ppf(1 - 1e-7)), np.max(at)) + 1
            k = np.arange(int(last) + 1)
            made.append(np.sum((found.cdf(k) - (at <= k)) ** 2, axis=1))
        return np.concatenate(made)

    def interval(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Forecast`."""
        found, tail = self._distribution(), 0.5 * (1 - coverage)
        return found.ppf(tail)[:, 0], found.ppf(1 - tail)[:, 0]


_PIECE = 500
LEVELS = np.arange(1, 20) / 20
_MASS = 0.05
_EDGE = float(stats.norm.ppf(0.95))
_NORMAL_EXCESS = float(stats.norm.pdf(_EDGE) / _MASS - _EDGE) / (2 * _EDGE)
"""Mean excess of a normal distribution over its 95 % quantile, over the width of its interval."""
_NORMAL_GAPS = np.diff(stats.norm.ppf(LEVELS))[:, None] / _EDGE
"""Gaps between the quantiles of a normal distribution over those from the median to 95 %."""
_FINE = (np.arange(400) + 0.5) / 400


@dataclass(frozen=True)
class Quantiles:
    """A density from the 19 quantiles at 5 %, 10 %, …, 95 %.

    The distribution function is linear between quantiles. Gaps between fitted quantiles are noisy,
    and a density is one over a gap: on either side of the median gaps are drawn towards those of
    a normal distribution, by the share `smooth`; the 5 %, 50 % and 95 % quantiles stay. Quantiles
    that cross are put in order and kept `gap` apart, the median where it is. Beyond the outer ones
    the density is exponential with the 5 % that are left; its scale is `tail` × the mean excess
    that a normal distribution with the same 90 % interval has there.

    Args:
        mean: mean of each row, of a model of its own, [rows].
        quantiles: [19, rows].
        gap: least distance of neighbouring quantiles, in the units of y.
        tail: scale of the tails over that of a normal distribution.
        smooth: 0 keeps the gaps, 1 takes those of the two half-normal distributions.
    """

    mean: np.ndarray
    quantiles: np.ndarray
    gap: float
    tail: float = 1.0
    smooth: float = 0.0

    def _ordered(self) -> tuple[np.ndarray, np.ndarray]:
        q = np.sort(self.quantiles, axis=0)
        middle = len(q) // 2
        halves = np.repeat([q[middle] - q[0], q[-1] - q[middle]], middle, axis=0)
        steps = (1 - self.smooth) * np.diff(q, axis=0) + self.smooth * _NORMAL_GAPS * halves
        steps = np.maximum(steps, self.gap)
        apart = np.concatenate([np.zeros_like(q[:1]), np.cumsum(steps, axis=0)])
        return q[middle] + apart - apart[middle], steps

    def _tail_scale(self, q: np.ndarray) -> np.ndarray:
        return self.tail * _NORMAL_EXCESS * (q[-1] - q[0])

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """See `Forecast`."""
        q, steps = self._ordered()
        place = np.sum(y >= q, axis=0)
        inner = np.clip(place - 1, 0, len(steps) - 1)
        inside = np.log(_MASS / np.take_along_axis(steps, inner[None], axis=0)[0])
        scale = self._tail_scale(q)
        below = np.log(_MASS / scale) - (q[0] - y) / scale
        above = np.log(_MASS / scale) - (y - q[-1]) / scale
        return np.where(place == 0, below, np.where(place == len(q), above, inside))

    def crps(self, y: np.ndarray) -> np.ndarray:
        """See `Forecast`; twice the pinball loss, averaged over 400 levels of this distribution."""
        q, steps = self._ordered()
        total = np.zeros(len(y))
        for level in _FINE:
            if level < LEVELS[0]:
                at = q[0] + self._tail_scale(q) * np.log(level / _MASS)
            elif level > LEVELS[-1]:
                at = q[-1] - self._tail_scale(q) * np.log((1 - level) / _MASS)
            else:
                place = min(int(level * 20) - 1, len(steps) - 1)
                at = q[place] + steps[place] * (level - LEVELS[place]) / _MASS
            total += np.maximum(level * (y - at), (level - 1) * (y - at))
        return 2 * total / len(_FINE)

    def interval(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """See `Forecast`; quantiles that the model has, so 90 % or a narrower multiple of 10 %."""
        tail = round(10 * (1 - coverage)) - 1
        q, _ = self._ordered()
        return q[tail], q[len(q) - 1 - tail]


def quantile_density(
    mean: np.ndarray, quantiles: np.ndarray, valid: np.ndarray, y_valid: np.ndarray, scale: float
) -> Quantiles:
    """The quantile forecast whose gaps and tails have the best log score on validation rows.

    Args:
        mean: of the test rows.
        quantiles: of the test rows, [19, rows].
        valid: quantiles of the validation rows, [19, rows].
        y_valid: their targets.
        scale: standard deviation of y, which gaps are fractions of.
    """
    choices = [
        (gap * scale, tail, smooth)
        for gap in (1e-3, 3e-3, 1e-2, 0.03, 0.1)
        for tail in (1.0, 2.0, 4.0)
        for smooth in (0.5, 0.75, 1.0)  # less than half overfits the rows that stopped the trees
    ]

    def score(choice: tuple[float, float, float]) -> float:
        return float(np.mean(Quantiles(y_valid, valid, *choice).log_density(y_valid)))

    return Quantiles(mean, quantiles, *max(choices, key=score))
