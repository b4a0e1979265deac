"""Pinball loss, the scoring rule of quantiles."""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import LogProb
from directgp.losses.base import Direct, Integrals, Need, Score, losses, scores
from directgp.losses.outcomes import GaussianOutcomes, mean_absolute, predicted


@scores.register("pinball")
class Pinball(Score):
    """Mean over levels of max(level·(y − q), (level − 1)·(y − q)), q the predicted quantile.

    For decisions that depend on quantiles: a stock level, a capacity, an interval. Only the given
    levels are trained; other quantiles follow from the form of the model. For counts q is the
    quantile of Y + U with U uniform on ±½; classes have no quantiles.

    Direct: the loss of the predictive distribution. Gibbs: E_q of the loss of p(y | f), for real y.
    """

    gibbs_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)
    direct_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)
    levels: tuple[float, ...] = eqx.field(static=True, default=(0.1, 0.5, 0.9))

    def __check_init__(self):
        if not self.levels or not all(0.0 < level < 1.0 for level in self.levels):
            raise DirectGPError(
                f"levels of Pinball must lie between 0 and 1, got {self.levels}; "
                "use e.g. (0.1, 0.5, 0.9)"
            )

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        """Mean of ½ E|y − f − c| + (level − ½)(y − E f − c), c the quantile of the noise."""
        q = integrals.marginals
        log_shares, noise = likelihood.noise_at(q.mean)
        noise_only = GaussianOutcomes(jnp.zeros_like(noise[:, 0]), noise[:, 0], log_shares)
        total = jnp.zeros_like(integrals.y)
        for level in self.levels:
            error = integrals.y - q.mean[..., 0] - noise_only.quantile(level)
            spread = mean_absolute(error, q.variance[..., 0])
            total = total + q.average(0.5 * spread + (level - 0.5) * error)
        return total / len(self.levels)

    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        distribution = predicted(likelihood, integrals)
        total = jnp.zeros_like(integrals.y)
        for level in self.levels:
            error = integrals.y - distribution.quantile(level)
            total = total + jnp.maximum(level * error, (level - 1.0) * error)
        return total / len(self.levels)


losses.register("direct-pinball")(lambda: Direct(Pinball()))
losses.alias("pinball", "direct-pinball")
