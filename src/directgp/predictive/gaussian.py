"""`GaussianMixture`: the predictive distribution of Gaussian likelihoods, in closed form."""

from typing import Any, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import erf, log_ndtr, logsumexp, ndtr, ndtri

from directgp.errors import DirectGPError
from directgp.predictive.base import Predictive, Rows, check_num_samples, check_rows
from directgp.predictive.mixture import draw_components, read_mixture
from directgp.predictive.roots import newton_in_bracket

_LOG_SQRT_2PI = 0.5 * np.log(2 * np.pi)
_LARGEST_SCALE = 1e154
"""Its square is finite."""


@final
class GaussianMixture(Predictive):
    """A weighted mixture of S Gaussians at each of N rows, with closed forms for everything.

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
        self.means, self.variances, self._log_weights = read_mixture(means, variances, log_weights)
        self._weights = np.exp(self._log_weights)
        self._stds = np.sqrt(self.variances)

    @property
    def log_weights(self) -> Float[np.ndarray, "S N"]:
        """Log w_sn, normalised over the components of each row."""
        return np.broadcast_to(self._log_weights, self.means.shape)

    @property
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y] = Σ_s w_s m_s."""
        reference, offsets = self._offsets()
        return reference + np.sum(self._weights * offsets, axis=0)

    @property
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y] = Σ_s w_s (v_s + (m_s − E[y])²), computed without cancellation."""
        _, offsets = self._offsets()
        deviations = offsets - np.sum(self._weights * offsets, axis=0)
        return np.sum(self._weights * (self.variances + deviations**2), axis=0)

    def log_prob(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log density per unit of y: log p(y) = logsumexp_s( log w_s + log N(y; m_s, v_s) ).

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.log_prob(np.array([1000.0])).round(3).tolist()
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
        """P(Y > y) = Σ_s w_s Φ(−(y − m_s)/√v_s), with full relative accuracy for small
        probabilities.

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> f"{p.survival(20.0)[0]:.4g}"
        '2.754e-89'
        """
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        return np.minimum(np.sum(self._weights * ndtr(-z), axis=0), 1.0)

    def log_cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log P(Y ≤ y), accurate also if the probability underflows."""
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        total = logsumexp(self._log_weights + log_ndtr(z), axis=0)
        return np.minimum(np.asarray(total), 0.0)

    def log_survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log P(Y > y), accurate also if the probability underflows.

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.log_survival(1000.0).round(3).tolist()
        [-500007.827]
        """
        z = _standardise(check_rows(y, len(self)), self.means, self._stds)
        total = logsumexp(self._log_weights + log_ndtr(-z), axis=0)
        return np.minimum(np.asarray(total), 0.0)

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """CRPS in closed form (Grimit et al. 2006, eq. 5): S² terms per row, O(S N) memory.

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
        distance = np.sum(weights * mean_absolute(offset, variances), axis=0)
        # E|N(0, 2v)| = 2 √(v/π); then each pair i < j once, one component i at a time.
        spread = np.sum(weights**2 * self._stds, axis=0) * (2.0 / np.sqrt(np.pi))
        for i in range(len(means) - 1):
            pairs = mean_absolute(means[i + 1 :] - means[i], variances[i + 1 :] + variances[i])
            spread = spread + 2.0 * weights[i] * np.sum(weights[i + 1 :] * pairs, axis=0)
        # Rounding can leave −1e-17 where the score is 0.
        return np.where(finite, np.maximum(distance - 0.5 * spread, 0.0), np.inf)

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of y: a component by its weight, then a Gaussian; see `Predictive.sample`.

        >>> p = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1))
        >>> p.sample(5, seed=0).shape, bool(np.all(p.sample(5, seed=0) == p.sample(5, seed=0)))
        ((5, 3), True)
        """
        check_num_samples(num_samples)
        generator = np.random.default_rng(seed)
        component = draw_components(self._weights, (num_samples, len(self)), generator)
        rows = np.arange(len(self))
        noise = generator.standard_normal(component.shape)
        return self.means[component, rows] + self._stds[component, rows] * noise

    def affine(self, scale: float, shift: float) -> "GaussianMixture":
        """The distribution of scale · y + shift; see `Predictive.affine`.

            m → scale · m + shift,    v → scale² · v,    log p → log p − log|scale|

        >>> p = GaussianMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1))
        >>> p.affine(scale=10.0, shift=3.0)
        GaussianMixture for 1 row: mean 3, std 10
        """
        if not (abs(scale) < _LARGEST_SCALE and np.isfinite(shift)) or scale == 0:
            raise DirectGPError(
                f"scale must be below {_LARGEST_SCALE:g} and not 0, and shift finite, got {scale} "
                f"and {shift}; drop constant targets before scaling, divide large ones"
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
        """Means relative to that of the heaviest component, so that equal means stay equal."""
        heaviest = np.argmax(self.log_weights, axis=0)
        reference = self.means[heaviest, np.arange(len(self))]
        return reference, self.means - reference

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        if len(self.means) == 1:
            return self.means[0] + self._stds[0] * ndtri(level)
        # The upper half is the lower half of the mirrored mixture: 1 − level is exact there.
        sign, tail = (1.0, level) if level <= 0.5 else (-1.0, 1.0 - level)
        means, stds, log_weights = sign * self.means, self._stds, self.log_weights
        # The quantiles of the components bracket that of the mixture; one float lower, because at a
        # point mass the level may already be reached.
        of_components, present = means + stds * ndtri(tail), log_weights > -np.inf
        low = np.nextafter(np.min(np.where(present, of_components, np.inf), axis=0), -np.inf)
        high = np.max(np.where(present, of_components, -np.inf), axis=0)

        def evaluate(rows: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            m, s, w = means[:, rows], stds[:, rows], log_weights[:, rows]
            log_cdf = logsumexp(w + log_ndtr(_standardise(y, m, s)), axis=0)
            return np.asarray(log_cdf), _log_density(y, m, s, w)

        guess = sign * self.mean + self.std * ndtri(tail)
        return sign * newton_in_bracket(evaluate, np.log(tail), guess, low, high)


def _standardise(
    y: Float[np.ndarray, "N"], means: Float[np.ndarray, "S N"], stds: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, "S N"]:
    """(y − m)/√v; for a point mass −∞ below it and +∞ otherwise."""
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
        return np.asarray(logsumexp(np.where(log_weights > -np.inf, terms, -np.inf), axis=0))


def mean_absolute(
    mean: Float[np.ndarray, "S N"], variance: Float[np.ndarray, "S N"]
) -> Float[np.ndarray, "S N"]:
    """E|N(mean, variance)|.

    Args:
        mean: of the Gaussians.
        variance: of the Gaussians; may be 0.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        std = np.sqrt(variance)
        z = mean / std
        value = 2 * std * np.exp(-0.5 * z**2 - _LOG_SQRT_2PI) + mean * erf(z / np.sqrt(2))
        return np.where(std > 0, value, np.abs(mean))
