"""`StudentTMixture`: Gaussian latent values with Student-t noise."""

from collections.abc import Callable
from typing import Any, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logsumexp

from directgp.errors import DirectGPError
from directgp.predictive.base import Predictive, Rows, check_num_samples, check_rows
from directgp.predictive.gaussian import GaussianMixture, mean_absolute
from directgp.predictive.mixture import draw_components, read_mixture
from directgp.predictive.quadrature import in_blocks

_FARTHEST = 40.0  # log-precisions down to e⁻⁴⁰: outliers up to 5e8 scales away keep their density
_MOST_POINTS = 1000  # below the middle: outliers 1500 scales away keep their density at any df


@final
class StudentTMixture(Predictive):
    """y = f + scale · t_df with f ~ Σ_s w_s N(m_s, v_s).

    A Student-t is a Gaussian whose precision is random, t_df = N(0, 1/τ), τ ~ Gamma(df/2, df/2),
    so for each component f and the noise add up exactly:

        p(y) = Σ_s w_s ∫ Gamma(τ) N(y; m_s, v_s + scale²/τ) dτ

    and only τ is integrated numerically, on a grid in log τ. Nodes over f would give separate peaks
    if the variance of f is larger than that of the noise.

    >>> p = StudentTMixture(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), scale=2.0, df=3.0)
    >>> p.log_prob(1.0).round(4).tolist(), p.variance.tolist()
    ([-1.8541], [12.0])
    """

    means: Float[np.ndarray, "S N"]
    variances: Float[np.ndarray, "S N"]

    def __init__(
        self, means: Any, variances: Any, log_weights: Any, scale: float, df: float
    ) -> None:
        self.means, self.variances, self._log_weights = read_mixture(means, variances, log_weights)
        if not (scale > 0 and np.isfinite(scale)):
            raise DirectGPError(f"scale must be positive and finite, got {scale}")
        if not (df > 1 and np.isfinite(df)):
            raise DirectGPError(
                f"df must be above 1, so that the mean exists, got {df}; use e.g. 4"
            )
        self.scale, self.df = float(scale), float(df)
        self._log_precisions, self._log_shares = _precision_grid(self.df)

    @property
    def mean(self) -> Float[np.ndarray, "N"]:
        """E[y] = Σ_s w_s m_s: the noise is symmetric."""
        return self._latent(slice(None)).mean

    @property
    def variance(self) -> Float[np.ndarray, "N"]:
        """Var[y] = Var[f] + scale² df/(df − 2), infinite for df ≤ 2."""
        noise = self.scale**2 * self.df / (self.df - 2.0) if self.df > 2 else np.inf
        return self._latent(slice(None)).variance + noise

    def log_prob(self, y: Rows) -> Float[np.ndarray, "N"]:
        """Log density per unit of y.

        >>> p = StudentTMixture(np.zeros((1, 1)), np.ones((1, 1)), np.zeros(1), scale=1.0, df=4.0)
        >>> p.log_prob(1e6).round(3).tolist()      # a Gaussian would say −5e11
        [-66.593]
        """
        y = check_rows(y, len(self))
        return self._in_blocks(lambda mixture, rows: mixture.log_prob(y[rows]))

    def cdf(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y ≤ y)."""
        y = check_rows(y, len(self))
        return self._in_blocks(lambda mixture, rows: mixture.cdf(y[rows]))

    def survival(self, y: Rows) -> Float[np.ndarray, "N"]:
        """P(Y > y), with full relative accuracy for small probabilities."""
        y = check_rows(y, len(self))
        return self._in_blocks(lambda mixture, rows: mixture.survival(y[rows]))

    def sample(self, num_samples: int, seed: int) -> Float[np.ndarray, "num_samples N"]:
        """Draws of y: a component, a latent value, then Student-t noise; see `Predictive.sample`.

        >>> p = StudentTMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1), 1.0, 4.0)
        >>> p.sample(5, seed=0).shape
        (5, 3)
        """
        check_num_samples(num_samples)
        generator = np.random.default_rng(seed)
        shape = (num_samples, len(self))
        component = draw_components(np.exp(self._log_weights), shape, generator)
        rows = np.arange(len(self))
        latent_noise = np.sqrt(self.variances)[component, rows] * generator.standard_normal(shape)
        noise = self.scale * generator.standard_t(self.df, shape)
        return self.means[component, rows] + latent_noise + noise

    def affine(self, scale: float, shift: float) -> "StudentTMixture":
        """The distribution of scale · y + shift; see `Predictive.affine`."""
        latent = self._latent(slice(None)).affine(scale, shift)
        return StudentTMixture(
            latent.means, latent.variances, latent.log_weights, abs(scale) * self.scale, self.df
        )

    def crps(self, y: Rows) -> Float[np.ndarray, "N"]:
        """E|Y − y| − ½ E|Y − Y′|, where Y − Y′ has the noise scale² (1/τ + 1/τ′).

            E|Y − y|  = Σ_i w_i  E A(y − m_i, v_i + scale²/τ),    A(m, v) = E|N(m, v)|
            E|Y − Y′| = Σ_ij w_i w_j E A(m_i − m_j, v_i + v_j + scale² (1/τ + 1/τ′))

        >>> p = StudentTMixture(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(1), scale=1.0, df=3.0)
        >>> p.crps(0.0).round(4).tolist()
        [0.2757]
        """
        y = check_rows(y, len(self))
        finite = np.isfinite(y)
        at = np.where(finite, y, 0.0)
        one = -self._log_precisions
        # Heavy tails: both integrals are truncated at the same noise, so that the errors cancel.
        # Light tails: the sum of two noises is around 2, beyond the narrow grid around 1.
        two = one if one[0] == _FARTHEST else one + np.log(2.0)
        log_shares_of_two = _log_sum_of_two(self.df, two)

        def one_block(rows: np.ndarray) -> np.ndarray:
            latent = self._latent(rows)
            m, v, w = latent.means, latent.variances, np.exp(latent.log_weights)
            total = np.zeros(rows.size)
            for i in range(len(m)):
                total += w[i] * self._mean_absolute(at[rows] - m[i], v[i], one, self._log_shares)
                for j in range(i + 1):
                    pairs = w[i] * w[j] * (0.5 if i == j else 1.0)
                    total -= pairs * self._mean_absolute(
                        m[i] - m[j], v[i] + v[j], two, log_shares_of_two
                    )
            return total

        scores = in_blocks(one_block, len(self), max(1, 1_000_000 // one.size))
        return np.where(finite, np.maximum(scores, 0.0), np.inf)

    def __len__(self) -> int:
        return self.means.shape[1]

    def _quantile(self, level: float) -> Float[np.ndarray, "N"]:
        return self._in_blocks(lambda mixture, rows: np.asarray(mixture.quantile(level)))

    def _take(self, rows: Int[np.ndarray, "K"]) -> "StudentTMixture":
        latent = self._latent(rows)
        return StudentTMixture(
            latent.means, latent.variances, latent.log_weights, self.scale, self.df
        )

    def _latent(self, rows: Any) -> GaussianMixture:
        """The mixture over f only."""
        weights = np.broadcast_to(self._log_weights, self.means.shape)
        return GaussianMixture(self.means[:, rows], self.variances[:, rows], weights[:, rows])

    def _mean_absolute(
        self, mean: np.ndarray, variance: np.ndarray, log_noise: np.ndarray, log_shares: np.ndarray
    ) -> Float[np.ndarray, "N"]:
        """E|N(mean, variance + scale² · noise)| over a grid of noise."""
        noise = self.scale**2 * np.exp(log_noise)[:, None]
        values = mean_absolute(np.broadcast_to(mean, (noise.size, mean.size)), variance + noise)
        return np.exp(log_shares) @ values

    def _in_blocks(
        self, function: Callable[[GaussianMixture, np.ndarray], np.ndarray]
    ) -> Float[np.ndarray, "N"]:
        """function(mixture over f and τ, its rows), with memory bounded for many components."""
        size = len(self.means) * self._log_shares.size
        noise = self.scale**2 * np.exp(-self._log_precisions)

        def one_block(rows: np.ndarray) -> np.ndarray:
            latent = self._latent(rows)
            shape = (self._log_shares.size, *latent.means.shape)
            means = np.broadcast_to(latent.means, shape)
            variances = latent.variances + noise[:, None, None]
            weights = latent.log_weights + self._log_shares[:, None, None]
            flat = (size, rows.size)
            mixture = GaussianMixture(
                means.reshape(flat), variances.reshape(flat), weights.reshape(flat)
            )
            return function(mixture, rows)

        return in_blocks(one_block, len(self), max(1, 2_000_000 // size))


def _precision_grid(df: float) -> tuple[Float[np.ndarray, "T"], Float[np.ndarray, "T"]]:
    """Log-precisions log τ on a uniform grid, and the log-probabilities of Gamma(df/2, df/2) there.

    The trapezoidal rule in log τ errs by |Γ(a + 2πi/h)|/Γ(a) for the tilted shapes a = (df + 1)/2
    of densities: 1e-9 with the spacing h below. It is of the order of the width of the integrand,
    which decreases with df, and so does the distance of the lower end.
    """
    shape = 0.5 * df
    spacing = 2 * np.pi / np.sqrt(20.0**2 + 50.0 * (shape + 0.5))
    # Beyond it shape · (e^u − 1 − u) > 45; either bound is sufficient.
    upper = min(np.sqrt(90.0 / shape), np.log1p(45.0 / shape) + 1.0)
    u = np.arange(-min(_FARTHEST, _MOST_POINTS * spacing), upper + spacing, spacing)
    log_density = -shape * (np.expm1(u) - u)
    return u, log_density - np.asarray(logsumexp(log_density))


def _log_sum_of_two(df: float, log_r: Float[np.ndarray, "T"]) -> Float[np.ndarray, "T"]:
    """Log-probabilities of r = 1/τ + 1/τ′ on a uniform grid of log r.

    The density is a convolution, p(r) = ∫ p(a) p(r − a) da, computed with a = r/(1 + e^{−x}).
    """
    shape = 0.5 * df
    x = min(1.0, np.sqrt(20.0 / shape)) * np.linspace(-60.0, 60.0, 1201)  # as wide as p(a) p(r − a)
    shares = np.stack([-np.logaddexp(0.0, -x), -np.logaddexp(0.0, x)])
    log_parts = log_r[:, None] + shares[:, None, :]
    with np.errstate(over="ignore"):
        log_terms = np.sum(-shape * (log_parts + np.expm1(-log_parts)), axis=0)
    log_density = np.asarray(logsumexp(log_terms, axis=1))
    return log_density - np.asarray(logsumexp(log_density))
