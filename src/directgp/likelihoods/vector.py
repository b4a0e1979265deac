"""Likelihoods of a whole row of outputs: y is a vector, and f = A g mixes latent functions g.

    p(y | g) = Π_t p(y_t | (A g)_t),   t over the measured outputs

The latent functions g_q are independent under every component of q, so the usual expectations over
independent latent values apply to g. A loss with this likelihood scores the joint distribution of
the outputs, with the correlations that the shared g induce; a loss with the likelihood of each
output scores their marginals.
"""

import math
from abc import abstractmethod
from functools import singledispatch
from typing import Any, ClassVar, NoReturn

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.closed_forms import closed_form, power_forms
from directgp.likelihoods.gaussian_outputs import GaussianOutputs
from directgp.likelihoods.integrands import LogPower, LogProb
from directgp.parameters import unwrap
from directgp.predictive import JointGaussianMixture, JointMixture, Predictive
from directgp.predictive.softmax import normal_points

_LOG_2PI = math.log(2.0 * math.pi)
_NODES = {1: 11, 2: 11, 3: 7}
"""Gauss–Hermite nodes per output, for one to three outputs; more outputs use Sobol points."""
_POINTS = 512


class VectorLikelihood(Likelihood):
    """p(y | g) of a vector y [T] given latent values g [Q]; the last axis of y is the outputs."""

    mixing: eqx.AbstractVar[Float[Array, "T Q"]]
    """A of f = A g."""
    measured: eqx.AbstractVar[Bool[Array, "N T"]]
    """Which outputs were measured; y may be any finite number elsewhere."""

    standardise_targets: ClassVar[bool] = False

    @property
    def num_latents(self) -> int:
        return self.mixing.shape[1]

    def outputs(self, g: Float[Array, "*B Q"]) -> Float[Array, "*B T"]:
        """The f = A g of every output."""
        return g @ self.mixing.T

    def over_measured(self, values: Float[Array, "*B T"]) -> Float[Array, "*B"]:
        """Σ_t over the measured outputs of every row."""
        return jnp.sum(jnp.where(self.measured, values, 0.0), axis=-1)

    def log_power_of_component(
        self, mean: Float[Array, "S N Q"], variance: Float[Array, "S N Q"], power: float
    ) -> Float[Array, "S N"] | None:
        self._refuse("a direct robust loss")

    def outcome_rule(
        self, mean: Float[Array, "S N Q"], variance: Float[Array, "S N Q"]
    ) -> tuple[Float[Array, "K S N T"], Float[Array, "K #S #N"]]:
        self._refuse("a direct robust loss")

    def mode(self, y: Float[Array, "*B T"]) -> Float[Array, "*B Q"]:
        self._refuse("product sampling")

    def log_max(self, y: Float[Array, "*B T"]) -> Float[Array, "*B"]:
        self._refuse("product sampling")

    def initial_latent(self, y: Float[np.ndarray, "N T"]) -> Float[np.ndarray, "Q"]:
        self._refuse("an initial constant")

    @abstractmethod
    def predictive(self, mean: Any, variance: Any, log_weights: Any) -> Any:
        """A `JointPredictive` of whole rows."""

    def check_targets(self, y: Any) -> Float[np.ndarray, "N T"]:
        return np.asarray(y, np.float64)

    def _refuse(self, what: str) -> NoReturn:
        raise DirectGPError(
            f"{what} is not known for the outputs of a row together ({type(self).__name__}); use "
            "the log score, a Gibbs robust loss or a loss of each output (without Joint), and "
            "expectation=None"
        )


