"""Training for a cost: first for the distribution, then for the decision it leads to.

The cost of a decision is flat almost everywhere, so the log loss comes first. Then the smoothed
cost takes over, at a temperature that falls until the decision is all but hard. The log loss stays
as one part of the objective: the cost alone sees only the few rows near a threshold, and would
give up what the others say of it (and the probabilities, by which expected costs are told).

    Σ_i [ cost_T(y_i, q)/c + w·(−log E_q[p(y_i | f)]) ] + β KL(q ‖ p)

c is what a row costs if the best single action is taken for all: 1 is then knowing nothing.
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
"""Of c, one stage each."""
LOG_WEIGHT = 3.0
"""w: with less of it the cost of few rows is fitted too closely (docs/decisions_with_costs.md)."""
_RATE, _BATCH, _STEPS, _HELD_OUT = 0.02, 1000, 150, 0.2
_FIRST = 0.8
"""Of a time budget, for the log loss alone."""
_JUDGE = 0.2
"""Held-out rows are judged at this temperature: hard decisions say too little about rare misses."""


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
    """A model trained so that acting by it costs little; `decide` then says what to do.

    Classifiers (a binary, matrix or reject cost) are first fitted for the direct log loss, then
    trained for the cost with the same β. The parameters kept are those with the smallest such loss
    on the held-out rows, those of the first fit included; `reason` says which.
    Numbers (newsvendor, square, interval cost) are fitted with the direct loss that the cost is
    (pinball or square), where `steps` and `log_weight` have no meaning.

    Args:
        X: rows of numbers [N D].
        y: their targets [N].
        cost: what mistakes cost, e.g. `BinaryCost(1, 20)`.
        model: a spec for the first fit (`Exact` for numbers alone), or a fit that takes its place.
        likelihood: None: Gaussian, or that of so many classes.
        beta: the weight of the divergence; see `fit`.
        validation: rows to hold out: a share (None: 0.2 of classes), or (X, y[, weight]).
        steps: of the training for the cost; None: 150.
        log_weight: of the log loss relative to the cost; None: 3.
        training: of the first fit; `learning_rate` and `time_budget` are for all of it.
        sample_weight: how much each row counts.
        seed: of everything random.
        **options: the other arguments of `fit`.
    """
    began = time.monotonic()
    if not isinstance(cost, Cost):
        raise DirectGPError(f"cost must be a Cost, got {cost!r}; use e.g. BinaryCost(1, 20)")
    if not isinstance(cost, TableCost):
        _refuse(cost, steps=steps, log_weight=log_weight)
        either: Any = model  # the type of what comes back depends on it
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
    # Of all rows, here and below: a class may be held out as a whole, or be the only one that is.
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
            "one action costs nothing on any training row, so there is nothing to learn; check the "
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
                # There is more to do before anything is complete.
                keep_checkpoint=checkpoint is not None,
                time_budget=None if time_budget is None else _FIRST * time_budget,
            ),
            sample_weight=kept.weight,
            seed=seed,
            **options,
        )
    data, judge = (_batch(start, part) for part in (kept, held))

    def objective(temperature: float) -> Objective:
        loss = Direct(CostScore(prices / unit, temperature, log_weight))
        how = choose_expectation(loss.needs, start.gp.likelihood)
        return Objective(loss, start.objective.divergence, how)

    annealing, held_out = time.monotonic(), Scorer(objective(_JUDGE), judge)
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
        own = _with_turn(settings, len(TEMPERATURES) - stage)
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


def _with_turn(settings: Settings, stages: int) -> Settings:
    """The time that is left, shared with the stages to come."""
    now = settings.clock()
    return replace(settings, deadline=now + (settings.deadline - now) / stages)


def _ended(stage: int) -> str:
    """What is to be said of a model that this stage left."""
    if stage == len(TEMPERATURES) - 1:
        return "annealed to the hard decision"
    return f"annealed; temperature {TEMPERATURES[stage]:g} did best on held-out rows"


def _refuse(cost: Cost, **given: Any) -> None:
    """Options that only training for classes has."""
    named = [name for name, value in given.items() if value is not None]
    if named:
        raise DirectGPError(
            f"{named[0]} is for costs of classes; a {type(cost).__name__} is trained as a loss of "
            "its own from the first step: leave it out, or give max_steps"
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
