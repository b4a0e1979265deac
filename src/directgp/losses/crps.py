"""The continuous ranked probability score (CRPS), in the units of y."""

from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogProb
from directgp.losses.base import Direct, Integrals, Need, Score, losses, scores
from directgp.losses.outcomes import mean_absolute, predicted


@scores.register("crps")
class CRPS(Score):
    """∫ (F(t) − 1[y ≤ t])² dt = E|Y − y| − ½ E|Y − Y′|, with Y and Y′ from the predictive.

    More robust to outliers than the log loss, and defined without a density. Closed form for
    mixtures with Gaussian noise; Student-t noise is a scale mixture on a grid; for counts and
    classes it is the sum Σ_k (F(k) − 1[y ≤ k])². With two classes it is the Brier score.

    Direct: the score of the predictive distribution. Gibbs: E_q of the score of p(y | f), for real
    y.
    """

    gibbs_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)
    direct_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """E|f + ε − y| − ½ E|ε − ε′| with noise ε; the variance of f is in the first term only."""
        q = integrals.marginals
        log_shares, noise = likelihood.noise_at(q.mean)
        shares = jnp.exp(log_shares)
        offsets = integrals.y - q.mean[..., 0]
        terms = mean_absolute(
            jnp.broadcast_to(offsets, (len(shares), *offsets.shape)),
            q.variance[..., 0] + noise,
        )
        pairs = noise[:, None, 0] + noise[:, 0]
        absolute = mean_absolute(jnp.zeros_like(pairs), pairs)
        spread = jnp.einsum("k,kln,l->n", shares, absolute, shares)
        return q.average(jnp.einsum("k,ksn->sn", shares, terms)) - 0.5 * spread

    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        return predicted(likelihood, integrals).crps(integrals.y)


losses.register("direct-crps")(lambda: Direct(CRPS()))
losses.alias("crps", "direct-crps")
