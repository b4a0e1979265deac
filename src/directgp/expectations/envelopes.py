"""Envelopes of the tilted density t(f) = q(f) p(y | f), for exact rejection sampling.

An envelope is an upper bound of t made of K exponential pieces, whose mass and inverse cdf have
closed forms. There are two constructions, both for whole batches. Both are valid for any choice of
points and cells, which determine only the acceptance rate:

* `tangent_envelope`, for log-concave p(y | f): tangents of log t at five points, the mode of t
  and two on either side of it.
* `cell_envelope`, for any p(y | f) that is unimodal in f (heavy tails, bimodal t): cells on which
  p(y | f) is bounded by its larger end and log q by its tangent; the cells are refined a few times
  where t is large.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from directgp.expectations.pieces import Envelope, running_sum
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.normal import log_normal

_LEAST_DROP = 1e-6
_OUTER_DROP = 1.8  # log t is lower by 1.8 at the outer tangents and by about 0.4 at the inner ones:
_INNER = 0.47  # 95 % of the proposals are accepted for a Gaussian t
_MOST_STEPS = 80
_FAR = math.asinh(6.0)  # the outermost edges lie 6 deviations from μ, or at the peak of p(y | f)
_CELL_EDGES = 24
_CELL_ROUNDS = 3


def log_likelihood(likelihood: Likelihood, y: Float[Array, "N"]) -> Callable[[Array], Array]:
    """The function f ↦ log p(y | f) for f of any shape that ends in N.

    Args:
        likelihood: p(y | f).
        y: the observations.
    """

    def function(f: Array) -> Array:
        return likelihood.log_prob(jnp.broadcast_to(y, f.shape), f[..., None])

    return function


def slope(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """The derivative of an elementwise function."""
    return jax.grad(lambda f: jnp.sum(function(f)))


def _pieces(left, right, anchor, log_height, rate) -> Envelope:
    """Pieces that bound exp(log_height + rate·(f − anchor)) on [left, right] from above.

    A flat piece gets a small slope to the right and is raised at its top. Following the sign of a
    rate that is zero up to rounding could give `top` and `slope` different signs, because XLA may
    compute the rate separately for each.
    """
    width = right - left
    least = jnp.where(width > 0, _LEAST_DROP / width, 1.0)
    rising = rate > least
    steep = jnp.where(rising, rate, jnp.maximum(-rate, least))
    lift = jnp.where(jnp.abs(rate) < least, (least + rate) * width, 0.0)
    top = jnp.where(rising, right, left)
    return Envelope(
        top=top,
        slope=jnp.where(rising, steep, -steep),
        fall=jnp.expm1(-steep * width),
        log_top=log_height + rate * (top - anchor) + lift,
    )


# ---------------------------------------------------------------- log-concave likelihoods


class TiltedPeak(NamedTuple):
    """The mode of t and the width √(−1 / (log t)″) there, both [S N]."""

    mode: Float[Array, "S N"]
    width: Float[Array, "S N"]


def tilted_peak(
    likelihood: Likelihood,
    y: Float[Array, "N"],
    mean: Float[Array, "S N"],
    variance: Float[Array, "S N"],
    from_far: bool = False,
) -> TiltedPeak:
    """Solve (log p(y | f))′ = (f − μ)/v by Newton steps within a bracket.

    A mode lies between μ and the mode of the likelihood. For log-concave p(y | f) it is at most at
    μ + v·(log p)′(μ); otherwise t(mode) ≥ t(μ) implies (f − μ)² ≤ 2v (log max p − log p(μ)). If t
    has two modes, the search from μ finds the one near μ, and the search from the other end of
    the bracket the one near the mode of the likelihood. Stops when the last step of every row is
    at most a tenth of its width.

    Args:
        likelihood: p(y | f).
        y: the observations.
        mean: μ, of the components of q(f).
        variance: v, of the components of q(f).
        from_far: whether to start at the end of the bracket that is farther from μ.
    """
    log_prob = log_likelihood(likelihood, y)
    first = slope(log_prob)
    at_mean = first(mean)
    peak = likelihood.mode(y)[..., 0]
    if likelihood.log_concave:
        far = mean + variance * at_mean
    else:
        gain = jnp.maximum(likelihood.log_max(y) - log_prob(mean), 0.0)
        far = mean + jnp.sign(at_mean) * jnp.sqrt(2.0 * variance * gain)
    far = jnp.where(at_mean > 0, jnp.minimum(far, peak), jnp.maximum(far, peak))
    low, high = jnp.minimum(mean, far), jnp.maximum(mean, far)
    unit = jnp.ones_like(mean)

    def widths(f):
        rate, bend = jax.jvp(first, (f,), (unit,))
        return rate - (f - mean) / variance, jax.lax.rsqrt(jnp.maximum(-bend, 0.0) + 1.0 / variance)

    def unfinished(state):
        count, done = state[0], state[-1]
        return (count < _MOST_STEPS) & ~jnp.all(done)

    def step(state):
        count, low, high, f, width, _ = state
        rate, width = widths(f)
        low, high = jnp.where(rate > 0, f, low), jnp.where(rate > 0, high, f)
        newton = f + rate * width**2
        inside = (newton >= low) & (newton <= high)
        new = jnp.where(inside, newton, 0.5 * (low + high))
        done = jnp.abs(new - f) <= 0.1 * width
        return count + 1, low, high, new, width, done

    near = jnp.clip(mean + at_mean / (1.0 / variance + jnp.abs(at_mean)), low, high)
    start = far if from_far else near
    state = (0, low, high, start, jnp.sqrt(variance), jnp.zeros(mean.shape, bool))
    _, _, _, mode, width, _ = lax.while_loop(unfinished, step, state)
    return TiltedPeak(mode, width)


def tangent_envelope(
    likelihood: Likelihood,
    y: Float[Array, "N"],
    mean: Float[Array, "S N"],
    variance: Float[Array, "S N"],
) -> Envelope:
    """Five tangents of log t, t(f) = N(f | mean, variance) p(y | f), for log-concave p(y | f)."""
    log_prob = log_likelihood(likelihood, y)

    def log_tilted(f):
        return log_prob(f) + log_normal(f, mean, variance)

    peak = tilted_peak(likelihood, y, mean, variance)
    points = _five_points(log_tilted, peak)
    height, pull_back = jax.vjp(log_tilted, points)
    (rate,) = pull_back(jnp.ones_like(points))
    gap = rate[:-1] - rate[1:]
    span = points[1:] - points[:-1]
    meeting = points[:-1] + (height[1:] - height[:-1] - rate[1:] * span) / jnp.where(
        gap > 0, gap, 1.0
    )
    middle = 0.5 * (points[:-1] + points[1:])
    edges = jnp.where(gap * span > 1e-8, jnp.clip(meeting, points[:-1], points[1:]), middle)
    infinite = jnp.full((1, *mean.shape), jnp.inf, mean.dtype)
    left, right = jnp.concatenate([-infinite, edges]), jnp.concatenate([edges, infinite])
    return _pieces(left, right, points, height, rate)


def _five_points(log_tilted, peak: TiltedPeak) -> Float[Array, "5 S N"]:
    """The mode and two points on either side; at the outer ones log t is lower by about 1.8."""
    sides = jnp.asarray([-1.0, 1.0], peak.mode.dtype)[:, None, None]
    height = log_tilted(peak.mode)

    def unfinished(state):
        count, _, drop = state
        return (count < _MOST_STEPS) & jnp.any((drop < 1.0) | (drop > 3.5))

    def step(state):
        count, distance, drop = state
        factor = jnp.clip((_OUTER_DROP / jnp.maximum(drop, 1e-6)) ** 0.6, 0.125, 8.0)
        keep = (drop >= 1.0) & (drop <= 3.5)
        distance = jnp.where(keep, distance, distance * factor)
        return count + 1, distance, height - log_tilted(peak.mode + sides * distance)

    distance = 1.9 * jnp.broadcast_to(peak.width, (2, *peak.width.shape))
    drop = height - log_tilted(peak.mode + sides * distance)
    _, distance, _ = lax.while_loop(unfinished, step, (0, distance, drop))
    left, right = distance
    steps = jnp.stack([-left, -_INNER * left, jnp.zeros_like(left), _INNER * right, right])
    return peak.mode + steps


# ---------------------------------------------------------------- any single-peaked likelihood


def cell_envelope(
    likelihood: Likelihood,
    y: Float[Array, "N"],
    mean: Float[Array, "S N"],
    variance: Float[Array, "S N"],
) -> Envelope:
    """Cells with p(y | f) bounded by its larger end and log q by its tangent, for unimodal p(y |
    f).

    The cell that contains the mode of p(y | f) is bounded by its maximum.
    """
    log_prob = log_likelihood(likelihood, y)
    peak = likelihood.mode(y)[..., 0]
    edges = _cells(log_prob, peak, mean, variance)
    height = lax.optimization_barrier(log_prob(edges))
    infinite = jnp.full((1, *mean.shape), jnp.inf, mean.dtype)
    left, right = jnp.concatenate([-infinite, edges]), jnp.concatenate([edges, infinite])
    larger = _larger_end(jnp.concatenate([height[:1], height, height[-1:]]))
    bound = jnp.where((left <= peak) & (peak <= right), likelihood.log_max(y), larger)
    # Tangent at the middle of the cell, or half a deviation from its end that is nearer to μ.
    half = 0.5 * jnp.minimum(edges[1:] - edges[:-1], jnp.sqrt(variance))
    middle = jnp.clip(mean, edges[:-1] + half, edges[1:] - half)
    anchor = jnp.concatenate([edges[:1], middle, edges[-1:]])
    rate = -(anchor - mean) / variance
    return _pieces(left, right, anchor, bound + log_normal(anchor, mean, variance), rate)


def _cells(log_prob, peak, mean, variance) -> Float[Array, "E S N"]:
    """Edges of cells around μ, dense where a cell would have many rejected proposals.

    The first edges are log-spaced around μ; each round adds edges:

    * A cell of mass m with a bound too large by the factor e^δ rejects about m·δ of the proposals,
      and halving every cell halves δ, so the optimal density of edges is proportional to √(m δ).
    * A wide cell far from the mass of t may have a larger bound than all of t; the logarithm of
      their ratio determines into how many parts it is split.

    One edge is at the mode of p(y | f).
    """
    deviation = jnp.sqrt(variance)
    reach = jnp.where(jnp.isfinite(peak), jnp.arcsinh((peak - mean) / deviation), 0.0)
    low, high = jnp.minimum(reach, -_FAR), jnp.maximum(reach, _FAR)
    grid = jnp.linspace(0.0, 1.0, _CELL_EDGES, dtype=mean.dtype)[:, None, None]
    edges = mean + deviation * jnp.sinh(low + (high - low) * grid)
    place = jnp.arange(_CELL_EDGES)[:, None, None]
    held = (place == jnp.argmin(jnp.abs(edges - peak), axis=0)) & jnp.isfinite(peak)
    edges = jnp.where(held & (place > 0) & (place < _CELL_EDGES - 1), peak, edges)
    for _ in range(_CELL_ROUNDS):
        height = lax.optimization_barrier(log_prob(edges))
        log_q = -0.5 * (edges - mean) ** 2 / variance
        width = edges[1:] - edges[:-1]
        waste = jnp.abs(height[1:] - height[:-1]) + width**2 / (8.0 * variance)
        log_tilted = _larger_end(height + log_q)
        top = jnp.max(log_tilted, axis=0)
        mass = lax.optimization_barrier(width * jnp.exp(log_tilted - top))
        log_total = top + jnp.log(jnp.sum(mass, axis=0))
        fine = jnp.sqrt(mass * waste)
        log_bound = _larger_end(height) + _larger_end(log_q) + jnp.log(width)
        coarse = jnp.where(width > 0, jnp.maximum(log_bound - log_total + 4.0, 0.0), 0.0)
        share = lax.optimization_barrier(_normalised(fine) + _normalised(coarse))
        edges = lax.optimization_barrier(_add_edges(edges, share))
    return edges


def _larger_end(values: Array) -> Array:
    return jnp.maximum(values[1:], values[:-1])


def _normalised(share: Array) -> Array:
    return share / jnp.maximum(jnp.sum(share, axis=0), 1e-300)


def _add_edges(edges: Float[Array, "E S N"], share: Float[Array, "C S N"]) -> Array:
    """The edges and `_CELL_EDGES` more, in proportion to the share of each cell, sorted."""
    cumulative = lax.optimization_barrier(running_sum(share))
    levels = (jnp.arange(_CELL_EDGES, dtype=edges.dtype) + 0.5) / _CELL_EDGES
    target = levels[:, None, None] * cumulative[-1]
    cell = jnp.sum(cumulative[:-1, None] <= target, axis=0, dtype=jnp.int32)
    cell = lax.optimization_barrier(cell)
    take = partial(jnp.take_along_axis, axis=0)
    left, right = take(edges[:-1], cell), take(edges[1:], cell)
    fraction = 1.0 - (take(cumulative, cell) - target) / take(share, cell)
    added = left + jnp.clip(fraction, 0.0, 1.0) * (right - left)
    # Merged without sorting: the cell of the added edge j determines its place.
    order = jnp.arange(_CELL_EDGES, dtype=jnp.int32)[:, None, None]
    own_place = cell + 1 + order
    place = jnp.arange(edges.shape[0] + _CELL_EDGES, dtype=jnp.int32)[:, None, None]
    passed = jnp.sum(own_place[:, None] <= place, axis=0, dtype=jnp.int32)
    passed = lax.optimization_barrier(passed)
    last = jnp.maximum(passed - 1, 0)
    is_added = (passed > 0) & (take(own_place, last) == place)
    old = take(edges, jnp.minimum(place - passed, edges.shape[0] - 1))
    return jnp.where(is_added, take(added, last), old)


def envelope_of(
    likelihood: Likelihood,
    y: Float[Array, "N"],
    mean: Float[Array, "S N"],
    variance: Float[Array, "S N"],
) -> Envelope:
    """`tangent_envelope` for log-concave likelihoods, otherwise `cell_envelope`.

    Args:
        likelihood: p(y | f).
        y: the observations.
        mean: of the components of q(f).
        variance: of the components of q(f).
    """
    build = tangent_envelope if likelihood.log_concave else cell_envelope
    return build(likelihood, y, mean, variance)
