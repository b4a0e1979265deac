"""The cost of the Bayes decision, smoothed so that it has a gradient (`lossem` section 6).

With class probabilities p_k = E_q[p(k | f)] and prices C[k, a], the expected cost of action a is
r_a = Σ_k p_k C[k, a]. The Bayes action is arg min_a r_a; its smoothed form and its cost are

    π_a = softmax_a(−r_a / T),      cost(y) = Σ_a π_a C[y, a]

In the limit T → 0 this is the realised cost of the Bayes decision; T is in the units of the cost,
and `decisions.fit_for_cost` anneals it. The cost depends only on which side of a threshold the
probabilities are; `log_weight` · (−log p_y) may be added to calibrate them.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Float

from directgp.errors import DirectGPError
from directgp.likelihoods.base import Likelihood
from directgp.likelihoods.integrands import Integrand, LogProb
from directgp.losses.base import Integrals, Need, Score, scores
from directgp.parameters import on_device


@scores.register("cost")
class CostScore(Score):
    """The cost of acting on the predictive distribution once y is known, for classifiers.

    `prices` [K A] has a row for each class and a column for each action (as
    `BinaryCost(1, 20).for_training()`). Direct: the cost of the action for the predictive
    distribution. Gibbs: the expected cost of the action for a single draw of f. In both cases
    `log_weight` times the log loss is added.
    """

    prices: Float[Array, "K A"]
    temperature: Float[Array, ""]
    log_weight: Float[Array, ""]

    gibbs_needs: ClassVar[tuple[Need, ...]]
    direct_needs: ClassVar[tuple[Need, ...]] = ((LogProb, "log_mean_exp"),)

    def __init__(self, prices: Any, temperature: Any, log_weight: Any = 0.0):
        self.prices = on_device(prices, float)
        self.temperature = on_device(temperature, self.prices.dtype)
        self.log_weight = on_device(log_weight, self.prices.dtype)

    def __check_init__(self):
        if self.prices.ndim != 2 or min(self.prices.shape) < 2:
            raise DirectGPError(
                f"prices must be classes × actions, at least 2 × 2, got shape {self.prices.shape}"
            )
        if not isinstance(self.prices, Tracer):
            bad = self.prices[~(self.prices >= 0) | jnp.isinf(self.prices)]
            if bad.size:
                raise DirectGPError(f"prices must be finite and ≥ 0, got {float(bad[0]):g}")
        known = not isinstance(self.temperature, Tracer)
        if known and not self.temperature > 0:
            raise DirectGPError(
                f"temperature must be > 0, got {self.temperature}; use 0.1 of a cost"
            )
        if known and not self.log_weight >= 0:
            raise DirectGPError(f"log_weight must be ≥ 0, got {self.log_weight}; use 0 or 1")

    def gibbs(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        self._check_classes(likelihood)
        cost = integrals.mean(LatentCost(likelihood, self.prices, self.temperature))
        return cost - self.log_weight * integrals.mean(LogProb(likelihood))

    def direct(self, likelihood: Likelihood, integrals: Integrals) -> Float[Array, "N"]:
        self._check_classes(likelihood)

        def log_probability(k: int) -> Array:
            asked = eqx.tree_at(lambda i: i.y, integrals, jnp.full_like(integrals.y, k))
            return asked.log_mean_exp(LogProb(likelihood))

        classes = range(self.prices.shape[0])
        log_p = jnp.stack([log_probability(k) for k in classes], axis=-1)
        cost = smoothed_cost(log_p, integrals.y, self.prices, self.temperature)
        of_truth = jnp.take_along_axis(log_p, integrals.y.astype(jnp.int32)[:, None], axis=-1)
        return cost - self.log_weight * of_truth[:, 0]

    def _check_classes(self, likelihood: Likelihood) -> None:
        known = 0 if likelihood.outcomes is None else len(likelihood.outcomes)
        if known != self.prices.shape[0]:
            raise DirectGPError(
                f"the prices are for {self.prices.shape[0]} classes, but "
                f"{type(likelihood).__name__} has {known or 'none'}; give one row for each class"
            )


class LatentCost(Integrand):
    """The smoothed cost of the action for the class probabilities p(k | f) of a single f."""

    likelihood: Likelihood
    prices: Float[Array, "K A"]
    temperature: Float[Array, ""]

    def __call__(self, y: Float[Array, "*B"], f: Float[Array, "*B P"]) -> Float[Array, "*B"]:
        classes = range(self.prices.shape[0])
        each = [self.likelihood.log_prob(jnp.full_like(y, k), f) for k in classes]
        return smoothed_cost(jnp.stack(each, axis=-1), y, self.prices, self.temperature)


CostScore.gibbs_needs = ((LatentCost, "mean"), (LogProb, "mean"))


def smoothed_cost(
    log_probabilities: Float[Array, "*B K"],
    y: Float[Array, "*B"],
    prices: Float[Array, "K A"],
    temperature: Float[Array, ""],
) -> Float[Array, "*B"]:
    """Σ_a softmax_a(−r_a/T) C[y, a], r_a = Σ_k p_k C[k, a].

    Args:
        log_probabilities: log p_k of each class; they need not be normalised exactly.
        y: the true classes.
        prices: C, a row for each class and a column for each action.
        temperature: T, in the units of the cost.

    Returns:
        The smoothed cost of every row.
    """
    # Estimated probabilities (Monte Carlo, quadrature) need not sum to 1 exactly.
    expected = jax.nn.softmax(log_probabilities, axis=-1) @ prices
    action = jax.nn.softmax(-expected / temperature, axis=-1)
    return jnp.sum(action * prices[y.astype(jnp.int32)], axis=-1)
