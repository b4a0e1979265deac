"""The predictive distribution of y during training, for scores of the whole distribution.

CRPS and pinball loss need it. Its form depends on `Likelihood.support`:

    real      Σ_s w_s N(m_s, v_s): the mixture over f with Gaussian noise, or a scale mixture of it
    counts    masses of bins of whole numbers, of single numbers where the distribution is narrow
    classes   one mass per class
"""

from abc import abstractmethod

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import erf, ndtri
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogProb
from directgp.likelihoods.normal import log_ndtr
from directgp.losses.base import Integrals
from directgp.parameters import without_gradient
from directgp.registry import Registry

_BINS = 40
_MOST_BINS = 80
_REACH = 3.5  # extent of the bins, in standard deviations of f and of y given f
_BISECTIONS = 50
_LEAST_DENSITY = 1e-3  # relative to the peak of a Gaussian with the same standard deviation


class Outcomes(eqx.Module):
    """The distribution of y at each of N rows, differentiable in the model's parameters."""

    @abstractmethod
    def crps(self, y: Float[Array, "N"]) -> Float[Array, "N"]:
        """∫ (P(Y ≤ t) − 1[y ≤ t])² dt; for counts and classes the sum over t."""

    @abstractmethod
    def quantile(self, level: float) -> Float[Array, "N"]:
        """The q with P(Y ≤ q) = level, differentiable in the model's parameters."""


outcomes = Registry("support")


def predicted(likelihood: Likelihood, integrals: Integrals) -> Outcomes:
    """The distribution of y at every row of a batch.

    Args:
        likelihood: p(y | f).
        integrals: of the batch.
    """
    return outcomes.create(likelihood.support, likelihood, integrals)


def mean_absolute(mean: Float[Array, "*B"], variance: Float[Array, "*B"]) -> Float[Array, "*B"]:
    """E|N(m, v)| = 2 √v φ(m/√v) + m erf(m/√(2v)), for variances above 0.

    Args:
        mean: m.
        variance: v.
    """
    std = jnp.sqrt(variance)
    z = mean / std
    return std * np.sqrt(2.0 / np.pi) * jnp.exp(-0.5 * z**2) + mean * erf(z * np.sqrt(0.5))


class GaussianOutcomes(Outcomes):
    """Y ~ Σ_s w_s N(m_s, v_s)."""

    mean: Float[Array, "S N"]
    variance: Float[Array, "S N"]
    log_weights: Float[Array, "S"]

    def crps(self, y: Float[Array, "N"]) -> Float[Array, "N"]:
        """E|Y − y| − ½ E|Y − Y′| (Grimit et al. 2006, eq. 5): S² terms per row, O(S N) memory."""
        weights = jnp.exp(self.log_weights)
        distance = weights @ mean_absolute(y - self.mean, self.variance)
        if len(weights) == 1:
            return distance - jnp.sqrt(self.variance[0] / np.pi)

        @jax.checkpoint
        def pairs_with(total, component):
            weight, mean, variance = component
            values = mean_absolute(mean - self.mean, variance + self.variance)
            return total + weight * (weights @ values), None

        parts = (weights, self.mean, self.variance)
        spread, _ = lax.scan(pairs_with, jnp.zeros_like(distance), parts)
        return distance - 0.5 * spread

    def quantile(self, level: float) -> Float[Array, "N"]:
        """In closed form for one component, else by bisection, with the implicit derivative.

        F(q) = level implies dq = −dF/p. One Newton step from the root has this derivative and does
        not change the root. Between components that are far apart p is almost 0 and the quantile
        jumps; the derivative is bounded there.
        """
        if len(self.log_weights) == 1:
            return self.mean[0] + jnp.sqrt(self.variance[0]) * ndtri(level)
        fixed: GaussianOutcomes = without_gradient(self)
        of_components = fixed.mean + jnp.sqrt(fixed.variance) * ndtri(level)

        def halve(_, bracket):
            low, high = bracket
            middle = 0.5 * (low + high)
            reached = fixed._cdf(middle) >= level
            return jnp.where(reached, low, middle), jnp.where(reached, middle, high)

        bracket = jnp.min(of_components, axis=0), jnp.max(of_components, axis=0)
        low, high = lax.fori_loop(0, _BISECTIONS, halve, bracket)
        root = 0.5 * (low + high)
        return root - (self._cdf(root) - level) / fixed._density(root)

    def _cdf(self, y: Array) -> Array:
        z = (y - self.mean) / jnp.sqrt(self.variance)
        return jnp.exp(self.log_weights) @ jnp.exp(log_ndtr(z))

    def _density(self, y: Array) -> Array:
        std, weights = jnp.sqrt(self.variance), jnp.exp(self.log_weights)
        densities = jnp.exp(-0.5 * ((y - self.mean) / std) ** 2) / (std * np.sqrt(2.0 * np.pi))
        centre = weights @ self.mean
        spread = jnp.sqrt(weights @ (self.variance + (self.mean - centre) ** 2))
        return jnp.maximum(weights @ densities, _LEAST_DENSITY / spread)


@outcomes.register("real")
def _real(likelihood: Likelihood, integrals: Integrals) -> GaussianOutcomes:
    """All pairs of a component of f and a component of the noise, whose variances add."""
    q = integrals.marginals
    log_shares, noise = likelihood.noise_at(q.mean)
    size = (len(log_shares) * q.mean.shape[0], q.mean.shape[1])
    shape = (len(log_shares), *q.mean.shape[:2])
    return GaussianOutcomes(
        jnp.broadcast_to(q.mean[..., 0], shape).reshape(size),
        (q.variance[..., 0] + noise).reshape(size),
        (log_shares[:, None] + q.log_weights).reshape(-1),
    )


