"""Numbers of samples for the convergence of bMC: Corollaries 5 of `dlm` and 9 of `dlm-supp`."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.likelihoods import Likelihood
from directgp.parameters import float64
from directgp.theory.bounds import Bounds

_REACH = 9.0
_PANELS = 48
_HALVINGS = 16
_POINTS = 16
_ZERO = 1e-12


class ExpectedDerivatives(NamedTuple):
    """E_q[φ], E_q[φ′] and E_q[φ″] of every row, φ(f) = p(y | f)."""

    value: Float[np.ndarray, "N"]
    slope: Float[np.ndarray, "N"]
    curvature: Float[np.ndarray, "N"]


@float64
def expected_derivatives(
    likelihood: Likelihood,
    y: Float[np.ndarray, "N"],
    mean: Float[np.ndarray, "N"],
    variance: Float[np.ndarray, "N"],
) -> ExpectedDerivatives:
    """The three averages under q(f) = N(mean, variance), by Gauss–Legendre panels.

    By Stein's lemma, E_q[φ′] = E_q[φ·(f−μ)]/v and E_q[φ″] = E_q[φ·((f−μ)²/v − 1)]/v. Panels are
    even around μ, and refined around the peak of p(y | f).

    Args:
        likelihood: p(y | f).
        y: the observations.
        mean: the mean of q(f).
        variance: the variance of q(f).
    """
    deviation = np.sqrt(variance)
    peak = np.asarray(likelihood.mode(jnp.asarray(y)))[:, 0]
    offset = np.clip(np.where(np.isfinite(peak), (peak - mean) / deviation, 0.0), -_REACH, _REACH)
    halving = _REACH * 0.5 ** np.arange(1, _HALVINGS)
    around = np.clip(offset + np.concatenate([-halving, halving])[:, None], -_REACH, _REACH)
    even = np.linspace(-_REACH, _REACH, _PANELS + 1)[:, None]
    ends = np.sort(np.concatenate([np.broadcast_to(even, (_PANELS + 1, len(y))), around]), axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = 0.5 * np.diff(ends, axis=0)
    x = 0.5 * (ends[1:] + ends[:-1]) + half * nodes[:, None, None]
    f = jnp.asarray(mean + deviation * x)
    labels = jnp.broadcast_to(jnp.asarray(y), f.shape)
    log_prob = np.asarray(likelihood.log_prob(labels, f[..., None]))
    weighted = np.exp(log_prob - 0.5 * x**2) / math.sqrt(2.0 * math.pi)
    weighted *= half * weights[:, None, None]
    moments = [np.ones_like(x), x / deviation, (x**2 - 1.0) / variance]
    return ExpectedDerivatives(*(np.sum(weighted * moment, axis=(0, 1)) for moment in moments))


class SmoothSampling(NamedTuple):
    """Corollary 9 at one step: the number of samples for each row, and the smoothing ν_t."""

    samples: Float[np.ndarray, "N"]
    smoothing: float


def samples_for_convergence(
    bounds: Sequence[Bounds],
    expected: ExpectedDerivatives,
    *,
    num_data: int,
    step: int,
    failure_probability: float,
    step_size: float | None = None,
) -> Float[np.ndarray, "N"]:
    """The L of Corollary 5 at iteration t = `step`, for each row; the largest serves all.

        L > log(6n/δ_t) / (2γ_t²) · max{ B²/E[φ]², (B′−b′)²/P², (B″−b″)²/Q² }

    P = |E[φ′]| and Q = |E[φ″]|, or 1 where they vanish; δ_t = 6δ/(π²t²), so that all steps
    together fail with probability δ at most. γ_t is `step_size`, 1/t if not given.

    Args:
        bounds: of φ and its derivatives at every row.
        expected: their averages under q.
        num_data: n.
        step: t.
        failure_probability: δ.
        step_size: γ_t.
    """
    if not 0.0 < failure_probability < 1.0:
        raise DirectGPError(
            f"failure_probability must be between 0 and 1, got {failure_probability}; use 0.05"
        )
    size = _checked_step_size(step, step_size)
    share = 6.0 * failure_probability / (math.pi * step) ** 2
    return _samples(bounds, expected, num_data, size, share)


def samples_for_smooth_convergence(
    bounds: Sequence[Bounds],
    expected: ExpectedDerivatives,
    *,
    num_data: int,
    step: int,
    step_size: float | None = None,
) -> SmoothSampling:
    """The L and ν of Corollary 9 (smooth-bMC, convergence with probability 1).

    As Corollary 5 with δ_t = γ_t⁴; ν_t = γ_t ζ, where ζ is the least E[φ] of all rows.

    Args:
        bounds: of φ and its derivatives at every row.
        expected: their averages under q.
        num_data: n.
        step: t.
        step_size: γ_t.
    """
    size = _checked_step_size(step, step_size)
    samples = _samples(bounds, expected, num_data, size, size**4)
    return SmoothSampling(samples, size * float(np.min(expected.value)))


def _checked_step_size(step: int, step_size: float | None) -> float:
    if step < 1:
        raise DirectGPError(f"steps are counted from 1, got {step}")
    size = 1.0 / step if step_size is None else step_size
    if not 0.0 < size <= 1.0:
        raise DirectGPError(f"step_size must be above 0 and at most 1, got {size}")
    return size


def _samples(bounds, expected, num_data: int, step_size: float, failure: float) -> np.ndarray:
    if len(bounds) != len(expected.value):
        raise DirectGPError(f"{len(expected.value)} rows need as many bounds, got {len(bounds)}")
    value, low, high, lowest, highest = np.array(bounds, dtype=float).T
    ranges = np.stack([value, high - low, highest - lowest])
    sizes = np.abs(np.stack(expected))
    vanishes = sizes <= _ZERO * ranges
    vanishes[0] = False
    with np.errstate(divide="ignore"):
        worst = np.max((ranges / np.where(vanishes, 1.0, sizes)) ** 2, axis=0)
    return np.floor(math.log(6.0 * num_data / failure) / (2.0 * step_size**2) * worst) + 1.0
