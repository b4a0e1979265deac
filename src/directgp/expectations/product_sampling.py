"""Product sampling (uPS): unbiased gradients of log E_q[p(y | f)] (`dlm` section 3)."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, PRNGKeyArray

from directgp.errors import DirectGPError
from directgp.expectations.base import Expectation, expectations
from directgp.expectations.choose import choose_expectation
from directgp.expectations.conjugate import ConjugateSampler
from directgp.expectations.envelopes import (
    log_likelihood,
    slope,
    tilted_peak,
)
from directgp.expectations.tilted import EnvelopeSampler, TiltedDraws, TiltedSampler
from directgp.likelihoods.integrands import Integrand, LogProb
from directgp.likelihoods.normal import log_normal
from directgp.marginals import Marginals
from directgp.parameters import without_gradient


@expectations.register("product-sampling")
class ProductSampling(Expectation):
    """Gradients from exact draws f⁽ˡ⁾ of the product q̃(f) ∝ q(f) p(y | f) (`dlm` Prop. 1).

        ∇_θ log E_q[p(y | f)] = E_q̃[∇_θ log q(f | θ)]
        ∇_φ log E_q[p_φ(y | f)] = E_q̃[∇_φ log p_φ(y | f)]

    Averages over L draws are unbiased estimates of both, for the parameters θ of q (of a mixture
    Σ_s w_s q_s too, including its weights) and for the parameters φ of the likelihood. The draws
    give the gradient only; the *value* is computed by `reporting` (default: the closed form if
    there is one, otherwise quadrature). There is no such identity for `mean`.

    `control_variates` adds multiples of (log q̃)′(f) and 1 + (f − f*)(log q̃)′(f), whose expectations
    under q̃ are zero (f* is the mode of q̃). Estimates stay unbiased, with much less variance if q is
    narrow and no variance for a Gaussian likelihood. The cost is one derivative of log p per draw.
    """

    samples: int = eqx.field(static=True, default=10)
    sampler: TiltedSampler = eqx.field(default_factory=EnvelopeSampler)
    reporting: Expectation | None = None
    control_variates: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        if self.samples < 1:
            raise DirectGPError(
                f"ProductSampling needs at least 1 sample, got {self.samples}; use 10"
            )

    def _mean(self, integrand, y, mean, variance, key):
        raise DirectGPError(
            "ProductSampling is for direct log losses, it has no plain mean; "
            "use GaussHermite() or MonteCarlo(samples) for this loss"
        )

    def _log_mean_exp(self, integrand, y, mean, variance, key):
        keys = jax.random.split(self._checked(integrand, key), mean.shape[0])
        alone = jnp.zeros(1, mean.dtype)
        components = [
            Marginals(mean[s : s + 1], variance[s : s + 1], alone) for s in range(mean.shape[0])
        ]
        return jnp.stack(
            [
                self.mixture_log_mean_exp(integrand, y, component, component_key)
                for component, component_key in zip(components, keys, strict=True)
            ]
        )

    def mixture_log_mean_exp(
        self,
        integrand: Integrand,
        y: Float[Array, "N *T"],
        marginals: Marginals,
        key: PRNGKeyArray | None,
    ) -> Float[Array, "N"]:
        draw_key, value_key = jax.random.split(self._checked(integrand, key))
        sampler, own = self.sampler, integrand.likelihood.at_rows(marginals.mean[0])
        if own is not integrand.likelihood:  # rejection sampling needs the same noise at all rows
            sampler, integrand = ConjugateSampler(), LogProb(own)
            parts = marginals.mean[..., :1], marginals.variance[..., :1]
            marginals = Marginals(*parts, marginals.log_weights)
        fixed, fixed_q = without_gradient((integrand, marginals))
        draws = sampler.draw(fixed.likelihood, y, fixed_q, self.samples, draw_key)
        if self.control_variates:
            surrogate = _controlled_log_q(fixed, y, marginals, draws)
        else:
            surrogate = _log_q(marginals, draws.f)
        if _has_parameters(integrand):
            surrogate = surrogate + log_likelihood(integrand.likelihood, y)(draws.f)
        surrogate = jnp.mean(surrogate, axis=0)
        value = self._reporting(integrand).mixture_log_mean_exp(fixed, y, fixed_q, value_key)
        # The value, with the gradient of the surrogate.
        return value + (surrogate - lax.stop_gradient(surrogate))

    def _checked(self, integrand: Integrand, key: PRNGKeyArray | None) -> PRNGKeyArray:
        if type(integrand) is not LogProb:
            raise DirectGPError(
                f"ProductSampling integrates p(y | f) only, not {type(integrand).__name__}; "
                "use GaussHermite() or MonteCarlo(samples)"
            )
        if key is None:
            raise DirectGPError("ProductSampling needs a random key; pass key=jax.random.key(seed)")
        return key

    def _reporting(self, integrand: Integrand) -> Expectation:
        if self.reporting is not None:
            return self.reporting
        return choose_expectation(((LogProb, "log_mean_exp"),), integrand.likelihood)


def _has_parameters(integrand: Integrand) -> bool:
    return any(eqx.is_inexact_array(leaf) for leaf in jax.tree.leaves(integrand))


def _log_q(marginals: Marginals, f: Float[Array, "L N"]) -> Float[Array, "L N"]:
    """Log q(f) of the mixture, with the component of a draw summed out."""
    parts = log_normal(f[:, None], marginals.mean[..., 0], marginals.variance[..., 0])
    if parts.shape[1] == 1:
        return parts[:, 0]
    return logsumexp(parts + marginals.log_weights[:, None], axis=1)


def _controlled_log_q(
    integrand: Integrand, y: Float[Array, "N *T"], marginals: Marginals, draws: TiltedDraws
) -> Float[Array, "L N"]:
    """A linear function of (μ, v, log w) with the gradient of log q(s, f) plus control variates.

    With ψ = (log q̃)′(f), d = f* − μ and s² = −1/(log q̃)″(f*):

        ∂/∂μ: (f − μ)/v + (s²/v) ψ
        ∂/∂v: ((f − μ)² − v)/(2v²) + (d s²/v²) ψ + (s²/(2v²)) (1 + (f − f*) ψ)

    With these multiples the variance is zero if log q̃ is quadratic.
    """
    moving_mean, moving_variance = marginals.mean[..., 0], marginals.variance[..., 0]
    mean, variance = lax.stop_gradient((moving_mean, moving_variance))
    peak = tilted_peak(integrand.likelihood, y, mean, variance)
    f = draws.f[:, None]
    steepness = slope(log_likelihood(integrand.likelihood, y))(draws.f)[:, None]
    offset, squared_width = f - mean, peak.width**2
    drift = steepness - offset / variance
    for_mean = offset / variance + squared_width / variance * drift
    for_variance = (
        offset**2
        - variance
        + 2.0 * (peak.mode - mean) * squared_width * drift
        + squared_width * (1.0 + (f - peak.mode) * drift)
    ) / (2.0 * variance**2)
    log_weights = marginals.log_weights[:, None]
    linear = for_mean * moving_mean + for_variance * moving_variance + log_weights
    own = draws.component[:, None] == jnp.arange(mean.shape[0])[:, None]
    return jnp.sum(jnp.where(own, linear, 0.0), axis=1)
