"""Realised costs of a model's decisions, compared with reference policies."""

from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.decisions.actions import Decision
from directgp.decisions.class_costs import TableCost
from directgp.decisions.costs import Cost, IntervalCost, NewsvendorCost, SquareCost
from directgp.metrics import standard_error
from directgp.predictive import ClassProbabilities, Predictive

MODEL = "the model's actions"
_MOST_ACTIONS = 12


class Policy(NamedTuple):
    """Realised costs of a policy: of every row, their mean, and their excess over the model's.

    `more` and `more_error` are mean and standard error of paired differences to the model's costs.
    """

    name: str
    costs: Float[np.ndarray, "N"]
    mean: float
    error: float
    more: float
    more_error: float


def compare_policies(decision: Decision, y: Any, baseline: Predictive) -> list[Policy]:
    """Realised costs of the model's decisions, then of reference policies, cheapest first.

    Args:
        decision: the actions of the model.
        y: the observed targets of the same rows.
        baseline: a predictive distribution of y that does not use the inputs.
    """
    ours = decision.realised(y)
    numbers = decision.class_numbers(y)
    found = []
    for name, action in trivial_actions(decision.cost, decision.predictive, baseline).items():
        costs = decision.cost.realised(numbers, action)
        found.append(Policy(name, costs, *standard_error(costs), *standard_error(costs - ours)))
    model = Policy(MODEL, ours, *standard_error(ours), 0.0, 0.0)
    return [model, *sorted(found, key=lambda policy: policy.mean)]


@singledispatch
def trivial_actions(
    cost: Cost, predictive: Predictive, baseline: Predictive
) -> dict[str, np.ndarray]:
    """Actions of policies that ignore the inputs, or the cost, by name; [N] each.

    Args:
        cost: the cost.
        predictive: predictions of the model, for policies that ignore the cost.
        baseline: predictions without inputs.
    """
    return _without_inputs(cost, baseline)


@trivial_actions.register
def _(cost: TableCost, predictive: ClassProbabilities, baseline: Predictive):
    """Always the same action; and the most probable class, if actions are classes."""
    rows, num_actions = len(predictive), len(cost.names)
    numbers = np.arange(num_actions)
    if num_actions > _MOST_ACTIONS:
        averages = cost.averages(baseline).mean(axis=0)
        numbers = np.argsort(averages, kind="stable")[:_MOST_ACTIONS]
    always = {f"always “{cost.names[a]}”": np.full(rows, a) for a in numbers}
    if not cost.says_classes:
        return always
    return always | {"the most probable class": predictive.predicted}


@trivial_actions.register
def _(cost: NewsvendorCost, predictive: Predictive, baseline: Predictive):
    return _without_inputs(cost, baseline) | {"the mean of each row": predictive.mean}


@trivial_actions.register
def _(cost: SquareCost, predictive: Predictive, baseline: Predictive):
    return _without_inputs(cost, baseline) | {"the median of each row": predictive.median}


@trivial_actions.register
def _(cost: IntervalCost, predictive: Predictive, baseline: Predictive):
    middle = predictive.median
    return _without_inputs(cost, baseline) | {
        "the median of each row, no width": np.stack([middle, middle], axis=1)
    }


def _shown(value: float) -> str:
    """A number with about four digits, without an exponent if readable.

    >>> _shown(250612.3), _shown(0.01234), _shown(2.5e-9)
    ('250,612', '0.01234', '2.5e-09')
    """
    if value and not 1e-4 < abs(value) < 1e9:
        return f"{value:.4g}"
    places = 3 - int(np.floor(np.log10(abs(value)))) if value else 0
    text = f"{value:,.{min(max(places, 0), 8)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _without_inputs(cost: Cost, baseline: Predictive) -> dict[str, np.ndarray]:
    action = cost.best(baseline).action
    if np.allclose(action, action[:1], rtol=1e-9):
        ends = " to ".join(_shown(float(end)) for end in np.atleast_1d(action[0]))
        return {f"always {ends} (the best constant by the training rows)": action}
    return {"the best without inputs": action}
