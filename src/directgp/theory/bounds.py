"""Bounds on φ(f) = p(y | f) and its first two derivatives in f (`dlm` Assumption 3, Table 1)."""

import math
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from directgp.errors import DirectGPError
from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Gaussian,
    Likelihood,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.parameters import float64, unwrap


class Bounds(NamedTuple):
    """0 ≤ φ ≤ B, b′ ≤ φ′ ≤ B′ and b″ ≤ φ″ ≤ B″ for one y and every f."""

    value_max: float
    slope_min: float
    slope_max: float
    curvature_min: float
    curvature_max: float

    @property
    def largest(self) -> float:
        """B* = max{B, |b′|, |B′|, |b″|, |B″|}."""
        return max(abs(bound) for bound in self)

    def covers(self, other: "Bounds", tolerance: float = 1e-9) -> bool:
        """Whether these bounds contain others.

        Args:
            other: the other bounds.
            tolerance: relative slack.
        """
        slack = tolerance * (1.0 + self.largest)
        return (
            self.value_max >= other.value_max - slack
            and self.slope_min <= other.slope_min + slack
            and self.slope_max >= other.slope_max - slack
            and self.curvature_min <= other.curvature_min + slack
            and self.curvature_max >= other.curvature_max - slack
        )


_Rule = Callable[[Likelihood, float], Bounds]
_paper: dict[type, _Rule] = {}
_tight: dict[type, _Rule] = {}


def _rule(rules: dict[type, _Rule], likelihood: type) -> Callable[[_Rule], _Rule]:
    def add(rule: _Rule) -> _Rule:
        rules[likelihood] = rule
        return rule

    return add


@float64
def paper_bounds(likelihood: Likelihood, y: float) -> Bounds:
    """The constants of `dlm` Table 1, with its errata corrected; valid, often loose.

    Args:
        likelihood: one of the table.
        y: the observation.

    >>> paper_bounds(BernoulliLogit(), 1.0)[1:3]
    (-0.25, 0.25)
    """
    if type(likelihood) not in _paper:
        names = ", ".join(sorted(kind.__name__ for kind in _paper))
        raise DirectGPError(
            f"Table 1 has no row for {type(likelihood).__name__}, only for {names}; "
            "use tight_bounds"
        )
    return _paper[type(likelihood)](likelihood, _possible(likelihood, y))


@float64
def tight_bounds(likelihood: Likelihood, y: float) -> Bounds:
    """The smallest bounds for this y: by a formula if there is one, else by `scan_bounds`.

    Args:
        likelihood: of one latent function.
        y: the observation.

    >>> round(tight_bounds(BernoulliLogit(), 1.0).curvature_max, 4)      # 1/(6√3)
    0.0962
    """
    return _tight.get(type(likelihood), scan_bounds)(likelihood, _possible(likelihood, y))


def _possible(likelihood: Likelihood, y: float) -> float:
    """Y, after a check that it is a possible observation."""
    classes = likelihood.outcomes
    if classes is None:
        return float(likelihood.check_targets([y])[0])
    if y not in classes:
        raise DirectGPError(f"y must be one of {classes.tolist()}, got {y}; give a class number")
    return float(y)


@float64
def scan_bounds(likelihood: Likelihood, y: float) -> Bounds:
    """Extremes of φ, φ′ and φ″ found on a dense grid of f, for any likelihood of one latent.

    The grid is even over |f| ≤ 60 and around the peak of p(y | f) at several widths; extremes are
    refined by parabolas. The relative error is below 1e-6.

    Args:
        likelihood: of one latent function.
        y: the observation.
    """
    if likelihood.num_latents != 1:
        raise DirectGPError(
            f"bounds are for likelihoods with one latent value, got {likelihood.num_latents}"
        )
    peak = float(likelihood.mode(jnp.asarray([float(y)]))[0, 0])
    even = np.linspace(-1.0, 1.0, 30_001)
    grids = [60.0 * even]
    if np.isfinite(peak):
        # At the peak φ′ = 0, so the width there is √(φ/−φ″).
        value, _, curvature = derivatives(likelihood, y, peak + 0.0 * even)[:, 0]
        width = math.sqrt(value / max(-curvature, 1e-12 * value))
        grids += [peak + reach * width * even for reach in (1e-2, 1.0, 100.0)]
    rows = [_extremes(likelihood, float(y), grid) for grid in grids]
    lowest, highest = np.min([row[0] for row in rows], axis=0), np.max([row[1] for row in rows], 0)
    top = math.exp(float(likelihood.log_max(jnp.asarray([float(y)]))[0]))
    return Bounds(top, float(lowest[1]), float(highest[1]), float(lowest[2]), float(highest[2]))


