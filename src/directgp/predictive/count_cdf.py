"""E[P(Y ≤ k | f)], f ~ N(mean, std²), at real k, without special functions.

P(Y ≤ k | f) decreases from 1 to 0 in f, so it is the survival function of a random threshold T_k,
the f at which Y exceeds k. Then P(Y > k) = P(T_k < f) = E[Φ((mean − T_k)/std)]. The log-rate at T_k
has an elementary density (of a log-gamma variable for Poisson counts, of the logarithm of a beta
prime one for negative binomial counts) with exponential tails, for which the trapezoidal rule
converges exponentially. If std is much smaller than the deviation of T_k, Gauss–Hermite quadrature
over f needs only a few nodes.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, ndtr

from directgp.predictive.count_family import CountFamily
from directgp.predictive.quadrature import mean_of_step

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_DROP = 30.0  # nats below the peak at which the density of a threshold is cut off: 1e-13
_REACH = 8.0  # standard deviations that hold all but 1e-15 of a Gaussian
_NARROW = 0.15  # std / spread of the threshold, below which Gauss–Hermite is used
_HERMITE_NODES, _HERMITE_WEIGHTS = np.polynomial.hermite_e.hermegauss(12)
_HERMITE_WEIGHTS = _HERMITE_WEIGHTS / np.sqrt(2.0 * np.pi)
_SIZES = np.array([12, 16, 20, 24, 28, 32, 36, 40, 48, 56, 64, 80, 96, 128, 160, 208, 256])
_OUTWARDS = (7.8, 9.0, 11.0, 14.0, 18.0, 24.0, 32.0)
_BLOCK = 1 << 15  # numbers per block, so that it fits into the cache


def stirling_error(x: np.ndarray) -> np.ndarray:
    """Log Γ(x) − ((x − ½) log x − x + ½ log 2π), to 1e-14 at any x > 0."""
    far = np.maximum(x, 60.0)
    series = (1.0 - (1.0 - 2.0 / (7.0 * far**2)) / (30.0 * far**2)) / (12.0 * far)
    near = np.minimum(x, 60.0)
    plain = gammaln(near) - (near - 0.5) * np.log(near) + near - _HALF_LOG_2PI
    return np.where(x > 60.0, series, plain)


def mean_cdf(
    family: CountFamily,
    k: Float[np.ndarray, "E"],
    mean: Float[np.ndarray, "E"],
    std: Float[np.ndarray, "E"],
) -> Float[np.ndarray, "E"]:
    """P(Y ≤ k) for E Gaussians of f and real k ≥ 0.

    The absolute error is about 1e-11 where f is the log-rate, and below 1e-9 for softplus.

    Args:
        family: p(y | f).
        k: where the cdf is evaluated.
        mean: of the Gaussians.
        std: of the Gaussians.
    """
    found = np.empty(k.size)
    known = np.flatnonzero(std == 0.0)
    found[known] = family.cdf(k[known], mean[known])
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        spread = family.threshold_std(k)
        # std in units of the log-rate, at the threshold or at the mean.
        step = 0.05 * spread
        slope = family.latent((k + 1.0) * np.exp(step)) - family.latent((k + 1.0) * np.exp(-step))
        around_mean = 0.5 * (family.log_rate(mean + std) - family.log_rate(mean - std))
        std_of_log = np.maximum(std * 2.0 * step / slope, around_mean)
    narrow = np.flatnonzero((std > 0.0) & (std_of_log < _NARROW * spread))
    for start in range(0, narrow.size, _BLOCK // 12):
        part = narrow[start : start + _BLOCK // 12]
        f = mean[part] + std[part] * _HERMITE_NODES[:, None]
        found[part] = _HERMITE_WEIGHTS @ family.cdf(k[part], f)
    wide = np.flatnonzero((std > 0.0) & ~(std_of_log < _NARROW * spread))
    if wide.size:
        found[wide] = _by_threshold(
            family, k[wide], mean[wide], std[wide], spread[wide], std_of_log[wide]
        )
    return np.clip(found, 0.0, 1.0)


def _by_threshold(family, k, mean, std, spread, std_of_log) -> np.ndarray:
    """1 − E[Φ((mean − T_k)/std)] by the trapezoidal rule over the log-rate at T_k."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        low, high = _ends(family, k, spread, -1.0), _ends(family, k, spread, 1.0)
        # Above mean + 8 std the threshold is not passed.
        cut = family.log_rate(mean + _REACH * std) - np.log(k + 1.0)
        high = np.minimum(high, cut)
        # At 2π/spacing the Fourier transforms of the density, |Γ(a + iω)|/Γ(a) and the like, and of
        # the Gaussian have fallen to 1e-11.
        intervals = (high - low) * np.sqrt(1.35 * (std_of_log**-2.0 + spread**-2.0) + 7.8)
        # Valid if f is linear in the log-rate; otherwise the difference of two rules is tested.
        ends = family.latent((k + 1.0) * np.exp(high)) - family.latent((k + 1.0) * np.exp(low))
        tolerance = np.where(np.abs(ends - (high - low)) < 1e-9, 1e-2, 1e-7)
    found = np.ones(k.size)
    sizes = np.where(high > low, np.searchsorted(_SIZES, intervals), -1)
    sizes[~np.isfinite(intervals)] = _SIZES.size
    for number, size in enumerate(_SIZES.tolist()):
        group = np.flatnonzero(sizes == number)
        for start in range(0, group.size, _BLOCK // size):
            part = group[start : start + _BLOCK // size]
            fine, coarse = _trapezoid(
                family, k[part], mean[part], std[part], low[part], high[part], size
            )
            found[part] = 1.0 - fine
            # The error at least squares with each halving, so agreement to 1e-7 is enough.
            open_ = ~(np.abs(fine - coarse) <= tolerance[part])
            sizes[part[open_]] = min(number + 6, _SIZES.size)
    rest = np.flatnonzero(sizes == _SIZES.size)
    if rest.size:
        start, stop = family.step(k[rest])
        found[rest] = mean_of_step(
            lambda numbers, f: family.cdf(k[rest][numbers], f),
            start,
            stop,
            mean[rest],
            std[rest],
            falling=True,
        )
    return found


def _ends(family, k, spread, sign) -> np.ndarray:
    """The distance from its peak at which the density of the log-rate at T_k is e⁻³⁰ of it."""
    end = np.full(k.size, np.nan)
    todo = np.arange(k.size)
    for factor in _OUTWARDS:
        x = sign * factor * spread[todo]
        done = family.threshold_log_density(k[todo], x, relative=True) < -_DROP
        end[todo] = x
        todo = todo[~done]
        if todo.size == 0:
            break
    end[todo] = sign * np.inf
    return end


def _trapezoid(family, k, mean, std, low, high, size) -> tuple[np.ndarray, np.ndarray]:
    """P(Y > k) with `size` intervals, and with half of them."""
    spacing = (high - low) / size
    x = low + spacing * np.arange(size + 1.0)[:, None]
    density = np.exp(family.threshold_log_density(k, x))
    f = family.latent((k + 1.0) * np.exp(x))
    values = density * ndtr((mean - f) / std)
    return spacing * values.sum(axis=0), 2.0 * spacing * values[::2].sum(axis=0)
