"""Linearised loss-EM (`lossem` Tables 2 and 3): posterior and decisions, each fitted to the other.

    E-step   q ← Gaussian approximation of p_D(v) U_M(v, h) / G(h)            (eq. 11)
    M-step   h(x_s) ← sign{ d_sᵀμ_q − √(1 + d_sᵀΣ_q d_s) · b },  b = Φ⁻¹(c₊/(c₊ + c₋))     (eq. 26)

until h no longer changes. One small problem as a pure function: `jax.vmap` it over thousands.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from directgp.decisions.exact.ep import ep
from directgp.decisions.exact.laplace import laplace
from directgp.decisions.exact.posterior import Posterior
from directgp.decisions.exact.target import Target
from directgp.decisions.utility import Utility
from directgp.likelihoods.bernoulli import BernoulliProbit
from directgp.registry import Registry

e_steps = Registry("E-step")


@e_steps.register("laplace")
def _laplace_step():
    """The paper's: mode and curvature of the tilted posterior (Table 3)."""
    return lambda target, start: laplace(target, start)


@e_steps.register("ep")
def _tilted_ep_step():
    """EP of the tilted posterior in its place, as `lossem` section 5 suggests."""
    return lambda target, start: ep(target).posterior


@e_steps.register("calibrated-ep")
def _calibrated_ep_step():
    """EP of the tilted posterior, acted on without its utility factor.

    To first order in h, the M-step of Table 1 minimises E_q[L(v, h)/U_M(v, hᵗ)]: the division
    takes the tilt out again. For q = cavity · U_M that is the risk of the cavity, whose sites
    were nevertheless refined where the utility says it matters.
    """
    return lambda target, start: ep(target).untilted


class Calibrated(NamedTuple):
    """Decisions (True for y = 1) at the test rows, the q they minimise the risk of, and rounds."""

    decisions: Bool[Array, "S"]
    posterior: Posterior
    rounds: Float[Array, ""]


def bayes_decisions(
    probability: Float[Array, "S"],
    false_positive: Float[Array, "*S"],
    false_negative: Float[Array, "*S"],
) -> Bool[Array, "S"]:
    """Say 1 where c₊ (1 − p) < c₋ p: `lossem` eq. (26) as a threshold on p = p_q(y = 1 | x)."""
    return false_positive * (1.0 - probability) < false_negative * probability


def linearised_loss_em(
    rows: Float[Array, "N M"],
    test_rows: Float[Array, "S M"],
    false_positive: Float[Array, "*S"],
    false_negative: Float[Array, "*S"],
    bound: Float[Array, ""],
    *,
    e_step: str = "laplace",
    weights: Float[Array, "S"] | None = None,
    max_rounds: int = 20,
) -> Calibrated:
    """Loss-EM for probit classification, exact or sparse, from signed rows and test rows.

    `bound` is M of `lossem` eq. (7): the largest cost gives the paper's algorithm, ∞ the plain
    approximation. `weights` is the distribution of the test rows, uniform by default. The first
    h is that of the plain approximation, instead of a random one.
    """
    step = e_steps.create(e_step)
    size, dtype = test_rows.shape[0], test_rows.dtype
    weights = jnp.full(size, 1.0 / size, dtype) if weights is None else weights

    def act(posterior: Posterior) -> Array:
        return bayes_decisions(posterior.probit(test_rows), false_positive, false_negative)

    def approximate(decisions: Array, start: Array) -> Posterior:
        price = jnp.where(decisions, false_positive, false_negative).astype(dtype)
        sides = jnp.where(decisions, 1.0, -1.0).astype(dtype)
        utility = Utility(test_rows, sides, price, weights, bound)
        return step(Target(rows, BernoulliProbit(), utility), start)

    def unfinished(state):
        _, _, changed, rounds = state
        return changed & (rounds < max_rounds)

    def one_round(state):
        decisions, posterior, _, rounds = state
        posterior = approximate(decisions, posterior.mean)
        new = act(posterior)
        return new, posterior, jnp.any(new != decisions), rounds + 1.0

    plain = step(Target(rows, BernoulliProbit()), jnp.zeros(rows.shape[1], dtype))
    first = (act(plain), plain, jnp.ones((), bool), jnp.zeros((), dtype))
    decisions, posterior, _, rounds = lax.while_loop(unfinished, one_round, first)
    return Calibrated(decisions, posterior, rounds)
