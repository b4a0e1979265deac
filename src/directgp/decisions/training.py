"""Training for a cost: first for the distribution, then for the decision it leads to.

The cost of a decision is flat almost everywhere, so the log loss comes first; the smoothed cost
then takes over at a temperature that falls from a quarter of the largest price to a hundredth.
Where the model can be right, the log loss already gives the best decisions and little changes;
where it cannot, its mistakes move to where they cost least.
"""

from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np

from directgp.data import check_inputs, check_rows
from directgp.decisions.class_costs import TableCost
from directgp.expectations import choose_expectation
from directgp.fitting import FittedGP, fit
from directgp.losses import Direct
from directgp.losses.cost import CostScore
from directgp.objective import Batch, Objective
from directgp.parameters import float64
from directgp.training.evaluate import Scorer
from directgp.training.loop import Settings, run

TEMPERATURES = (0.25, 0.1, 0.03, 0.01)
"""Of the largest price, one stage each."""


@float64
def fit_for_cost(
    X: Any,
    y: Any,
    cost: Any,
    *,
    likelihood: str = "bernoulli",
    beta: float = 1.0,
    validation: float | tuple[Any, Any] = 0.2,
    steps: int = 400,
    learning_rate: float = 0.02,
    start: FittedGP | None = None,
    seed: int = 0,
    **options: Any,
) -> FittedGP:
    """A classifier trained so that acting by it costs little; `decide` then says what to do.

    `start` is a fit to go on from, by default one for the direct log loss (`options` go to `fit`).
    `beta` is β against the cost, measured in units of the largest price. What is kept is whatever
    costs least on the held-out rows (`validation`: a share or a pair), the start included.
    """
    if not isinstance(cost, TableCost):
        raise ValueError(
            f"training needs a binary or matrix cost, got {type(cost).__name__}; "
            "for numbers train with the log loss and use decide()"
        )
    prices = cost.for_training() / cost.for_training().max()
    X = check_inputs(X)
    y = check_rows(X, y)
    X, y, held_X, held_y = _split(X, y, validation, seed)
    if start is None:
        start = fit(X, y, likelihood=likelihood, validation=(held_X, held_y), seed=seed, **options)
    gp = start.gp
    labels = gp.likelihood.check_targets(y), gp.likelihood.check_targets(held_y)
    data = _batch(start, X, labels[0])
    held = _batch(start, held_X, labels[1])

    def objective(temperature: float) -> Objective:
        loss = Direct(CostScore(prices, temperature))
        how = choose_expectation(loss.needs, gp.likelihood)
        return Objective(loss, start.objective.divergence, how)

    # A softmax this cold is the hard decision.
    realised = Scorer(objective(1e-6), held)
    best, least, history = gp, realised(gp), start.history
    batch_size = 1000 if len(y) > 1000 else None
    share = max(1, steps // len(TEMPERATURES))
    settings = Settings(
        share, batch_size, learning_rate, chunk=min(share, 50), seed=seed, tolerance=0.0
    )
    for temperature in TEMPERATURES:
        trained = run(gp, objective(temperature), data, settings, beta=beta, validation=realised)
        gp, history = trained.gp, trained.history
        value = realised(gp)
        if value < least:
            best, least = gp, value
    return replace(
        start,
        gp=best,
        objective=objective(TEMPERATURES[-1]),
        beta=beta,
        _ready={},
        history=history,
        reason="annealed to the hard decision",
    )


def _batch(start: FittedGP, X: np.ndarray, y: np.ndarray) -> Batch:
    return Batch(jnp.asarray(start.inputs.forward(X)), jnp.asarray(y), jnp.ones(len(y)))


def _split(X: np.ndarray, y: np.ndarray, validation: Any, seed: int):
    if isinstance(validation, tuple | list):
        held_X = check_inputs(validation[0], num_columns=X.shape[1])
        return X, y, held_X, check_rows(held_X, validation[1], at_least=1)
    if not 0 < validation < 1:
        raise ValueError(f"validation must be a share between 0 and 1, got {validation}; use 0.2")
    count = max(1, round(validation * len(y)))
    if len(y) - count < 2:
        raise ValueError(f"{len(y)} rows are too few to hold out {count} of them")
    order = np.random.default_rng(seed).permutation(len(y))
    held, kept = order[:count], np.sort(order[count:])
    return X[kept], y[kept], X[held], y[held]
