"""Check, split and standardise the data, and initialise the model before training."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from directgp.distributed import ALONE, Team
from directgp.divergences import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.fitting.fitted import Donor, FittedGP
from directgp.fitting.specs import Coregionalised, FixedHyperparameters, ModelSpec
from directgp.likelihoods import Likelihood, likelihoods
from directgp.models import DecoupledGP, Independent, Model, MultiOutput, OnFeatures, SparseGP
from directgp.objective import Batch
from directgp.parameters import lent, on_device, thawed, unwrap
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
    """Check, split, scale and initialise.

    Args:
        X: rows; of `StreamedRows` the sample is prepared, scaled as all rows are.
        y: their targets; those of the sample.
        likelihood: used unless `model` brings its own.
        model: a spec (a new model is built), the fixed hyperparameters of an earlier fit (with a
            new posterior), or an earlier fit (taken as it is).
        validation: a share of the rows to hold out, or separate rows.
        hold_out: from the number of rows, whether to hold some out if `validation` is None.
        sample_weight: one weight per row.
        seed: of the split and of what is initialised.
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
    # A split copies the rows, so they can be scaled in place.
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
    """Model, likelihood and scaling of the earlier fit that `model` is or contains, or None."""
    if isinstance(model, FixedHyperparameters):
        return model.fitted.lend()
    return model.lend() if isinstance(model, FittedGP) else None


def with_fresh_posterior(gp: GP, mean_field: bool) -> GP:
    """The same hyperparameters, held fixed, and a posterior that starts at the prior.

    A network in front, the mixing of several outputs and the inputs for the mean alone are
    hyperparameters like the kernel.
    """
    return GP(_refreshed(gp.model, mean_field), lent(gp.likelihood))


def _refreshed(model: Model, mean_field: bool) -> Model:
    match model:
        case SparseGP():
            latents, size = model.posterior.mean.shape
            fresh = WhitenedGaussian.prior(size, latents, mean_field)
            kernel, inducing, mean = lent((model.kernel, model.inducing, model.mean_function))
            return SparseGP(kernel, inducing, fresh, mean)
        case DecoupledGP():
            base = _refreshed(model.base, mean_field)
            assert isinstance(base, SparseGP)
            return DecoupledGP(base, lent(model.extra), jnp.zeros_like(unwrap(model.weights)))
        case Independent():
            return Independent(tuple(_refreshed(part, mean_field) for part in model.parts))
        case OnFeatures():
            return OnFeatures(lent(model.features), _refreshed(model.model, mean_field))
        case MultiOutput():
            base = _refreshed(model.base, mean_field)
            return MultiOutput(base, lent(model.mixing), model.levels, model.with_number)
        case _:
            raise DirectGPError(
                f"a {type(model).__name__} model of {model.depth} layers cannot lend its "
                "hyperparameters: its upper layers were learned for the posteriors of the layers "
                "below, which would start anew; use hyperparameters='joint'"
            )


def target_scale(y: np.ndarray, weight: np.ndarray, likelihood: Likelihood) -> Standardiser:
    """Mean and standard deviation of y if the likelihood needs them; |y| as scale if constant."""
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
    # device_put shares the memory of aligned arrays: the table is copied once at most.
    scaled_X = jax.device_put(inputs.forward_inputs(rows.X, out=rows.X if in_place else None))
    return Batch(scaled_X, jax.device_put(scaled_y), on_device(rows.weight))
