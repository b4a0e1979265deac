"""`fit_for_cost`: train a model for a cost.

The cost of the Bayes action is piecewise constant in the probabilities, so classifiers are first
trained with the log loss, then with a smoothed cost at a decreasing temperature. The log loss stays
in the objective, because the smoothed cost depends only on the few rows near a threshold, and to
keep probabilities calibrated:

    Σ_i [ cost_T(y_i, q)/c + w·(−log E_q[p(y_i | f)]) ] + β KL(q ‖ p)

c is the mean cost of the best constant action.
"""

import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from directgp.decisions.class_costs import TableCost
from directgp.decisions.costs import Cost
from directgp.errors import DirectGPError
from directgp.expectations import choose_expectation
from directgp.fitting.checks import Beta
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.specs import Exact, FixedHyperparameters, ModelSpec, Sparse, Training
from directgp.likelihoods import Likelihood, likelihoods
from directgp.losses import Direct
from directgp.losses.cost import CostScore
from directgp.objective import Batch, Objective
from directgp.parameters import float64, on_device
from directgp.predictive import Predictive
from directgp.tables import (
    WeightedRows,
    check_inputs,
    check_known_targets,
    check_rows,
    check_weights,
    drop_zero_weight,
    set_aside,
)
from directgp.training.budget import is_long
from directgp.training.evaluate import Scorer
from directgp.training.folder_lock import holds_checkpoint
from directgp.training.loop import Settings, run
from directgp.training.resumable import remove_checkpoints

_SPARSE, _TRAINING = Sparse(), Training()
TEMPERATURES = (0.5, 0.2, 0.08)
"""Temperatures of the stages, relative to c."""
LOG_WEIGHT = 3.0
"""w: smaller values overfit the cost on few rows (docs/decisions_with_costs.md)."""
_RATE, _BATCH, _STEPS, _HELD_OUT = 0.02, 1000, 150, 0.2
_FIRST = 0.8
"""Share of a time budget for the log loss alone."""
_HELD_OUT_TEMPERATURE = 0.2
"""Temperature of the held-out loss; the cost of hard decisions has too large a variance."""