@eqx.filter_jit
def _log_derivatives(likelihood: Likelihood, y: jax.Array, f: jax.Array) -> tuple:
    """Log φ, (log φ)′ and (log φ)″ at every f."""

    def log_prob(f):
        return likelihood.log_prob(jnp.broadcast_to(y, f.shape), f[..., None])

    first = jax.grad(lambda f: jnp.sum(log_prob(f)))
    return log_prob(f), *jax.jvp(first, (f,), (jnp.ones_like(f),))


@float64
def derivatives(likelihood: Likelihood, y: float, f: np.ndarray) -> np.ndarray:
    """φ, φ′ = φ·(log φ)′ and φ″ = φ·((log φ)″ + (log φ)′²) at every f, as rows.

    Args:
        likelihood: of one latent function.
        y: the observation.
        f: latent values.
    """
    parts = _log_derivatives(likelihood, jnp.asarray(float(y)), jnp.asarray(f))
    log_value, slope, bend = (np.asarray(part) for part in parts)
    value = np.exp(log_value)
    with np.errstate(over="ignore", invalid="ignore"):
        table = np.stack([value, value * slope, value * (bend + slope**2)])
    return np.where(value > 0, table, 0.0)


def _extremes(likelihood: Likelihood, y: float, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    table = derivatives(likelihood, y, grid)
    return -_peaks(-table), _peaks(table)


def _peaks(table: np.ndarray) -> np.ndarray:
    """The maximum of each row, between the grid points: the top of the parabola through three."""
    best = np.clip(np.argmax(table, axis=1), 1, table.shape[1] - 2)
    rows = np.arange(len(table))
    left, middle, right = table[rows, best - 1], table[rows, best], table[rows, best + 1]
    bend = left - 2.0 * middle + right
    inside = (middle >= left) & (middle >= right) & (bend < 0)
    lift = np.where(inside, -((right - left) ** 2) / (8.0 * np.where(inside, bend, 1.0)), 0.0)
    return np.maximum(table.max(axis=1), middle + lift)


# ---------------------------------------------------------------- Table 1


@_rule(_paper, BernoulliLogit)
def _paper_logit(likelihood: Likelihood, y: float) -> Bounds:
    return Bounds(1.0, -0.25, 0.25, -0.25, 0.25)


@_rule(_paper, BernoulliProbit)
def _paper_probit(likelihood: Likelihood, y: float) -> Bounds:
    slope, curvature = 1.0 / math.sqrt(2.0 * math.pi), 1.0 / math.sqrt(2.0 * math.pi * math.e)
    return Bounds(1.0, -slope, slope, -curvature, curvature)


@_rule(_paper, Gaussian)
@_rule(_tight, Gaussian)
def _gaussian(likelihood: Likelihood, y: float) -> Bounds:
    """With c = 1/(√(2π) σ): c, ±c/(√e σ), −c/σ² and 2c/(σ² e^{3/2}); all are reached."""
    noise = float(unwrap(likelihood.noise))  # pyright: ignore[reportAttributeAccessIssue]
    top = 1.0 / math.sqrt(2.0 * math.pi * noise)
    slope = top / math.sqrt(math.e * noise)
    return Bounds(top, -slope, slope, -top / noise, 2.0 * top / noise * math.exp(-1.5))


@_rule(_paper, StudentT)
@_rule(_tight, StudentT)
def _student_t(likelihood: Likelihood, y: float) -> Bounds:
    """Table 1's row, reached at f = y, y ± σ√(ν/(ν+2)) and y ± σ√(3ν/(ν+2))."""
    scale = float(unwrap(likelihood.scale))  # pyright: ignore[reportAttributeAccessIssue]
    df = float(unwrap(likelihood.df))  # pyright: ignore[reportAttributeAccessIssue]
    log_top = math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df)
    top = math.exp(log_top) / (math.sqrt(math.pi * df) * scale)
    factor = (df + 1.0) / df
    slope = top / scale * factor * math.sqrt(df / (df + 2.0))
    slope /= ((df + 3.0) / (df + 2.0)) ** (0.5 * (df + 3.0))
    curvature = top / scale**2 * factor
    highest = 2.0 * curvature * ((df + 2.0) / (df + 5.0)) ** (0.5 * (df + 5.0))
    return Bounds(top, -slope, slope, -curvature, highest)


