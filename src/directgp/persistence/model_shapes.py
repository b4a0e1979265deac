"""Check the array shapes of a stored model, and count its latent functions.

`latents_of` follows the inputs through the model from the number of input columns on. It only reads
shapes: nothing is compiled or allocated. User-defined models, kernels and mean functions are traced
abstractly instead.
"""

from functools import singledispatch

import jax
import jax.numpy as jnp

from directgp.errors import DirectGPError
from directgp.kernels.base import Composed, Kernel, Scaled
from directgp.kernels.linear import Linear
from directgp.kernels.on_columns import OnColumns
from directgp.kernels.stationary import Stationary
from directgp.models import DecoupledGP, DeepGP, Independent, Model, MultiOutput, SparseGP
from directgp.models.features import MLP, FeatureMap, OnFeatures
from directgp.models.means import ConstantMean, LinearMean, MeanFunction, ZeroMean
from directgp.persistence.classes import is_ours
from directgp.persistence.shape_checks import (
    MOST_PAIRS,
    ROWS,
    check_inducing,
    check_positive,
    check_shape,
    traced,
    values_of,
)
from directgp.persistence.stored_numbers import stored


@singledispatch
def latents_of(model: Model, columns: int) -> int:
    """The number of latent functions of a model, after checking its shapes.

    Args:
        model: the model.
        columns: the number of input columns.
    """
    if is_ours(type(model)):
        raise DirectGPError(f"a model cannot be a {type(model).__name__}")
    rows = jax.ShapeDtypeStruct((2, columns), jnp.float64)
    found = traced(
        lambda model, X: model.for_prediction().condition().marginals(X, jax.random.key(0)),
        model,
        rows,
    )
    check_shape("the rows of a prediction", found.mean.shape[1:2], 2)
    return found.mean.shape[2]


@latents_of.register
def _(model: SparseGP, columns: int) -> int:
    Z, mean = values_of(model.inducing), values_of(model.posterior.mean)
    scale = stored(model.posterior.scale)
    check_shape("the inducing inputs", Z.shape, None, columns)
    check_inducing(len(Z))
    check_shape("the mean of q(u)", mean.shape, None, len(Z))
    wanted = (len(mean), len(Z), len(Z))[: max(2, scale.raw.ndim)]
    check_shape("the scale of q(u)", scale.raw.shape, *wanted)
    if scale.transform == ("exp-above" if scale.raw.ndim == 3 else "lower-triangular"):
        raise DirectGPError("the scale of q(u) has a transform that does not fit its shape")
    check_kernel(model.kernel, columns)
    _check_mean(model.mean_function, columns, len(mean))
    return len(mean)


@latents_of.register
def _(model: DecoupledGP, columns: int) -> int:
    latents, extra = latents_of(model.base, columns), values_of(model.extra)
    check_shape("the extra inducing inputs", extra.shape, None, columns)
    check_inducing(len(extra))
    check_shape(
        "the weights of the extra inducing inputs",
        values_of(model.weights).shape,
        latents,
        len(extra),
    )
    return latents


@latents_of.register
def _(model: DeepGP, columns: int) -> int:
    if not model.layers:
        raise DirectGPError("a deep model has no layer")
    inputs, widths = columns, []
    for layer in model.layers[:-1]:
        widths.append(latents_of(layer, inputs))
        inputs = widths[-1] + (columns if model.skip else 0)
    _check_rule(model, widths)
    return latents_of(model.layers[-1], inputs)


@latents_of.register
def _(model: Independent, columns: int) -> int:
    if not model.parts or not all(type(part) is SparseGP for part in model.parts):
        raise DirectGPError("the parts of Independent must be sparse GPs")
    total = sum(latents_of(part, columns) for part in model.parts)
    shapes = {
        (values_of(p.posterior.mean).shape[1:], stored(p.posterior.scale).raw.shape[1:])
        for p in model.parts
        if isinstance(p, SparseGP)
    }
    if len(shapes) > 1:
        raise DirectGPError("the parts of Independent have posteriors of different shapes")
    return total


@latents_of.register
def _(model: MultiOutput, columns: int) -> int:
    if columns < 2:
        raise DirectGPError("a model of several outputs needs at least one input column")
    latents, mixing = latents_of(model.base, columns - 1), values_of(model.mixing)
    check_shape("the mixing of the outputs", mixing.shape, None, latents)
    check_shape("the numbers of the outputs", values_of(model.levels).shape, len(mixing))
    return 2 if model.with_number else 1