class GaussianVector(VectorLikelihood):
    """p(y | g) = N(y | A g, diag(noise)), with closed forms for all expectations.

    Under g ~ N(μ, diag(v)) y has the mean A μ and the covariance Σ + D, with Σ = A diag(v) Aᵀ and
    D = diag(noise).
    """

    noise: Any
    """The variance of each output's noise [T]."""
    mixing: Float[Array, "T Q"]
    measured: Bool[Array, "N T"]

    def log_prob(self, y: Float[Array, "*B T"], f: Float[Array, "*B Q"]) -> Float[Array, "*B"]:
        noise = unwrap(self.noise)
        squares = (y - self.outputs(f)) ** 2 / noise
        return self.over_measured(-0.5 * (_LOG_2PI + jnp.log(noise) + squares))

    def conditional_mean(self, f: Float[Array, "*B Q"]) -> Float[Array, "*B T"]:
        return self.outputs(f)

    def conditional_variance(self, f: Float[Array, "*B Q"]) -> Float[Array, "*B T"]:
        return jnp.broadcast_to(unwrap(self.noise), (*f.shape[:-1], len(self.mixing)))

    def predictive(self, mean: Any, variance: Any, log_weights: Any) -> JointGaussianMixture:
        noise = np.asarray(unwrap(self.noise))
        mixing, shift = np.asarray(self.mixing), np.zeros(len(noise))
        return JointGaussianMixture(mean, variance, mixing, log_weights, noise, shift)

    def log_power_integral(self, f: Float[Array, "*B Q"], power: float) -> Float[Array, "*B"]:
        """Log I = −½(power − 1) log|2πD| − ½ d log power (`gvi` eq. 18, corrected)."""
        each = (power - 1.0) * (_LOG_2PI + jnp.log(unwrap(self.noise))) + math.log(power)
        return self.over_measured(jnp.broadcast_to(-0.5 * each, (*f.shape[:-1], len(each))))

    def covariance(
        self, variance: Float[Array, "S N Q"], noise_factor: float = 1.0
    ) -> Float[Array, "S N T T"]:
        """Σ + noise_factor · D; outputs that were not measured have the covariance of N(0, I).

        Args:
            variance: v of the latent functions.
            noise_factor: multiplies the noise variance.
        """
        between = jnp.einsum("tq,snq,uq->sntu", self.mixing, variance, self.mixing)
        both = self.measured[:, :, None] & self.measured[:, None, :]
        noise = noise_factor * jnp.diag(unwrap(self.noise))
        return jnp.where(both, between + noise, jnp.eye(len(self.mixing)))

    def log_power_of_component(
        self, mean: Float[Array, "S N Q"], variance: Float[Array, "S N Q"], power: float
    ) -> Float[Array, "S N"]:
        """−½(power − 1) log|2π(Σ + D)| − ½ d log power."""
        factor = jnp.linalg.cholesky(self.covariance(variance))
        constants = self.over_measured(jnp.ones(self.measured.shape))
        constants = (power - 1.0) * _LOG_2PI * constants + math.log(power) * constants
        return -(power - 1.0) * _half_log_determinant(factor) - 0.5 * constants

    def outcome_rule(
        self, mean: Float[Array, "S N Q"], variance: Float[Array, "S N Q"]
    ) -> tuple[Float[Array, "K S N T"], Float[Array, "K 1 1"]]:
        """Nodes for N(A μ_s, Σ_s + D): Gauss–Hermite, Sobol points for more than three."""
        steps, log_weights = _normal_rule(len(self.mixing))
        factor = jnp.linalg.cholesky(self.covariance(variance))
        y = self.outputs(mean) + jnp.einsum("sntu,ku->ksnt", factor, jnp.asarray(steps))
        return y, jnp.asarray(log_weights)[:, None, None]

    def log_normal(
        self, y: Float[Array, "N T"], mean: Float[Array, "S N Q"], covariance: Float[Array, "..."]
    ) -> Float[Array, "S N"]:
        """Log N(y | A μ, covariance) of the measured outputs.

        Args:
            y: the observations.
            mean: μ of the latent functions.
            covariance: of the outputs.
        """
        factor = jnp.linalg.cholesky(covariance)
        residual = jnp.where(self.measured, y - self.outputs(mean), 0.0)
        scaled = solve_triangular(factor, residual[..., None], lower=True)[..., 0]
        constants = self.over_measured(jnp.full(self.measured.shape, 0.5 * _LOG_2PI))
        return -0.5 * jnp.sum(scaled**2, axis=-1) - _half_log_determinant(factor) - constants


