"""Linearised loss-EM (`lossem` Tables 2 and 3): posterior and decisions, each fitted to the other.

    E-step   q ← Gaussian approximation of p_D(v) U_M(v, h) / G(h)            (eq. 11)
    M-step   h(x_s) ← sign{ d_sᵀμ_q − √(1 + d_sᵀΣ_q d_s) · b },  b = Φ⁻¹(c₊/(c₊ + c₋))     (eq. 26)

until h no longer changes. One small problem as a pure function: `jax.vmap` it over thousands.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from directgp.exact.alternation import Alternated, alternate
from directgp.exact.ep import ep
from directgp.exact.laplace import laplace
from directgp.exact.posterior import Posterior
from directgp.exact.target import Target
from directgp.exact.utility import Utility, check_bound, check_weights
from directgp.likelihoods.bernoulli import BernoulliProbit
from directgp.registry import Registry


class Approximated(NamedTuple):
    """q of one E-step, and where the next one may start."""

    posterior: Posterior
    state: Any


EStep = Callable[[Target, Any], Approximated]
"""(target, state or None) → q; the E-step of loss-EM."""

e_steps = Registry("E-step")
_TOLERANCE = 1e-7  # decisions need no more


@e_steps.register("laplace")
def laplace_step() -> EStep:
    """The paper's: mode and curvature of the tilted posterior (Table 3)."""

    def step(target: Target, state: Any) -> Approximated:
        posterior = laplace(target, state, tolerance=_TOLERANCE)
        return Approximated(posterior, posterior.mean)

    return step


@e_steps.register("ep")
def tilted_ep_step() -> EStep:
    """EP of the tilted posterior in its place, as `lossem` section 5 suggests."""

    def step(target: Target, state: Any) -> Approximated:
        result = ep(target, state, tolerance=_TOLERANCE)
        return Approximated(result.posterior, result.sites)

    return step


@e_steps.register("calibrated-ep")
def calibrated_ep_step() -> EStep:
    """EP of the tilted posterior, acted on without its utility factor.

    To first order in h, the M-step of Table 1 minimises E_q[L(v, h)/U_M(v, hᵗ)]: the division
    takes the tilt out again. For q = cavity · U_M that is the risk of the cavity, whose sites
    were nevertheless refined where the utility says it matters.
    """

    def step(target: Target, state: Any) -> Approximated:
        result = ep(target, state, tolerance=_TOLERANCE)
        return Approximated(result.untilted, result.sites)

    return step


class Calibrated(NamedTuple):
    """Decisions (True for y = 1) at the test rows, the q they minimise the risk of, and rounds.

    `converged` is whether the decisions no longer changed in the last round, and its q converged.
    """

    decisions: Bool[Array, "S"]
    posterior: Posterior
    rounds: Float[Array, ""]
    converged: Bool[Array, ""]


def bayes_decisions(
    probability: Float[Array, "S"],
    false_positive: Float[Array, "*S"],
    false_negative: Float[Array, "*S"],
) -> Bool[Array, "S"]:
    """Say 1 where c₊ (1 − p) < c₋ p: `lossem` eq. (26) as a threshold on p = p_q(y = 1 | x)."""
    return false_positive * (1.0 - probability) < false_negative * probability


def expected_costs(
    probability: Float[Array, "*J S"],
    decisions: Bool[Array, "S"],
    false_positive: Float[Array, "*S"],
    false_negative: Float[Array, "*S"],
) -> Float[Array, "*J S"]:
    """What decisions are expected to cost: c₊ (1 − p) where they say 1, else c₋ p."""
    return jnp.where(decisions, false_positive * (1.0 - probability), false_negative * probability)


def linearised_loss_em(
    rows: Float[Array, "N M"],
    test_rows: Float[Array, "S M"],
    false_positive: Float[Array, "*S"],
    false_negative: Float[Array, "*S"],
    bound: Float[Array, ""],
    *,
    e_step: str = "laplace",
    weights: Float[Array, "S"] | None = None,
    plain: Approximated | None = None,
    max_rounds: int = 20,
) -> Calibrated:
    """Loss-EM for probit classification, exact or sparse, from signed rows and test rows.

    `bound` is M of `lossem` eq. (7): the largest cost gives the paper's algorithm, ∞ the plain
    approximation. `weights` is the distribution of the test rows, uniform by default. The first
    h is that of the `plain` approximation (which does not depend on the cost: give it if you have
    it), instead of a random one.
    """
    step = e_steps.create(e_step)
    check_bound(bound, false_positive=false_positive, false_negative=false_negative)
    size, dtype = test_rows.shape[0], test_rows.dtype
    if weights is None:
        weights = jnp.full(size, 1.0 / size, dtype)
    else:
        check_weights(weights)

    def act(latest: Approximated) -> Array:
        return bayes_decisions(latest.posterior.probit(test_rows), false_positive, false_negative)

    def approximate(decisions: Array, latest: Approximated) -> Approximated:
        costs = (false_positive, false_negative)
        utility = utility_of(decisions, test_rows, *costs, weights, bound)
        return step(Target(rows, BernoulliProbit(), utility), latest.state)

    begun = step(Target(rows, BernoulliProbit()), None) if plain is None else plain
    found = alternate(approximate, lambda q, _: act(q), begun, act(begun), max_rounds, dtype)
    return calibrated(found)


def calibrated(found: Alternated) -> Calibrated:
    """Decisions, their q, and whether both have settled."""
    posterior = found.latest.posterior
    return Calibrated(found.actions, posterior, found.rounds, found.settled & posterior.converged)


def utility_of(
    decisions: Bool[Array, "S"],
    test_rows: Float[Array, "S M"],
    false_positive: Float[Array, "*S"],
    false_negative: Float[Array, "*S"],
    weights: Float[Array, "S"],
    bound: Float[Array, ""],
) -> Utility:
    """U_M(·, h) of given decisions: saying 1 may cost c₊, saying 0 may cost c₋."""
    price = jnp.where(decisions, false_positive, false_negative).astype(test_rows.dtype)
    sides = jnp.where(decisions, 1.0, -1.0).astype(test_rows.dtype)
    return Utility(test_rows, sides, price, weights, bound)
