"""E_q[softmax(f)] for Gaussian f by quasi-random points, shifted for rare classes."""

from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from directgp.predictive.quadrature import in_blocks

MOST_POINTS = 1024
_MOVED_POINTS = 128
RARE = 0.02
_STEPS = 12
_LEAST_VARIANCE = 1e-12  # a moved point is measured in deviations
_NUMBERS_A_BLOCK = 4_000_000


def log_expected_softmax(
    mean: Float[np.ndarray, "S N K"],
    variance: Float[np.ndarray, "S N K"],
    log_weights: Float[np.ndarray, "S 1"],
) -> Float[np.ndarray, "N K"]:
    """Log Σ_s w_s E[softmax(f)_k], f ~ N(mean_s, variance_s), with the same points for all rows.

    For a class that is rare under q, few points of q are where the integrand is large. The points
    are then
    shifted to the mode f* of q(f) softmax(f)_k, with importance weights:

        E_q[p(k | f)] = E_z[p(k | f* + σz) · N(f* + σz | μ, v) / N(f* + σz | f*, v)]

    Args:
        mean: of f.
        variance: of f.
        log_weights: of the components.
    """
    components, rows, classes = mean.shape
    deviation = np.sqrt(np.maximum(variance, _LEAST_VARIANCE))
    points = normal_points(classes)

    def plain(block: np.ndarray) -> np.ndarray:
        f = mean[:, block] + deviation[:, block] * points[:, None, None, :]
        log_terms = f - _log_sum_exp(f)[..., None] + log_weights[..., None]
        return np.asarray(special.logsumexp(log_terms, axis=(0, 1))).T - np.log(len(points))

    block = max(1, _NUMBERS_A_BLOCK // (points.size * components))
    found = in_blocks(plain, rows, block).T
    rare_row, rare_class = np.nonzero(found < np.log(RARE))
    moved = points[:_MOVED_POINTS]

    def around_the_class(block: np.ndarray) -> np.ndarray:
        at, k = rare_row[block], rare_class[block]
        m, s = mean[:, at], deviation[:, at]
        shift = (_mode_with_class(m, s**2, k) - m) / s
        z = moved[:, None, None, :]
        f = m + s * (shift + z)
        own = np.take_along_axis(f, k[None, None, :, None], axis=-1)[..., 0] - _log_sum_exp(f)
        log_ratio = -np.sum(shift * (z + 0.5 * shift), axis=-1)
        log_terms = own + log_ratio + log_weights
        return np.asarray(special.logsumexp(log_terms, axis=(0, 1))) - np.log(len(moved))

    if rare_row.size:
        block = max(1, _NUMBERS_A_BLOCK // (moved.size * components))
        found[rare_row, rare_class] = in_blocks(around_the_class, rare_row.size, block)
    return found - special.logsumexp(found, axis=1, keepdims=True)


def _mode_with_class(
    mean: Float[np.ndarray, "S R K"], variance: Float[np.ndarray, "S R K"], k: Int[np.ndarray, "R"]
) -> Float[np.ndarray, "S R K"]:
    """Approximate mode of N(f | mean, variance) softmax(f)_k: f = μ + v(e_k − softmax(f)).

    Newton steps if they increase the density more than steps with the bound ½I of the curvature of
    log softmax, which always increase it. The accuracy of the mode affects only the efficiency.
    """
    own = (np.arange(mean.shape[-1]) == k[:, None])[None]

    def height(f: np.ndarray) -> np.ndarray:
        log_prob = np.sum(np.where(own, f, 0.0), axis=-1) - _log_sum_exp(f)
        return log_prob - 0.5 * np.sum((f - mean) ** 2 / variance, axis=-1)

    f = mean
    for _ in range(_STEPS):
        share = special.softmax(f, axis=-1)
        uphill = own - share - (f - mean) / variance
        # (diag(1/v + s) − ssᵀ)⁻¹ by the formula of Sherman and Morrison
        scale = 1.0 / (1.0 / variance + share)
        along = np.sum(share * scale * uphill, axis=-1, keepdims=True)
        left = 1.0 - np.sum(share**2 * scale, axis=-1, keepdims=True)
        newton = f + scale * (uphill + share * along / np.maximum(left, 1e-12))
        careful = f + uphill / (1.0 / variance + 0.5)
        better = height(newton) >= height(careful)
        f = np.where(better[..., None], newton, careful)
    return f


def _log_sum_exp(f: Float[np.ndarray, "*B K"]) -> Float[np.ndarray, "*B"]:
    """`logsumexp` without special cases, several times faster than that of SciPy."""
    top = np.max(f, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(f - top), axis=-1)) + top[..., 0]


@cache
def normal_points(dimension: int) -> Float[np.ndarray, "1024 K"]:
    """Sobol points transformed by Φ⁻¹, scrambled with a fixed seed."""
    from scipy.stats import qmc  # slow to import, and needed for several classes only

    uniform = qmc.Sobol(dimension, scramble=True, rng=0).random(MOST_POINTS)
    # Scrambled points have 30 bits and may be 0; the middle of a cell is not.
    return special.ndtri(uniform + 0.5**31)