class BinnedOutcomes(Outcomes):
    """Y is a whole number: bin i contains `first_i` … `first_i + width_i − 1`.

    The mass of a bin is distributed evenly over its numbers. For `crps`, y must be the first number
    of a bin.
    """

    first: Float[Array, "K N"]
    width: Float[Array, "K N"]
    mass: Float[Array, "K N"]

    def crps(self, y: Float[Array, "N"]) -> Float[Array, "N"]:
        """Σ_{k < y} P(Y ≤ k)² + Σ_{k ≥ y} P(Y > k)², exact for bins of one number."""
        below = jnp.cumsum(self.mass, axis=0) - self.mass
        above = jnp.cumsum(self.mass[::-1], axis=0)[::-1] - self.mass
        step = self.mass / jnp.maximum(self.width, 1.0)
        left = _sum_of_squares(below + step, step, self.width)
        right = _sum_of_squares(above, step, self.width)
        return jnp.sum(jnp.where(self.first < y, left, right), axis=0)

    def quantile(self, level: float) -> Float[Array, "N"]:
        """Of Y + U, U uniform on ±½ (Machado and Santos Silva 2005, "Quantiles for counts").

        The quantile of Y itself is a step function, whose gradient is 0.
        """
        upto = jnp.cumsum(self.mass, axis=0)
        chosen = jnp.argmax((upto >= level) & (self.mass > 0), axis=0)[None]

        def at(values: Array) -> Array:
            return jnp.take_along_axis(values, chosen, axis=0)[0]

        mass = at(self.mass)
        inside = (level - (at(upto) - mass)) / jnp.maximum(mass, 1e-12)
        return at(self.first) - 0.5 + at(self.width) * jnp.clip(inside, 0.0, 1.0)


def _sum_of_squares(start: Array, step: Array, count: Array) -> Array:
    """Σ_{j < count} (start + j · step)²."""
    last = count - 1.0
    return count * (start**2 + last * (start * step + step**2 * (2.0 * last + 1.0) / 6.0))


class ClassOutcomes(Outcomes):
    """Y is one of K classes."""

    mass: Float[Array, "K N"]

    def crps(self, y: Float[Array, "N"]) -> Float[Array, "N"]:
        """Σ_k (P(Y ≤ k) − 1[y ≤ k])²: the Brier score (p − y)² of two classes."""
        upto = jnp.cumsum(self.mass, axis=0)[:-1]
        return jnp.sum((upto - (y <= jnp.arange(len(upto))[:, None])) ** 2, axis=0)

    def quantile(self, level: float) -> Float[Array, "N"]:
        """Raises an error: classes have no quantiles."""
        raise DirectGPError(
            "Pinball needs quantiles, which classes do not have; use log loss or CRPS"
        )


@outcomes.register("classes")
def _classes(likelihood: Likelihood, integrals: Integrals) -> ClassOutcomes:
    labels = jnp.arange(max(2, likelihood.num_latents), dtype=integrals.y.dtype)[:, None]
    every = jnp.broadcast_to(labels, (len(labels), len(integrals.y)))
    return ClassOutcomes(_masses(likelihood, integrals, every))


@outcomes.register("counts")
def _counts(likelihood: Likelihood, integrals: Integrals) -> BinnedOutcomes:
    """Single numbers if few are likely; else bins between λ(f) + x·sd(f), f = m + x·√v, uniform x.

    Such bins adapt to the variance of f and to that of y given f. They are not differentiated,
    because the score does not depend on them.
    """
    q, fixed = without_gradient((integrals.marginals, likelihood))
    x = jnp.linspace(-_REACH, _REACH, _BINS)[:, None, None]
    f = (q.mean + jnp.sqrt(q.variance) * x[..., None])[..., :1]
    places = fixed.conditional_mean(f) + x * jnp.sqrt(fixed.conditional_variance(f))
    places = jnp.sort(jnp.clip(jnp.floor(places), 0.0, 1e15).reshape(-1, len(integrals.y)), axis=0)
    # A subset for mixtures, both ends included: the number of bins does not depend on that of
    # components.
    places = places[np.unique(np.linspace(0, len(places) - 1, _MOST_BINS).astype(int))]
    singly = places[0] + jnp.arange(len(places))[:, None]
    places = jnp.where(singly[-1] >= places[-1], singly, places)
    y = lax.stop_gradient(integrals.y)[None]
    edges = jnp.sort(jnp.concatenate([places, y, y + 1.0]), axis=0)
    first, width = edges[:-1], edges[1:] - edges[:-1]
    masses = _masses(likelihood, integrals, first + 0.5 * jnp.maximum(width - 1.0, 0.0)) * width
    total = jnp.maximum(jnp.sum(masses, axis=0), 1e-12)  # tails outside the bins, and rounding
    return BinnedOutcomes(first, width, masses / total)


def _masses(likelihood: Likelihood, integrals: Integrals, y: Float[Array, "K N"]) -> Array:
    """E_q[p(y | f)] of every row at each of K values."""

    def mass(values: Array) -> Array:
        here = Integrals(values, integrals.marginals, integrals.expectation, integrals.key)
        return jnp.exp(here.log_mean_exp(LogProb(likelihood)))

    # One value at a time, so that the arrays stored for the gradient fit into the cache.
    return lax.map(jax.checkpoint(mass), y)
