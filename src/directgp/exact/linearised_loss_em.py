"""Linearised loss-EM (`lossem` Tables 2 and 3): alternate posterior and decisions.

    E-step   q ← Gaussian approximation of p_D(v) U_M(v, h) / G(h)            (eq. 11)
    M-step   h(x_s) ← sign{ d_sᵀμ_q − √(1 + d_sᵀΣ_q d_s) · b },  b = Φ⁻¹(c₊/(c₊ + c₋))     (eq. 26)

until h no longer changes. It is a pure function that supports `jax.vmap`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from directgp.exact.alternation import alternate
from directgp.exact.ep import ep
from directgp.exact.error_costs import ErrorCosts
from directgp.exact.laplace import laplace
from directgp.exact.posterior import Posterior
from directgp.exact.target import Target
from directgp.exact.utility import Utility, check_bound, check_weights
from directgp.likelihoods.bernoulli import BernoulliProbit
from directgp.registry import Registry


class Approximated(NamedTuple):
    """q of one E-step, and a state to warm-start the next one."""

    posterior: Posterior
    state: Any


EStep = Callable[[Target, Any], Approximated]
"""(target, state or None) → q; the E-step of loss-EM."""

e_steps = Registry("E-step")
_TOLERANCE = 1e-7  # enough for decisions


@e_steps.register("laplace")
def laplace_step() -> EStep:
    """Laplace's approximation of the tilted posterior, as in the paper (Table 3)."""

    def step(target: Target, state: Any) -> Approximated:
        posterior = laplace(target, state, tolerance=_TOLERANCE)
        return Approximated(posterior, posterior.mean)

    return step


@e_steps.register("ep")
def tilted_ep_step() -> EStep:
    """EP of the tilted posterior, as suggested in `lossem` section 5."""

    def step(target: Target, state: Any) -> Approximated:
        result = ep(target, state, tolerance=_TOLERANCE)
        return Approximated(result.posterior, result.sites)

    return step


@e_steps.register("calibrated-ep")
def calibrated_ep_step() -> EStep:
    """EP of the tilted posterior, with decisions under q without its utility factor.

    To first order in h, the M-step of Table 1 minimises E_q[L(v, h)/U_M(v, hᵗ)], which removes the
    tilt. For q = cavity · U_M that is the risk of the cavity, whose sites were refined with the
    utility.
    """

    def step(target: Target, state: Any) -> Approximated:
        result = ep(target, state, tolerance=_TOLERANCE)
        return Approximated(result.untilted, result.sites)

    return step


class Calibrated(NamedTuple):
    """Decisions (True for y = 1) at the test rows, q and the number of rounds.

    `converged`: whether no decision changed in the last round and its q converged.
    """

    decisions: Bool[Array, "S"]
    posterior: Posterior
    rounds: Float[Array, ""]
    converged: Bool[Array, ""]


def linearised_loss_em(
    rows: Float[Array, "N M"],
    test_rows: Float[Array, "S M"],
    costs: ErrorCosts,
    bound: Float[Array, ""],
    *,
    e_step: str = "laplace",
    weights: Float[Array, "S"] | None = None,
    plain: Approximated | None = None,
    max_rounds: int = 20,
) -> Calibrated:
    """Loss-EM for probit classification, exact or sparse, from signed rows and test rows.

    With the largest cost as M of `lossem` eq. (7) it is the paper's algorithm, except that the
    first h is the Bayes decision of the plain approximation instead of a random one.

    Args:
        rows: signed features ±φ(x_i), one row each.
        test_rows: features of the rows that decisions are for.
        costs: the costs of the two errors.
        bound: M, at least the largest cost; ∞ for the plain approximation.
        e_step: the name of the E-step.
        weights: the distribution of the test rows, uniform by default.
        plain: the approximation without utility, if it is known.
        max_rounds: the most E-steps.
    """

    def act(latest: Approximated, weights: Array, decisions: Array) -> Array:
        return costs.bayes_decisions(latest.posterior.probit(test_rows))

    problem = (rows, test_rows, costs, bound)
    return solve_loss_em(problem, act, e_step, weights, plain, max_rounds)


def solve_loss_em(
    problem: tuple[Array, Array, ErrorCosts, Array],
    act: Callable[[Approximated, Array, Array], Array],
    e_step: str,
    weights: Float[Array, "S"] | None,
    plain: Approximated | None,
    max_rounds: int,
) -> Calibrated:
    """Alternate E- and M-steps from the Bayes decisions of the plain approximation.

    Args:
        problem: signed rows, test rows, costs and M.
        act: the M-step, a function of q, the weights of the test rows and the decisions before.
        e_step: the name of the E-step.
        weights: of the test rows, uniform by default.
        plain: the approximation without utility, if it is known.
        max_rounds: the most E-steps.

    Returns:
        Decisions, their q, and whether both converged.
    """
    rows, test_rows, costs, bound = problem
    step = e_steps.create(e_step)
    check_bound(bound, **costs._asdict())
    size, dtype = test_rows.shape[0], test_rows.dtype
    if weights is not None:
        check_weights(weights)
    share = jnp.full(size, 1.0 / size, dtype) if weights is None else weights

    def approximate(decisions: Array, latest: Approximated) -> Approximated:
        utility = utility_of(decisions, test_rows, costs, share, bound)
        return step(Target(rows, BernoulliProbit(), utility), latest.state)

    begun = step(Target(rows, BernoulliProbit()), None) if plain is None else plain
    certain = costs.bayes_decisions(begun.posterior.probit(test_rows))
    found = alternate(approximate, lambda q, h: act(q, share, h), begun, certain, max_rounds, dtype)
    posterior = found.latest.posterior
    return Calibrated(found.actions, posterior, found.rounds, found.settled & posterior.converged)


def utility_of(
    decisions: Bool[Array, "S"],
    test_rows: Float[Array, "S M"],
    costs: ErrorCosts,
    weights: Float[Array, "S"],
    bound: Float[Array, ""],
) -> Utility:
    """U_M(·, h) of given decisions.

    Args:
        decisions: True for 1.
        test_rows: features of the rows that they are for.
        costs: the costs of the two errors.
        weights: the distribution of the test rows.
        bound: M.
    """
    price = jnp.where(decisions, *costs).astype(test_rows.dtype)
    sides = jnp.where(decisions, 1.0, -1.0).astype(test_rows.dtype)
    return Utility(test_rows, sides, price, weights, bound)
