"""Calibration of a model of rates by counts it has not seen: level, slope, dispersion, scatter."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from directgp.fitting.stacking.count_member import CountMember, RateModel
from directgp.fitting.stacking.weights import log_loss_weights
from directgp.linalg.optimise import minimize

OFFSETS = np.array([-5.0, -1.6, -1.0, -0.6, -0.3, 0.0, 0.3, 0.6, 1.0, 1.6, 2.3])
"""Log factors of the rate that a row may have: e⁻⁵ stands for rows that are always 0."""
_SLOPE_DEVIATION, _LEVEL_DEVIATION = 0.2, 0.5
"""Of Gaussian priors around 1 and 0: few rows are little evidence."""
_LOG_DISPERSION = -1.0, 1.5
"""Mean and deviation of a Gaussian prior on the log dispersion."""
_LEAST_DISPERSION, _MOST_DISPERSION = 1e-4, 50.0
_BEYOND = 1.0
"""Log-rates of new rows go at most this far beyond those of training rows."""
_SMALLEST_SHARE = 0.01


class RateLine(NamedTuple):
    """log λ ← level + slope · log λ, and the dispersion of counts around it."""

    level: float
    slope: float
    dispersion: float


def log_mass(
    y: Float[np.ndarray, "N"], log_rate: Float[np.ndarray, "*S N"], dispersion: float | int
) -> Float[np.ndarray, "*S N"]:
    """Log probability of negative binomial counts of a rate.

    Args:
        y: counts.
        log_rate: of the mean.
        dispersion: Var[y] = λ + dispersion · λ².
    """
    size = 1.0 / float(dispersion)
    constant = gammaln(y + size) - gammaln(size) - gammaln(y + 1.0)
    growth = np.logaddexp(log_rate - np.log(size), 0.0)
    return constant + y * (log_rate - np.log(size)) - (y + size) * growth


def rate_line(
    log_rate: Float[np.ndarray, "N"], y: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"]
) -> RateLine:
    """The level, slope and dispersion that out-of-fold log-rates ask for, held by priors.

    Args:
        log_rate: by models that had not seen the rows.
        y: counts.
        weight: of the rows.

    >>> y = np.random.default_rng(0).poisson(6.0, 2000).astype(float)
    >>> line = rate_line(np.full(2000, np.log(3.0)), y, np.ones(2000))
    >>> bool(abs(line.level + line.slope * np.log(3.0) - np.log(6.0)) < 0.05)
    True
    """
    total = float(weight.sum())

    def objective(theta: np.ndarray) -> float:
        level, slope, log_dispersion = theta
        logs = log_mass(y, level + slope * log_rate, float(np.exp(log_dispersion)))
        prior = (level / _LEVEL_DEVIATION) ** 2 + ((slope - 1.0) / _SLOPE_DEVIATION) ** 2
        prior += ((log_dispersion - _LOG_DISPERSION[0]) / _LOG_DISPERSION[1]) ** 2
        return (0.5 * prior - float(weight @ logs)) / total

    bounds = [(-3.0, 3.0), (0.0, 2.0), tuple(np.log([_LEAST_DISPERSION, _MOST_DISPERSION]))]
    start = np.array([0.0, 1.0, _LOG_DISPERSION[0]])
    options: dict[str, Any] = {"maxiter": 60}
    found = minimize(objective, start, method="L-BFGS-B", bounds=bounds, options=options).x
    return RateLine(float(found[0]), float(found[1]), float(np.exp(found[2])))


def calibrated_rates(
    name: str,
    model: RateModel,
    log_rate: Float[np.ndarray, "N"],
    line: RateLine,
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    dispersion: float | int,
) -> CountMember:
    """A member whose offsets have the shares that counts it has not seen make most probable.

    Args:
        name: for reports.
        model: of rates.
        log_rate: out of fold.
        line: from `rate_line`.
        y: counts.
        weight: of the rows.
        dispersion: of all members of the stack.
    """
    centre = line.level + line.slope * log_rate
    logs = log_mass(y, centre + OFFSETS[:, None], dispersion)
    shares = log_loss_weights(logs.T, weight)
    kept = shares >= min(_SMALLEST_SHARE, float(shares.max()))
    top = float(np.log(np.max(y) + 1.0)) + _BEYOND
    return CountMember(
        name,
        model,
        line.level,
        line.slope,
        float(np.min(centre)) - _BEYOND,
        min(float(np.max(centre)) + _BEYOND, top),
        OFFSETS[kept],
        shares[kept] / shares[kept].sum(),
    )