@latents_of.register
def _(model: OnFeatures, columns: int) -> int:
    return latents_of(model.model, _width(model.features, columns))


def _width(features: FeatureMap, columns: int) -> int:
    """The number of features that a network computes."""
    if not isinstance(features, MLP):
        if is_ours(type(features)):
            raise DirectGPError(f"features cannot be a {type(features).__name__}")
        rows = jax.ShapeDtypeStruct((2, columns), jnp.float64)
        found = traced(lambda part, X: part(X), features, rows)
        check_shape("the features", found.shape, 2, None)
        return found.shape[1]
    if not features.weights or len(features.weights) != len(features.biases):
        raise DirectGPError("the numbers of weights and biases of the network differ")
    for weights, bias in zip(features.weights, features.biases, strict=True):
        shape = values_of(weights).shape
        check_shape("the weights of the network", shape, columns, None)
        columns = shape[1]
        check_shape("the biases of the network", values_of(bias).shape, columns)
    return columns


def _check_rule(model: DeepGP, widths: list[int]) -> None:
    """Check the propagation rule between layers against their widths."""
    rule = model.propagation
    points = getattr(rule, "points", None)
    if isinstance(points, tuple):
        if len(points) != len(widths):
            raise DirectGPError("the sigma points are for another number of layers")
        for each, width in zip(points, widths, strict=True):
            check_shape("the sigma points", values_of(each).shape, None, width)
    if not widths:
        return
    count, key = 1, jax.eval_shape(lambda: jax.random.key(0))
    for index, width in enumerate(widths):
        mean = jax.ShapeDtypeStruct((count, 2, width), jnp.float64)
        if count * width > MOST_PAIRS // ROWS:
            raise DirectGPError("the rule between the layers has too many components")
        found = traced(
            lambda rule, mean, key, index=index: rule(index, mean, mean, key), rule, mean, key
        )
        check_shape("the inputs of the next layer", found.shape, None, 2, width)
        count = found.shape[0]
    weights = traced(lambda rule: rule.log_weights, rule)
    check_shape("the weights of the mixture", weights.shape, count)


def check_kernel(kernel: Kernel, columns: int) -> None:
    """Check the parameters of a kernel.

    Args:
        kernel: the kernel.
        columns: the number of its inputs.
    """
    own = is_ours(type(kernel))
    if isinstance(kernel, Composed) and own:
        if not kernel.parts:
            raise DirectGPError(f"{type(kernel).__name__} has no parts")
        for part in kernel.parts:
            check_kernel(part, columns)
    elif isinstance(kernel, OnColumns) and own:
        if not kernel.columns or max(map(abs, kernel.columns)) > columns:
            raise DirectGPError("OnColumns names columns that do not exist")
        kernel.check_columns(columns)
        check_kernel(kernel.part, len(kernel.columns))
    elif isinstance(kernel, Scaled) and own:
        check_positive("the variance of a kernel", kernel.variance)
        check_kernel(kernel.part, columns)
    elif isinstance(kernel, Stationary) and own:
        check_positive("the variance of a kernel", kernel.variance)
        check_positive("the length-scales of a kernel", kernel.lengthscale, columns)
    elif isinstance(kernel, Linear) and own:
        check_positive("the variances of a kernel", kernel.variance, columns)
        check_positive("the bias of a kernel", kernel.bias)
    else:
        rows = jax.ShapeDtypeStruct((2, columns), jnp.float64)
        found = traced(lambda kernel, X: kernel.matrix(X, X), kernel, rows)
        check_shape("the matrix of a kernel", found.shape, 2, 2)


def _check_mean(mean: MeanFunction, columns: int, latents: int) -> None:
    if isinstance(mean, ZeroMean):
        return
    if isinstance(mean, ConstantMean):
        shape = values_of(mean.value).shape
        check_shape("the prior mean", shape, 1 if shape == (1,) else latents)
    elif isinstance(mean, LinearMean):
        weights = values_of(mean.weights)
        check_shape("the weights of the prior mean", weights.shape, columns, latents)
        check_shape("the bias of the prior mean", values_of(mean.bias).shape, latents)
    else:
        rows = jax.ShapeDtypeStruct((2, columns), jnp.float64)
        found = traced(lambda mean, X: mean(X), mean, rows)
        check_shape("the prior mean", found.shape, 2, 1 if found.shape[1:] == (1,) else latents)
