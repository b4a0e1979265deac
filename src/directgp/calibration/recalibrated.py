"""A predictive distribution whose cdf is mapped to observed frequencies (recalibration)."""

from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from jaxtyping import Float, Int

from directgp.errors import WrongType
from directgp.predictive import ClassProbabilities, CountMixture, Predictive, check_rows
from directgp.predictive.base import Rows, check_num_samples
from directgp.predictive.roots import bisect

_LEAST = 1e-9  # PIT values are clipped to it, so that expectations over y are finite


class Curve:
    """H, the empirical distribution of n PIT values, linear between the points (u_(i), i/(n + 1)).

    It is the identity for n = 0. P(Y ≤ Q(H⁻¹(i/(n + 1)))) = i/(n + 1) for a new row that is
    exchangeable with these, whatever the model.
    """

    def __init__(self, pits: Float[np.ndarray, "n"]) -> None:
        inside = np.sort(np.clip(pits, _LEAST, 1.0 - _LEAST))
        self._pits = np.concatenate([[0.0], inside, [1.0]])
        self._shares = np.arange(len(inside) + 2) / (len(inside) + 1)

    def share(self, u: np.ndarray) -> np.ndarray:
        """H(u)."""
        return np.interp(u, self._pits, self._shares)

    def upper(self, s: np.ndarray) -> np.ndarray:
        """1 − H(1 − s), accurate for small s."""
        return np.interp(s, 1.0 - self._pits[::-1], 1.0 - self._shares[::-1])

    def inverse(self, share: np.ndarray) -> np.ndarray:
        """H⁻¹."""
        return np.interp(share, self._shares, self._pits)

    def log_slope(self, u: np.ndarray) -> np.ndarray:
        """Log H′(u); tied values, at which H jumps, count as 1e-12 apart."""
        after = np.clip(np.searchsorted(self._pits, u, side="right"), 1, len(self._pits) - 1)
        rise = self._shares[after] - self._shares[after - 1]
        run = self._pits[after] - self._pits[after - 1]
        return np.log(rise / np.maximum(run, 1e-12))


@final
class Recalibrated(Predictive):
    """The distribution with cdf H(F(y)): F is the model's, H the calibration of the row's group.

    Its quantiles at i/(n + 1) are the conformal ones. Beyond the first and the last it has the
    tails of F, so that expectations over y are finite; these have no finite-sample guarantee.

    Args:
        base: the model's predictions.
        curves: H of each group.
        group: the index of each row's group.
    """

    def __init__(
        self, base: Predictive, curves: Sequence[Curve], group: Int[np.ndarray, "N"]
    ) -> None:
        if isinstance(base, ClassProbabilities | Recalibrated):
            raise WrongType(f"a {type(base).__name__} cannot be recalibrated by its cdf")
        self.base, self._curves, self._group = base, tuple(curves), group

    @property
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y], by `nodes`."""
        values, weights = self.nodes()
        return np.sum(weights * values, axis=1)

    @property
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y], by `nodes`."""
        values, weights = self.nodes()
        return np.sum(weights * (values - self.mean[:, None]) ** 2, axis=1)

    def log_prob(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log f(y) + log H′(F(y)); of a count log(H(F(y)) − H(F(y − 1)))."""
        y = check_rows(y, len(self))
        if isinstance(self.base, CountMixture):
            possible = (y >= 0) & (y == np.floor(y)) & np.isfinite(y)
            with np.errstate(divide="ignore"):
                mass = np.log(np.maximum(self.cdf(y) - self.cdf(y - 1.0), 0.0))
            return np.where(possible, mass, -np.inf)
        slope = self._by_group(Curve.log_slope, self.base.cdf(y))
        return self.base.log_prob(y) + slope

    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """H(F(y))."""
        return self._by_group(Curve.share, self.base.cdf(check_rows(y, len(self))))

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """1 − H(F(y))."""
        return self._by_group(Curve.upper, self.base.survival(check_rows(y, len(self))))

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of y, by inverting the cdf.

        Args:
            num_samples: the number of draws.
            seed: seed of the draws.
        """
        check_num_samples(num_samples)
        uniform = np.random.default_rng(seed).random((num_samples, len(self)))
        largest = np.full(len(self), np.finfo(np.float64).max)
        drawn = [self._by_group(Curve.inverse, each) for each in uniform]
        draws = [
            bisect(lambda y, u=u: self.base.cdf(y) >= u, -largest, largest)
            for u in (np.clip(each, _LEAST, 1.0 - _LEAST) for each in drawn)
        ]
        return np.stack(draws) if draws else np.empty((0, len(self)))

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        """Q(H⁻¹(level)), Q being the quantile of the model."""
        found = np.empty(len(self))
        for number, curve in enumerate(self._curves):
            rows = np.flatnonzero(self._group == number)
            inner = np.clip(curve.inverse(np.array([level])), _LEAST / 2, 1.0 - _LEAST / 2)
            found[rows] = self.base[rows].quantile(float(inner[0]))
        return found

    def __len__(self) -> int:
        return len(self.base)

    def _take(self, rows: Int[np.ndarray, "K"]) -> "Recalibrated":
        return Recalibrated(self.base[rows], self._curves, self._group[rows])

    def _by_group(
        self, what: Callable[[Curve, np.ndarray], np.ndarray], values: Float[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N"]:
        found = np.empty(len(values))
        for number, curve in enumerate(self._curves):
            own = self._group == number
            found[own] = what(curve, values[own])
        return found