@_rule(_paper, PoissonSoftplus)
def _paper_poisson_softplus(likelihood: Likelihood, y: float) -> Bounds:
    return Bounds(1.0, -1.0, 1.0, -2.25, 2.25)


@_rule(_paper, PoissonExp)
def _paper_poisson_exp(likelihood: Likelihood, y: float) -> Bounds:
    return Bounds(1.0, -y - 1.0, y, -y - 0.25, 2.0 * y**2 + 3.0 * y + 2.0)


# ---------------------------------------------------------------- tight, by formula


@_rule(_tight, BernoulliLogit)
def _tight_logit(likelihood: Likelihood, y: float) -> Bounds:
    """φ′ = ±σ(1−σ) has the sign of the label; |φ″| peaks at σ = ½ ± 1/(2√3) with 1/(6√3)."""
    curvature = 1.0 / (6.0 * math.sqrt(3.0))
    low, high = (0.0, 0.25) if y > 0.5 else (-0.25, 0.0)
    return Bounds(1.0, low, high, -curvature, curvature)


@_rule(_tight, BernoulliProbit)
def _tight_probit(likelihood: Likelihood, y: float) -> Bounds:
    """As in Table 1, but φ′ = ±N(f) has the sign of the label."""
    top = _paper_probit(likelihood, y)
    low, high = (0.0, top.slope_max) if y > 0.5 else (top.slope_min, 0.0)
    return top._replace(slope_min=low, slope_max=high)


@_rule(_tight, PoissonExp)
def _tight_poisson_exp(likelihood: Likelihood, y: float) -> Bounds:
    """With λ = e^f: φ′ = φ(y−λ) is extreme at λ = y + ½ ± √(y + ¼), and φ″ at the roots of

    λ³ − 3(y+1)λ² + (3y² + 3y + 1)λ − y³ = 0.
    """
    root = math.sqrt(y + 0.25)
    at_slopes = _poisson_derivatives(y, np.array([y + 0.5 - root, y + 0.5 + root]))[1]
    cubic = [1.0, -3.0 * (y + 1.0), 3.0 * y**2 + 3.0 * y + 1.0, -(y**3)]
    roots = np.roots(cubic)
    real = np.maximum(np.real(roots[np.abs(np.imag(roots)) < 1e-6 * (1.0 + y)]), 0.0)
    at_curvatures = _poisson_derivatives(y, real)[2]
    top = math.exp((y * math.log(y) if y > 0 else 0.0) - y - math.lgamma(y + 1.0))
    return Bounds(
        top,
        min(0.0, float(at_slopes.min())),
        max(0.0, float(at_slopes.max())),
        min(0.0, float(at_curvatures.min())),
        max(0.0, float(at_curvatures.max())),
    )


def _poisson_derivatives(y: float, rate: np.ndarray) -> np.ndarray:
    """φ, φ′ and φ″ in f of a Poisson with rate e^f; zero at rate 0 for the derivatives."""
    safe = np.maximum(rate, 1e-300)
    value = np.exp(y * np.log(safe) - rate - math.lgamma(y + 1.0))
    return np.stack([value, value * (y - rate), value * ((y - rate) ** 2 - rate)])


__all__ = ["Bounds", "derivatives", "paper_bounds", "scan_bounds", "tight_bounds"]