@float64
@holds_checkpoint()
def fit_for_cost(
    X: Any,
    y: Any,
    cost: Any,
    *,
    model: ModelSpec | Exact | FixedHyperparameters | FittedGP = _SPARSE,
    likelihood: str | Likelihood | None = None,
    beta: Beta = 1.0,
    validation: float | tuple[Any, ...] | None = None,
    steps: int | None = None,
    log_weight: float | None = None,
    training: Training = _TRAINING,
    sample_weight: Any = None,
    seed: int = 0,
    **options: Any,
) -> FittedGP[Predictive] | FittedExactRegression:
    """Train a model for a cost; use `decide` for the actions.

    Classifiers (binary, matrix or reject cost) are first fitted with the direct log loss, then
    trained for the cost with the same β. The parameters with the smallest held-out loss are kept,
    which may be those of the first fit; `reason` tells which. For numbers (newsvendor, square or
    interval cost) the cost is a loss itself (pinball or square), and the model is fitted with it.

    Args:
        X: inputs [N D].
        y: targets [N].
        cost: the cost, e.g. `BinaryCost(1, 20)`.
        model: a spec for the first fit (`Exact` only for numbers), or a fit in place of it.
        likelihood: None: Gaussian, or that of the number of classes.
        beta: the weight of the divergence; see `fit`.
        validation: rows to hold out: a share (None: 0.2 for classes), or (X, y[, weight]).
        steps: training steps with the cost, for classes; None: 150.
        log_weight: w, for classes; None: 3.
        training: the spec of the first fit; `learning_rate` and `time_budget` are for both parts.
        sample_weight: the weight of each row.
        seed: seed of random numbers.
        **options: the other arguments of `fit`.

    Returns:
        The fitted model.
    """
    began = time.monotonic()
    if not isinstance(cost, Cost):
        raise DirectGPError(f"cost must be a Cost, got {cost!r}; use e.g. BinaryCost(1, 20)")
    if not isinstance(cost, TableCost):
        _refuse(cost, steps=steps, log_weight=log_weight)
        either: Any = model  # the return type depends on it
        return fit(
            X,
            y,
            model=either,
            loss=Direct(cost.score()),
            likelihood=likelihood or "gaussian",
            beta=beta,
            validation=validation,
            training=training,
            sample_weight=sample_weight,
            seed=seed,
            **options,
        )
    if isinstance(model, Exact):
        raise DirectGPError("Exact is for numbers; use fit_exact_for_cost for two classes")
    start = model if isinstance(model, FittedGP) else None
    learning_rate, time_budget = training.learning_rate, training.time_budget
    checkpoint = training.checkpoint
    prices = cost.for_training()
    steps = _STEPS if steps is None else steps
    log_weight = LOG_WEIGHT if log_weight is None else log_weight
    X = check_inputs(X, None if start is None else len(start.inputs.shift))
    y = check_rows(X, y)
    # From all rows, because a class may be absent from the training or the held-out rows.
    link = _link(likelihood, len(prices), y) if start is None else start.gp.likelihood
    y = link.check_targets(y)
    _check_classes(prices, y)
    rows = drop_zero_weight(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    aside = _HELD_OUT if validation is None else validation
    kept, held = set_aside(rows, aside, seed, check_known_targets(rows.y, link.check_targets))
    assert held is not None
    _check_classes(prices, held.y)
    unit = float(np.min(np.average(prices[kept.y.astype(np.intp)], axis=0, weights=kept.weight)))
    if not unit > 0:
        raise DirectGPError(
            "one action costs 0 on all training rows, so there is nothing to learn; check the "
            "cost, or give rows of every class"
        )
    if start is None:
        start = fit(
            kept.X,
            kept.y,
            model=model,
            likelihood=link,
            beta=beta,
            validation=held,
            training=replace(
                training,
                # The checkpoint is needed until the second part is done.
                keep_checkpoint=checkpoint is not None,
                time_budget=None if time_budget is None else _FIRST * time_budget,
            ),
            sample_weight=kept.weight,
            seed=seed,
            **options,
        )
    data, held_rows = (_batch(start, part) for part in (kept, held))

    def objective(temperature: float) -> Objective:
        loss = Direct(CostScore(prices / unit, temperature, log_weight))
        how = choose_expectation(loss.needs, start.gp.likelihood)
        return Objective(loss, start.objective.divergence, how)

    annealing, held_out = time.monotonic(), Scorer(objective(_HELD_OUT_TEMPERATURE), held_rows)
    gp, history = start.gp, {}
    best = replace(start, reason="the first fit did best on held-out rows and was kept")
    least = held_out(gp)
    share = max(1, steps // len(TEMPERATURES))
    settings = Settings(
        share,
        _BATCH if len(data.y) > 5 * _BATCH else None,
        learning_rate or _RATE,
        chunk=min(share, 50),
        seed=seed,
        tolerance=0.0,
        deadline=math.inf if time_budget is None else began + time_budget,
    )
    long = time_budget is None and is_long(gp, settings, len(data.y), float(len(TEMPERATURES)))
    settings = replace(settings, thorough=long)
    for stage, temperature in enumerate(TEMPERATURES):
        if settings.out_of_time:
            break
        own = _with_share_of_time(settings, len(TEMPERATURES) - stage)
        trained = run(gp, objective(temperature), data, own, beta=start.beta)
        gp, value = trained.gp, held_out(trained.gp)
        newest = trained.history | {"step": [stage * share + n for n in trained.history["step"]]}
        history = {name: [*history.get(name, []), *newest[name]] for name in newest}
        if value < least:
            reason, least = _ended(stage), value
            best = replace(start, gp=gp, objective=objective(temperature), _ready={}, reason=reason)
    if checkpoint is not None and not training.keep_checkpoint:
        remove_checkpoints(Path(checkpoint))
    if not history:
        best = replace(best, reason="the time budget left no time to train for the cost")
    seconds = start.seconds + time.monotonic() - annealing
    return replace(best, history=history or start.history, seconds=seconds)


def _with_share_of_time(settings: Settings, stages: int) -> Settings:
    """Settings with an equal share of the remaining time for each remaining stage."""
    now = settings.clock()
    return replace(settings, deadline=now + (settings.deadline - now) / stages)


def _ended(stage: int) -> str:
    """The `reason` of a model from a stage."""
    if stage == len(TEMPERATURES) - 1:
        return "annealed to the hard decision"
    return f"annealed; temperature {TEMPERATURES[stage]:g} did best on held-out rows"


def _refuse(cost: Cost, **given: Any) -> None:
    """Raise an error for options that apply only to classes."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise DirectGPError(
            f"{named[0]} is for costs of classes; a {type(cost).__name__} is itself the training "
            "loss: leave it out, or give max_steps"
        )


def _link(likelihood: str | Likelihood | None, num_classes: int, y: np.ndarray) -> Likelihood:
    """The likelihood of the first fit."""
    named = likelihood or ("bernoulli" if num_classes == 2 else "categorical")
    chosen: Likelihood = likelihoods.resolve(named)
    return chosen.for_targets(y) if isinstance(named, str) else chosen


def _check_classes(prices: np.ndarray, y: np.ndarray) -> None:
    if y.max(initial=0) >= len(prices):
        raise DirectGPError(
            f"the cost has {len(prices)} classes but y has {int(y.max()) + 1}; give one row of "
            "costs for each class"
        )


def _batch(start: FittedGP, rows: WeightedRows) -> Batch:
    X = on_device(start.inputs.forward_inputs(rows.X))
    return Batch(X, on_device(rows.y), on_device(rows.weight))
