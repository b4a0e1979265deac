"""Loss-EM with its own M-step (`lossem` Table 1), without the linearisation of Tables 2 and 3.

    E-step   q ← Gaussian approximation of p_D(v) U_M(v, h) / G(h)
    M-step   h ← arg max_h E_q[log U_M(v, h)]

The expectation is an average over quasi-random draws of q. log U_M does not separate over the test
rows, but its gradient does: the best action of a row minimises E_q[ℓ(v, a)/U_M(v, h)]. All rows
change together, and the M-step ends when this does not increase the bound.
"""

import jax.numpy as jnp
from jax import lax
from jax.scipy.special import ndtr
from jaxtyping import Array, Bool, Float

from directgp.exact.error_costs import ErrorCosts
from directgp.exact.linearised_loss_em import (
    Approximated,
    Calibrated,
    solve_loss_em,
)
from directgp.exact.posterior import Posterior

_M_STEPS = 10


def loss_em(
    rows: Float[Array, "N M"],
    test_rows: Float[Array, "S M"],
    costs: ErrorCosts,
    bound: Float[Array, ""],
    points: Float[Array, "J M"],
    *,
    e_step: str = "laplace",
    weights: Float[Array, "S"] | None = None,
    max_rounds: int = 20,
) -> Calibrated:
    """Loss-EM for probit classification, exact or sparse, with its own M-step.

    Args:
        rows: signed features ±φ(x_i), one row each.
        test_rows: features of the rows that decisions are for.
        costs: the costs of the two errors.
        bound: M, at least the largest cost; ∞ for the plain approximation.
        points: standard normal draws for the averages over q.
        e_step: "laplace" or "ep", which approximate p_D U_M including its tilt.
        weights: the distribution of the test rows, uniform by default.
        max_rounds: the most E-steps.
    """

    def act(latest: Approximated, weights: Array, decisions: Array) -> Array:
        probability = draw_probabilities(latest.posterior, test_rows, points)
        return improve(probability, decisions, costs, bound, weights)

    problem = (rows, test_rows, costs, bound)
    return solve_loss_em(problem, act, e_step, weights, None, max_rounds)


def draw_probabilities(
    posterior: Posterior, test_rows: Float[Array, "S M"], points: Float[Array, "J M"]
) -> Float[Array, "J S"]:
    """p(y = 1 | x_s, v_j) for draws v_j of q.

    Args:
        posterior: q.
        test_rows: scaled features of the rows.
        points: standard normal draws.
    """
    draws = posterior.mean + points @ jnp.linalg.cholesky(posterior.covariance).T
    return ndtr(draws @ test_rows.T)


def log_gain(
    probability: Float[Array, "J S"],
    decisions: Bool[Array, "S"],
    costs: ErrorCosts,
    bound: Float[Array, ""],
    weights: Float[Array, "S"] | None = None,
) -> Float[Array, ""]:
    """M·E_q[log(1 − L(v, h)/M)], the part of the bound that depends on h (`lossem` eq. 10).

    Times M, so that M → ∞ has a limit: −E_q[L(v, h)], which the plain Bayes decision maximises.

    Args:
        probability: of y = 1 for every draw and test row.
        decisions: True for 1.
        costs: the costs of the two errors.
        bound: M.
        weights: the distribution of the test rows, uniform by default.
    """
    risks = _risks(probability, weights, decisions, costs)
    finite = jnp.where(jnp.isinf(bound), 1.0, bound)
    gains = jnp.where(jnp.isinf(bound), -risks, finite * jnp.log1p(-risks / bound))
    return jnp.mean(gains)


def improve(
    probability: Float[Array, "J S"],
    decisions: Bool[Array, "S"],
    costs: ErrorCosts,
    bound: Float[Array, ""],
    weights: Float[Array, "S"] | None = None,
) -> Bool[Array, "S"]:
    """The M-step: change all decisions by the gradient of `log_gain`, while it increases.

    Args:
        probability: of y = 1 for every draw and test row.
        decisions: the initial decisions.
        costs: the costs of the two errors.
        bound: M.
        weights: the distribution of the test rows, uniform by default.
    """

    def unfinished(state):
        _, better, steps = state
        return better & (steps < _M_STEPS)

    def one_step(state):
        decisions, _, steps = state
        tilt = 1.0 / (1.0 - _risks(probability, weights, decisions, costs) / bound)
        new = costs.bayes_decisions((tilt / jnp.sum(tilt)) @ probability)
        before, after = (log_gain(probability, h, costs, bound, weights) for h in (decisions, new))
        better = after > before
        return jnp.where(better, new, decisions), better, steps + 1

    first = (decisions, jnp.ones((), bool), jnp.zeros((), int))
    return lax.while_loop(unfinished, one_step, first)[0]


def _risks(
    probability: Float[Array, "J S"],
    weights: Float[Array, "S"] | None,
    decisions: Bool[Array, "S"],
    costs: ErrorCosts,
) -> Float[Array, "J"]:
    """L(v_j, h) of every draw (`lossem` eq. 12)."""
    expected = costs.expected(probability, decisions)
    return jnp.mean(expected, axis=1) if weights is None else expected @ weights
