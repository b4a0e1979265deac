"""From a user's table to scaled arrays and a model that is ready to be trained."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from directgp.distributed import ALONE, Team
from directgp.divergences import WhitenedGaussian
from directgp.errors import DirectGPError
from directgp.fitting.structure import INNER_SPREAD, Structure, join, projection
from directgp.kernels import Kernel
from directgp.likelihoods import Likelihood, likelihoods
from directgp.models import (
    ConstantMean,
    DecoupledGP,
    Independent,
    LinearMean,
    MeanFunction,
    Model,
    MultiOutput,
    OnFeatures,
    SparseGP,
    ZeroMean,
    feature_maps,
)
from directgp.objective import Batch
from directgp.parameters import frozen, lent, thawed, unwrap
from directgp.tables import (
    Standardiser,
    WeightedRows,
    beside,
    check_inputs,
    check_rows,
    check_weights,
    set_aside,
    that_count,
)
from directgp.tables.stream import StreamedRows
from directgp.training.feed import StreamFeed
from directgp.training.initialise import default_num_inducing, inducing_inputs, initial_kernel
from directgp.training.loop import GP, Feed
from directgp.training.shard_feed import ShardFeed

_AS_THEY_ARE = Standardiser(np.zeros(1), np.ones(1))


class Donor(NamedTuple):
    """Hyperparameters that another fit lends, with the scales they belong to."""

    gp: GP
    inputs: Standardiser
    targets: Standardiser


class Prepared(NamedTuple):
    """Everything training needs, in scaled units."""

    gp: GP
    data: Batch
    held_out: Batch | None
    inputs: Standardiser
    targets: Standardiser
    feed: Batch | Feed
    """What training draws from: `data`, or the stream of which `data` is a sample."""
    num_rows: int
    team: Team = ALONE
    num_shards: int = 1
    support: float = 1.0
    """Rows that speak for the model: their number, or their total weight if that is more."""


def prepare(
    X: Any,
    y: Any,
    likelihood: Likelihood,
    *,
    kernel: str | Kernel | tuple[str | Kernel, ...],
    mean: str,
    num_inducing: int | None,
    mean_field: bool,
    structure: Structure,
    validation: float | tuple[Any, ...] | None,
    hold_out: Callable[[int], bool],
    donor: Donor | None,
    sample_weight: Any,
    seed: int,
    start: Donor | None = None,
) -> Prepared:
    """Check, split, scale and initialise.

    `hold_out` says of the number of rows whether some are held out where `validation` is None.

    A donor's likelihood takes the place of `likelihood`, and its hyperparameters stay fixed.
    With `start` training goes on from there: nothing is initialised and nothing held fixed.
    Of `StreamedRows` X the sample is prepared, scaled as all rows are, and y is the sample's.
    """
    stream = X if isinstance(X, StreamedRows) else None
    X = X if stream is None else stream.sample.X
    given = start or donor
    likelihood = likelihoods.resolve(likelihood if given is None else given.gp.likelihood)
    X = check_inputs(X, None if given is None else len(given.inputs.shift))
    y = likelihood.check_targets(check_rows(X, y))
    rows = that_count(WeightedRows(X, y, check_weights(sample_weight, len(y))))
    share = 0.1 if validation is None and hold_out(len(rows.y)) else validation
    rows, held_out = set_aside(rows, share, seed, beside(rows.y, likelihood.check_targets))
    if given is not None:
        inputs, targets = given.inputs, given.targets
    elif stream is not None:
        inputs = stream.inputs
        targets = stream.targets if likelihood.standardise_targets else _AS_THEY_ARE
    else:
        inputs = Standardiser.of_inputs(rows.X, rows.weight)
        targets = target_scale(rows.y, rows.weight, likelihood)
    # Rows that were taken out of the user's table are ours to scale in place.
    data = _batch(inputs, targets, rows, in_place=rows.X is not X)
    if start is not None:
        gp = thawed(start.gp)
    elif donor is None:
        scaled = np.asarray(data.X), np.asarray(data.y)
        gp = initial_gp(
            *scaled, likelihood, kernel, mean, num_inducing, mean_field, structure, seed
        )
    else:
        gp = with_fresh_posterior(donor.gp, mean_field)
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


def initial_gp(
    X: np.ndarray,
    y: np.ndarray,
    likelihood: Likelihood,
    kernel: str | Kernel | tuple[str | Kernel, ...],
    mean: str,
    num_inducing: int | None,
    mean_field: bool,
    structure: Structure,
    seed: int,
) -> GP:
    """A model that has seen the data only to choose where to start (scaled units).

    An inner layer starts as its linear mean, nearly without noise; the layer above starts from
    what that mean makes of the training rows.
    """
    number = default_num_inducing(len(X)) if num_inducing is None else num_inducing
    layer_kernels = kernel if isinstance(kernel, tuple) else (kernel,) * structure.layers
    if len(layer_kernels) != structure.layers:
        raise DirectGPError(
            f"{structure.layers} layers need as many kernels, got {len(layer_kernels)}"
        )

    def layer(inputs, own_kernel, mean_function: MeanFunction, width: int, spread: float):
        prior = initial_kernel(own_kernel, inputs, seed)
        Z = inducing_inputs(inputs, number, seed)
        posterior = WhitenedGaussian.prior(len(Z), width, mean_field, spread)
        return SparseGP(prior, jnp.asarray(Z), posterior, mean_function)

    def inner_layer(inputs, own_kernel, weights: np.ndarray) -> Model:
        width = weights.shape[1]
        shared = layer(inputs, own_kernel, LinearMean(weights), width, INNER_SPREAD)
        if not structure.own_kernels:
            return shared
        posterior = WhitenedGaussian.prior(len(shared.inducing), 1, mean_field, INNER_SPREAD)
        means = [LinearMean(weights[:, [output]]) for output in range(width)]
        prior, Z = shared.kernel, shared.inducing
        return Independent(tuple(SparseGP(prior, Z, posterior, mean) for mean in means))

    features, inputs = _features(X if structure.mixing is None else X[:, :-1], structure, seed)
    seen, inner, widths = inputs, [], structure.widths(inputs.shape[1])
    for width, own_kernel in zip(widths, layer_kernels, strict=False):
        weights = projection(inputs, width)
        inner.append(inner_layer(inputs, own_kernel, weights))
        hidden = inputs @ weights
        inputs = np.concatenate([hidden, seen], axis=1) if structure.skip else hidden
    start = likelihood.initial_latent(y)
    latents = likelihood.num_latents if structure.mixing is None else structure.mixing.shape[1]
    if structure.mixing is not None:
        start = _factor_means(X[:, -1], y, structure.mixing, likelihood)
    mean_function = ConstantMean(start) if mean == "constant" else ZeroMean()
    shared = layer(inputs, layer_kernels[-1], mean_function, latents, 1.0)
    model: Model = shared
    if structure.own_kernels and structure.layers == 1 and structure.mean_inducing:
        raise DirectGPError(
            "mean_inducing serves latent functions that share a kernel, and own_kernels gives each "
            "its own; leave out one of them"
        )
    if structure.own_kernels and structure.layers == 1:
        model = _with_own_kernels(shared, start if mean == "constant" else None, mean_field)
    if structure.mean_inducing:
        extra = jnp.asarray(inducing_inputs(inputs, structure.mean_inducing, seed + 1))
        model = DecoupledGP(shared, extra, jnp.zeros((latents, len(extra))))
    if inner:
        model = join((*inner, model), widths, structure, seed)
    if features is not None:
        model = OnFeatures(features, model)
    if structure.mixing is not None:
        levels = frozen(jnp.unique(jnp.asarray(X[:, -1])))
        with_number = likelihood.num_latents == 2
        model = MultiOutput(model, jnp.asarray(structure.mixing), levels, with_number)
    return GP(model, likelihood)


def _with_own_kernels(shared: SparseGP, levels: np.ndarray | None, mean_field: bool) -> Model:
    """Every latent function with a kernel and inducing inputs of its own, starting alike."""
    latents, size = shared.posterior.mean.shape
    fresh = WhitenedGaussian.prior(size, 1, mean_field)
    means = [
        ZeroMean() if levels is None else ConstantMean(levels[[latent]])
        for latent in range(latents)
    ]
    return Independent(
        tuple(SparseGP(shared.kernel, shared.inducing, fresh, mean) for mean in means)
    )


def _factor_means(number: np.ndarray, y: np.ndarray, mixing: np.ndarray, likelihood: Likelihood):
    """Constant latent functions whose mixture is the constant that fits each output."""
    wanted = [likelihood.initial_latent(y[number == level])[0] for level in np.unique(number)]
    return np.linalg.lstsq(mixing, np.array(wanted), rcond=None)[0]


def _features(X: np.ndarray, structure: Structure, seed: int):
    """The network in front of the model, if there is one, and what the model sees."""
    if structure.features is None:
        return None, X
    network = feature_maps.create(structure.features, X, structure.feature_widths, seed)
    return network, np.asarray(network(jnp.asarray(X)))


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
    """Mean and deviation of y, where a likelihood wants them; its own size if it is constant."""
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
    return Batch(scaled_X, jax.device_put(scaled_y), jnp.asarray(rows.weight))
