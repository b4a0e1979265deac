"""Validate, split and standardise the data, and initialise the model before training."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np

from directgp.distributed import ALONE, Team
from directgp.errors import DirectGPError
from directgp.fitting.fitted import Donor, FittedGP
from directgp.fitting.specs import Coregionalised, FixedHyperparameters, ModelSpec
from directgp.likelihoods import Likelihood, likelihoods
from directgp.objective import Batch
from directgp.parameters import lent, on_device, thawed
from directgp.tables import (
    Standardiser,
    WeightedRows,
    check_inputs,
    check_known_targets,
    check_rows,
    check_weights,
    drop_zero_weight,
    set_aside,
)
from directgp.tables.stream import StreamedRows
from directgp.training.feed import StreamFeed
from directgp.training.loop import GP, Feed
from directgp.training.shard_feed import ShardFeed

_AS_THEY_ARE = Standardiser(np.zeros(1), np.ones(1))


Chosen = ModelSpec | Coregionalised | FixedHyperparameters | FittedGP
"""A model spec, an earlier fit whose prior is kept fixed, or an earlier fit to continue from."""


class Prepared(NamedTuple):
    """Everything training needs, in scaled units."""

    gp: GP
    data: Batch
    held_out: Batch | None
    inputs: Standardiser
    targets: Standardiser
    feed: Batch | Feed
    """Source of mini-batches: `data`, or the stream of which `data` is a sample."""
    num_rows: int
    team: Team = ALONE
    num_shards: int = 1
    support: float = 1.0
    """Effective number of rows: their number, or their total weight if that is larger."""


def prepare(
    X: Any,
    y: Any,
    likelihood: Likelihood,
    *,
    model: Chosen,
    validation: float | tuple[Any, ...] | None,
    hold_out: Callable[[int], bool],
    sample_weight: Any,
    seed: int,
) -> Prepared:
    """Validate, split, scale and initialise.

    Args:
        X: rows, or `StreamedRows`, of which the sample is prepared with the scales of all rows.
        y: targets, for a stream those of the sample.
        likelihood: used unless `model` is an earlier fit.
        model: a spec (a new model is built), the fixed hyperparameters of an earlier fit (with a
            new posterior), or an earlier fit.
        validation: a share of the rows to hold out, or separate rows.
        hold_out: from the number of rows, whether to hold some out if `validation` is None.
        sample_weight: one weight per row.
        seed: of the split and the initial model.
    """
    stream = X if isinstance(X, StreamedRows) else None
    X = X if stream is None else stream.sample.X
    given = _brought(model)
    likelihood = likelihoods.resolve(likelihood if given is None else given.gp.likelihood)
    X = check_inputs(X, None if given is None else len(given.inputs.shift))
    y = likelihood.check_targets(check_rows(X, y))
    rows = drop_zero_weight(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    share = 0.1 if validation is None and hold_out(len(rows.y)) else validation
    rows, held_out = set_aside(
        rows, share, seed, check_known_targets(rows.y, likelihood.check_targets)
    )
    if given is not None:
        inputs, targets = given.inputs, given.targets
    elif stream is not None:
        inputs = stream.inputs
        targets = stream.targets if likelihood.standardise_targets else _AS_THEY_ARE
    else:
        inputs = Standardiser.of_inputs(rows.X, rows.weight)
        targets = target_scale(rows.y, rows.weight, likelihood)
    # A split has copied the rows, which can then be scaled in place.
    data = _batch(inputs, targets, rows, in_place=rows.X is not X)
    if isinstance(model, ModelSpec | Coregionalised):
        scaled = np.asarray(data.X), np.asarray(data.y)
        gp = GP(model.initial_model(*scaled, likelihood, seed), likelihood)
    else:
        assert given is not None
        keeps_prior = isinstance(model, FixedHyperparameters)
        gp = with_fresh_posterior(given.gp, model.mean_field) if keeps_prior else thawed(given.gp)
    held = None if held_out is None else _batch(inputs, targets, held_out)
    if stream is None:
        support = max(float(len(rows.y)), float(np.sum(rows.weight)))
        return Prepared(gp, data, held, inputs, targets, data, len(rows.y), support=support)
    team, num_shards = stream.shards.team, stream.shards.count
    kind = StreamFeed if num_shards == 1 else ShardFeed
    feed = kind(stream, inputs, targets)
    gp = team.agree_arrays(gp)
    number = feed.num_rows
    return Prepared(gp, data, held, inputs, targets, feed, number, team, num_shards, float(number))


def _brought(model: Chosen) -> Donor | None:
    """Model, likelihood and scaling of an earlier fit; None for a spec."""
    if isinstance(model, FixedHyperparameters):
        return model.fitted.lend()
    return model.lend() if isinstance(model, FittedGP) else None


def with_fresh_posterior(gp: GP, mean_field: bool) -> GP:
    """The same hyperparameters, held fixed, and a new q(u) that is initially the prior.

    The network of deep kernel learning, the mixing of several outputs and the inducing inputs of a
    decoupled mean count as hyperparameters.

    Args:
        gp: a trained model of one layer.
        mean_field: whether the covariance of the new q(u) is diagonal.
    """
    return GP(gp.model.with_fresh_posterior(mean_field), lent(gp.likelihood))


def target_scale(y: np.ndarray, weight: np.ndarray, likelihood: Likelihood) -> Standardiser:
    """Mean and standard deviation of y if the likelihood standardises y; |y| as scale if constant.

    Args:
        y: targets.
        weight: of the rows.
        likelihood: p(y | f).
    """
    if not likelihood.standardise_targets:
        return _AS_THEY_ARE
    targets = Standardiser.of_targets(y[:, None], weight)
    if not 1e-140 < targets.scale[0] < 1e140:
        raise DirectGPError(
            f"y varies by {targets.scale[0]:.3g}, whose square is not a usable number; "
            "give y in other units"
        )
    return targets


def _batch(
    inputs: Standardiser, targets: Standardiser, rows: WeightedRows, in_place: bool = False
) -> Batch:
    scaled_y = targets.forward(rows.y[:, None])[:, 0]
    # device_put shares the memory of aligned arrays, so the table is copied at most once.
    scaled_X = jax.device_put(inputs.forward_inputs(rows.X, out=rows.X if in_place else None))
    return Batch(scaled_X, jax.device_put(scaled_y), on_device(rows.weight))