class ProductVector(VectorLikelihood):
    """p(y | g) = Π_t p(y_t | (A g)_t) with one likelihood for all outputs: counts, classes, …"""

    each: Likelihood
    mixing: Float[Array, "T Q"]
    measured: Bool[Array, "N T"]

    def log_prob(self, y: Float[Array, "*B T"], f: Float[Array, "*B Q"]) -> Float[Array, "*B"]:
        return self.over_measured(self.each.log_prob(y, self.outputs(f)[..., None]))

    def conditional_mean(self, f: Float[Array, "*B Q"]) -> Float[Array, "*B T"]:
        return self.each.conditional_mean(self.outputs(f)[..., None])

    def conditional_variance(self, f: Float[Array, "*B Q"]) -> Float[Array, "*B T"]:
        return self.each.conditional_variance(self.outputs(f)[..., None])

    def predictive(self, mean: Any, variance: Any, log_weights: Any) -> JointMixture:
        def given(output: int, mean: Any, variance: Any, log_weights: Any) -> Predictive:
            return self.each.predictive(mean[..., None], variance[..., None], log_weights)

        return JointMixture(mean, variance, np.asarray(self.mixing), log_weights, given)

    def log_power_integral(self, f: Float[Array, "*B Q"], power: float) -> Float[Array, "*B"]:
        return self.over_measured(self.each.log_power_integral(self.outputs(f)[..., None], power))


def _half_log_determinant(factor: Float[Array, "*B T T"]) -> Float[Array, "*B"]:
    return jnp.sum(jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)), axis=-1)


def _normal_rule(
    dimension: int,
) -> tuple[Float[np.ndarray, "K T"], Float[np.ndarray, "K"]]:
    """Nodes and log-weights for expectations over N(0, I)."""
    if dimension not in _NODES:
        points = normal_points(dimension)[:_POINTS]
        return points, np.full(len(points), -math.log(len(points)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES[dimension])
    grids = np.meshgrid(*[nodes] * dimension, indexing="ij")
    logs = np.meshgrid(*[np.log(weights / weights.sum())] * dimension, indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=1)
    return points, np.sum([log.ravel() for log in logs], axis=0)


@closed_form(LogProb, GaussianVector, "mean")
def _expected_log_prob(integrand, y, mean, variance):
    """E_q[log p(y | g)] = Σ_t log N(y_t | (A μ)_t, σ_t²) − Σ_tt / (2σ_t²)."""
    own: GaussianVector = integrand.likelihood
    spread = variance @ (own.mixing**2).T
    every = jnp.broadcast_to(y, (len(mean), *y.shape))
    return own.log_prob(every, mean) - own.over_measured(0.5 * spread / unwrap(own.noise))


@closed_form(LogProb, GaussianVector, "log_mean_exp")
def _log_evidence(integrand, y, mean, variance):
    """Log E_q[p(y | g)] = log N(y | A μ, Σ + D)."""
    own: GaussianVector = integrand.likelihood
    return own.log_normal(y, mean, own.covariance(variance))


@closed_form(LogPower, GaussianVector, "log_mean_exp")
def _log_mean_power(integrand, y, mean, variance):
    """Log E_q[p^c] = −½[c log|2πD| + log|I + cΣD⁻¹| + c rᵀ(D + cΣ)⁻¹r], r = y − A μ.

    `gvi` eq. 19 for vectors: p^c is N(y | f, D/c) times |2πD|^{−c/2} |2πD/c|^{1/2}.
    """
    own: GaussianVector = integrand.likelihood
    c = integrand.power - 1.0
    log_noise = _LOG_2PI + jnp.log(unwrap(own.noise))
    constants = jnp.broadcast_to(-0.5 * c * log_noise + 0.5 * (log_noise - math.log(c)), y.shape)
    wide = own.covariance(variance, 1.0 / c)
    return own.over_measured(constants) + own.log_normal(y, mean, wide)


power_forms(GaussianVector)


@singledispatch
def vector_of(
    likelihood: Likelihood, mixing: Float[Array, "T Q"], measured: Bool[Array, "N T"]
) -> VectorLikelihood:
    """The likelihood of whole rows, given the likelihood of each output.

    Args:
        likelihood: of one output.
        mixing: A of f = A g.
        measured: which outputs each row has.
    """
    return ProductVector(each=likelihood, mixing=mixing, measured=measured)


@vector_of.register
def _(
    likelihood: GaussianOutputs, mixing: Float[Array, "T Q"], measured: Bool[Array, "N T"]
) -> VectorLikelihood:
    return GaussianVector(noise=likelihood.noise, mixing=mixing, measured=measured)
