"""One combination: a few steps of gradient descent with each divergence, or the error.

The gradients of the loss in the marginals, of the marginals in the model, and of the penalty are
compiled separately and multiplied by the chain rule, so that each is compiled only once for all
combinations.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from directgp.divergences import KL
from directgp.errors import DirectGPError
from directgp.expectations import ClosedForm
from directgp.fitting.prepare_outputs import one_row_per_value
from directgp.fitting.square_loss_variance import with_spread
from directgp.fitting.workbench import objective_of
from directgp.losses import Gibbs, LogLoss
from directgp.models.base import Conditioned
from directgp.objective import Batch, Objective
from directgp.parameters import float64, split_trainable
from directgp.training.compiling import compiled_at_once
from directgp.training.loop import GP
from experiments.combinations.parts import DIVERGENCES, Combination, Problem, problem

STEPS, SIZE = 3, 0.01


@dataclass(frozen=True)
class Outcome:
    """The outcome of a combination; `refusal` is the error, empty if it trains."""

    model: str
    likelihood: str
    loss: str
    refusal: str = ""
    finite: tuple[bool, ...] = ()
    """For each of `DIVERGENCES`: whether objective, gradient and trained model are finite."""

    @property
    def combination(self) -> Combination:
        """The names of the parts."""
        return Combination(self.model, self.likelihood, self.loss)


@float64
def outcome(combination: Combination) -> Outcome:
    """Take three steps with each divergence, or catch the error.

    >>> outcome(Combination("1 layer", "bernoulli", "direct-pinball")).refusal
    'Pinball needs quantiles, which classes do not have; use log loss or CRPS'
    """
    try:
        start = problem(combination.model, combination.likelihood)
        finite = tuple(_descends(combination.loss, name, start) for name in DIVERGENCES)
    except DirectGPError as error:
        return Outcome(*combination, refusal=str(error))
    return Outcome(*combination, finite=finite)


def _descends(loss: str, divergence: str, start: Problem) -> bool:
    """Whether all numbers are finite at every step, and after the last part of `fit`."""
    gp, rows = start
    objective = objective_of(loss, divergence, None, gp.likelihood)
    moving, rest = split_trainable(gp)
    for step in range(STEPS):
        risk, down = _risk(objective, moving, rest, rows, jax.random.key(step))
        penalty, back = _penalty(objective, moving, rest)
        gradient = jax.tree.map(jnp.add, down, back)
        if not _all_finite((risk, penalty, gradient)):
            return False
        length = jnp.sqrt(sum(jnp.sum(part**2) for part in jax.tree.leaves(gradient)))
        move = partial(jnp.multiply, -SIZE / (length + 1e-12))
        moving = jax.tree.map(jnp.add, moving, jax.tree.map(move, gradient))
    learned = eqx.combine(moving, rest)
    trained = with_spread(learned, objective, one_row_per_value(rows, learned), 1.0)
    return _all_finite(eqx.filter(trained, eqx.is_inexact_array))


def _all_finite(numbers: Any) -> bool:
    return all(bool(jnp.isfinite(number).all()) for number in jax.tree.leaves(numbers))


class _Given(Conditioned):
    """A conditioned model with given marginals, so that the loss is compiled separately."""

    q: Any

    def marginals(self, X: Any, key: Any = None) -> Any:
        """Marginals of f at the rows."""
        return self.q

    def outputs(self, X: Any, key: Any = None) -> Any:
        """Marginals of all outputs at the rows."""
        return self.q


def _risk(objective: Objective, moving: GP, rest: GP, rows: Batch, key: Any) -> Any:
    """The risk and its gradient, by the chain rule: of the loss in q, of q in the model."""
    own = Objective(objective.loss, KL(), objective.expectation)
    q = _marginals(moving.model, rest.model, rows, key)
    risk, (of_q, of_likelihood) = _loss(own, q, moving.likelihood, rest.likelihood, rows, key)
    of_model = _pulled_back(of_q, moving.model, rest.model, rows, key)
    return risk, GP(of_model, of_likelihood)


def _at_rows(model: Any, rows: Batch, key: Any) -> Any:
    conditioned = model.condition("float64")
    at = conditioned.outputs if rows.y.ndim == 2 else conditioned.marginals
    return at(rows.X, key)


@compiled_at_once
def _marginals(moving: Any, rest: Any, rows: Batch, key: Any) -> Any:
    return _at_rows(eqx.combine(moving, rest), rows, key)


@compiled_at_once
def _pulled_back(of_q: Any, moving: Any, rest: Any, rows: Batch, key: Any) -> Any:
    _, pull = jax.vjp(lambda moving: _at_rows(eqx.combine(moving, rest), rows, key), moving)
    return pull(of_q)[0]


@compiled_at_once
def _loss(objective: Objective, q: Any, moving: Any, rest: Any, rows: Batch, key: Any) -> Any:
    def risk(parts: Any) -> Any:
        q, moving = parts
        return objective.sum_losses(_Given(q), eqx.combine(moving, rest), rows, key)

    return jax.value_and_grad(risk)((q, moving))


def _penalty(objective: Objective, moving: GP, rest: GP) -> Any:
    own = Objective(Gibbs(LogLoss()), objective.divergence, ClosedForm())
    value, gradient = _penalty_of(own, moving.model, rest.model)
    return value, jax.tree.map(jnp.zeros_like, moving)._replace(model=gradient)


@compiled_at_once
def _penalty_of(objective: Objective, moving: Any, rest: Any) -> Any:
    def penalty(moving: Any) -> Any:
        return objective.penalty(eqx.combine(moving, rest), jnp.ones(()))

    return jax.value_and_grad(penalty)(moving)
