"""From a user's table to scaled arrays and a model that is ready to be trained."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from directgp.data import Standardiser, check_inputs, check_rows, check_weights
from directgp.data.stream import StreamedRows
from directgp.divergences import WhitenedGaussian
from directgp.kernels import Kernel, kernels
from directgp.likelihoods import Likelihood
from directgp.models import (
    ConstantMean,
    DecoupledGP,
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
from directgp.parameters import frozen, lent, thawed
from directgp.structure import INNER_SPREAD, Structure, join, projection
from directgp.teams import ALONE, Team
from directgp.training.feed import StreamFeed
from directgp.training.initialise import default_num_inducing, inducing_inputs, typical_distance
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
    validation: float | tuple[Any, Any] | None,
    hold_out: bool,
    donor: Donor | None,
    sample_weight: Any,
    seed: int,
    start: Donor | None = None,
) -> Prepared:
    """Check, split, scale and initialise; `hold_out` asks for validation rows by default.

    A donor's likelihood takes the place of `likelihood`, and its hyperparameters stay fixed.
    With `start` training goes on from there: nothing is initialised and nothing held fixed.
    Of `StreamedRows` X the sample is prepared, scaled as all rows are, and y is the sample's.
    """
    stream = X if isinstance(X, StreamedRows) else None
    X = X if stream is None else stream.sample.X
    given = start or donor
    likelihood = likelihood if given is None else given.gp.likelihood
    X = check_inputs(X, None if given is None else len(given.inputs.shift))
    y = likelihood.check_targets(check_rows(X, y))
    X, y, weight = _without_weightless(X, y, check_weights(sample_weight, len(y)))
    X, y, weight, held_out = _hold_out(X, y, weight, validation, hold_out, seed, likelihood)
    if given is not None:
        inputs, targets = given.inputs, given.targets
    elif stream is not None:
        inputs = stream.inputs
        targets = stream.targets if likelihood.standardise_targets else _AS_THEY_ARE
    else:
        inputs, targets = Standardiser.fit(X, weight), _target_scale(y, weight, likelihood)
    data = _batch(inputs, targets, X, y, weight)
    if start is not None:
        gp = thawed(start.gp)
    elif donor is None:
        scaled = np.asarray(data.X), np.asarray(data.y)
        gp = initial_gp(
            *scaled, likelihood, kernel, mean, num_inducing, mean_field, structure, seed
        )
    else:
        gp = with_fresh_posterior(donor.gp, mean_field)
    held = None if held_out is None else _batch(inputs, targets, *held_out)
    if stream is None:
        return Prepared(gp, data, held, inputs, targets, data, len(y))
    team, num_shards = stream.shards.team, stream.shards.count
    kind = StreamFeed if num_shards == 1 else ShardFeed
    feed = kind(stream, inputs, targets)
    gp = team.agree_arrays(gp)
    return Prepared(gp, data, held, inputs, targets, feed, feed.num_rows, team, num_shards)


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
    own_kernels = kernel if isinstance(kernel, tuple) else (kernel,) * structure.layers
    if len(own_kernels) != structure.layers:
        raise ValueError(f"{structure.layers} layers need as many kernels, got {len(own_kernels)}")

    def layer(inputs, own_kernel, mean_function: MeanFunction, width: int, spread: float):
        Z = inducing_inputs(inputs, number, seed)
        prior: Kernel = (
            kernels.create(own_kernel, **_kernel_start(own_kernel, inputs, seed))
            if isinstance(own_kernel, str)
            else own_kernel
        )
        posterior = WhitenedGaussian.prior(len(Z), width, mean_field, spread)
        return SparseGP(prior, jnp.asarray(Z), posterior, mean_function)

    features, inputs = _features(X if structure.mixing is None else X[:, :-1], structure, seed)
    seen, inner, widths = inputs, [], structure.widths(inputs.shape[1])
    for width, own_kernel in zip(widths, own_kernels, strict=False):
        weights = projection(inputs, width)
        inner.append(layer(inputs, own_kernel, LinearMean(weights), width, INNER_SPREAD))
        hidden = inputs @ weights
        inputs = np.concatenate([hidden, seen], axis=1) if structure.skip else hidden
    start = likelihood.initial_latent(y)
    latents = likelihood.num_latents if structure.mixing is None else structure.mixing.shape[1]
    if structure.mixing is not None:
        start = _factor_means(X[:, -1], y, structure.mixing, likelihood)
    mean_function = ConstantMean(start) if mean == "constant" else ZeroMean()
    model: Model = layer(inputs, own_kernels[-1], mean_function, latents, 1.0)
    if structure.mean_inducing:
        extra = jnp.asarray(inducing_inputs(inputs, structure.mean_inducing, seed + 1))
        model = DecoupledGP(model, extra, jnp.zeros((latents, len(extra))))
    if inner:
        model = join((*inner, model), widths, structure, seed)
    if features is not None:
        model = OnFeatures(features, model)
    if structure.mixing is not None:
        levels = frozen(jnp.unique(jnp.asarray(X[:, -1])))
        with_number = likelihood.num_latents == 2
        model = MultiOutput(model, jnp.asarray(structure.mixing), levels, with_number)
    return GP(model, likelihood)


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


def _kernel_start(name: str, X: np.ndarray, seed: int) -> dict[str, Any]:
    if name == "linear":
        return {"variance": np.full(X.shape[1], 1.0 / X.shape[1])}
    return {"lengthscale": np.full(X.shape[1], typical_distance(X, seed))}


def with_fresh_posterior(gp: GP, mean_field: bool) -> GP:
    """The same hyperparameters, held fixed, and a posterior that starts at the prior."""
    if not isinstance(gp.model, SparseGP):
        raise ValueError(
            "only a model of one layer can lend its hyperparameters; use hyperparameters='joint'"
        )
    model = gp.model
    latents, size = model.posterior.mean.shape
    fresh = WhitenedGaussian.prior(size, latents, mean_field)
    kernel, inducing, mean = lent((model.kernel, model.inducing, model.mean_function))
    return GP(SparseGP(kernel, inducing, fresh, mean), lent(gp.likelihood))


def _target_scale(y: np.ndarray, weight: np.ndarray, likelihood: Likelihood) -> Standardiser:
    if not likelihood.standardise_targets:
        return _AS_THEY_ARE
    targets = Standardiser.fit(y[:, None], weight)
    if not 1e-140 < targets.scale[0] < 1e140:
        raise ValueError(
            f"y varies by {targets.scale[0]:.3g}, whose square is not a usable number; "
            "give y in other units"
        )
    return targets


def _batch(inputs: Standardiser, targets: Standardiser, X, y, weight) -> Batch:
    scaled_y = targets.forward(y[:, None])[:, 0]
    # device_put copies a large table once, jnp.asarray twice.
    scaled_X = jax.device_put(inputs.forward(X))
    return Batch(scaled_X, jnp.asarray(scaled_y), jnp.asarray(weight))


def _without_weightless(X: np.ndarray, y: np.ndarray, weight: np.ndarray):
    """Rows of weight 0 say nothing: they must not move scales, inducing points or β either."""
    if (weight > 0).all():
        return X, y, weight
    kept = weight > 0
    if kept.sum() < 2:
        raise ValueError(f"at least 2 rows need a weight above 0, got {kept.sum()}")
    return X[kept], y[kept], weight[kept]


def _hold_out(X, y, weight, validation, needed, seed, likelihood: Likelihood):
    """Split off validation rows: given, a share, or (when β is to be chosen) a tenth."""
    if isinstance(validation, tuple | list):
        if len(validation) != 2:
            raise ValueError(f"validation must be a pair (X, y), got {len(validation)} things")
        held_X = check_inputs(validation[0], num_columns=X.shape[1])
        # Together with the training rows: held-out rows alone may be of one class.
        both = np.concatenate([y, check_rows(held_X, validation[1], at_least=1)])
        held_y = likelihood.check_targets(both)[len(y) :]
        return X, y, weight, (held_X, held_y, np.ones(len(held_y)))
    share = 0.1 if validation is None and needed else validation
    if share is None:
        return X, y, weight, None
    if not 0 < share < 1:
        raise ValueError(f"validation must be a share between 0 and 1, got {share}; use 0.1")
    count = max(1, round(share * len(y)))
    if len(y) - count < 2:
        raise ValueError(
            f"{len(y)} rows are too few to hold out validation rows; give beta=1.0 or more rows"
        )
    order = np.random.default_rng(seed).permutation(len(y))
    held, kept = order[:count], np.sort(order[count:])
    return X[kept], y[kept], weight[kept], (X[held], y[held], weight[held])
