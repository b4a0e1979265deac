"""Exact draws from q(f) p(y | f) for Gaussian noise, which may differ between rows."""

import jax
import jax.numpy as jnp

from directgp.expectations.tilted import TiltedDraws, TiltedSampler
from directgp.likelihoods.normal import log_normal


class ConjugateSampler(TiltedSampler):
    """f | s ~ N((σ²μ_s + v_s y)/(v_s + σ²), v_s σ²/(v_s + σ²)), s with w_s N(y | μ_s, v_s + σ²).

    For y = f + Gaussian noise of variance `conditional_variance`; no proposal is rejected.
    """

    def _draw(self, likelihood, y, marginals, samples, key):
        mean, variance = marginals.mean[..., 0], marginals.variance[..., 0]
        noise = likelihood.conditional_variance(marginals.mean)
        total = variance + noise
        component_key, normal_key = jax.random.split(key)
        logits = marginals.log_weights[:, None] + log_normal(y, mean, total)
        component = jax.random.categorical(component_key, logits, axis=0, shape=(samples, len(y)))
        centre, spread = (noise * mean + variance * y) / total, jnp.sqrt(variance * noise / total)
        rows = jnp.arange(len(y))
        z = jax.random.normal(normal_key, component.shape, mean.dtype)
        f = centre[component, rows] + spread[component, rows] * z
        return TiltedDraws(f, component, jnp.ones(()))
