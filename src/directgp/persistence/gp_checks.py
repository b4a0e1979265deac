"""Consistency checks of a stored fitted GP: shapes and values of its arrays."""

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.likelihoods import Categorical, Gaussian, GaussianOutputs, Likelihood, StudentT
from directgp.likelihoods.negative_binomial import NegativeBinomial
from directgp.losses.cost import CostScore
from directgp.models import Model, MultiOutput
from directgp.parameters import unwrap
from directgp.persistence.model_shapes import latents_of
from directgp.persistence.shape_checks import (
    MOST_PAIRS,
    ROWS,
    check_positive,
    check_shape,
    traced,
    values_of,
)
from directgp.persistence.stored_numbers import check_numbers, stored
from directgp.tables import Standardiser

_MOST_CLASS_WORK = 1 << 22
"""Components times classes times classes: what the probabilities of one row take."""
_MOST_CLASS_PAIRS = 1 << 17
"""Components times classes, of which a prediction holds a thousand points each: 1 GiB."""
_LARGEST_SCALE, _LARGEST_SHIFT = 1e150, 1e307
_LARGEST_DISPERSION = 1e12
_LARGEST_NOISE = 1e100
_PRECISIONS = ("float64", "mixed", "fast")


def check_fitted(fitted: FittedGP) -> None:
    """Raise a `ValueError` if the parts of a fitted GP are inconsistent."""
    if fitted.long_table is not None:
        outputs = check_scales("the scales of the outputs", fitted.targets)
        check_target_scale(fitted.targets, outputs)
        model = fitted.gp.model
        if not isinstance(model, MultiOutput) or len(values_of(model.levels)) != outputs:
            raise DirectGPError(f"the model does not have {outputs} outputs")
        number = check_scales("the scales of the output's number", fitted.long_table.number)
        check_shape("the scale of the output's number", (number,), 1)
        check_scales("the scales of the inputs", fitted.inputs)
        check_column_names(fitted)
        fitted = replace(fitted.as_long_table(), names=None)
    elif isinstance(fitted.gp.model, MultiOutput):
        raise DirectGPError("a model of several outputs lacks their scales")
    columns = check_scales("the scales of the inputs", fitted.inputs)
    check_target_scale(fitted.targets)
    for leaf in jax.tree.leaves(fitted.gp):
        if isinstance(leaf, jax.Array | np.ndarray):
            check_numbers(np.asarray(leaf))
    likelihood, model = fitted.gp.likelihood, fitted.gp.model
    latents = latents_of(model, columns)
    if latents != likelihood.num_latents:
        raise DirectGPError(
            f"{type(likelihood).__name__} needs {likelihood.num_latents} latent functions, the "
            f"model has {latents}"
        )
    _check_likelihood(likelihood, model)
    _check_work(model, likelihood)
    _check_rest(fitted)


def _check_rest(fitted: FittedGP) -> None:
    """Check the fields that predictions do not need."""
    if fitted.beta < 0:
        raise DirectGPError(f"β must be ≥ 0, got {fitted.beta}")
    if fitted.support is not None and not fitted.support > 0:
        raise DirectGPError("the number of training rows must be positive")
    if fitted.objective.precision not in _PRECISIONS:
        raise DirectGPError(f"the precision must be one of {', '.join(_PRECISIONS)}")
    check_column_names(fitted)
    for name, values in fitted.history.items():
        if not all(isinstance(each, int | float) for each in values):
            raise DirectGPError(f"the training history {name[:40]!r} must hold numbers")
    score = getattr(fitted.objective.loss, "score", None)
    if isinstance(score, CostScore):
        outcomes = fitted.gp.likelihood.outcomes
        classes = 0 if outcomes is None else len(outcomes)
        check_shape("the classes of the cost", score.prices.shape[:1], classes)


def check_target_scale(scales: Standardiser, count: int = 1) -> None:
    """Refuse scales of targets that are not one for each output, or whose variance is infinite."""
    check_shape(
        "the scale of the target", (check_scales("the scale of the target", scales),), count
    )
    if np.any(scales.scale > _LARGEST_SCALE) or np.any(np.abs(scales.shift) > _LARGEST_SHIFT):
        raise DirectGPError("the scale of the target is too large")


def check_column_names(fitted: Fitted) -> None:
    """Raise an error if the names of the input columns are not unique or too many or few."""
    if fitted.names is None:
        return
    if len(set(fitted.names)) != len(fitted.names):
        raise DirectGPError("two input columns have one name")
    columns = len(fitted.inputs.shift)
    check_shape("the names of the input columns", (len(fitted.names),), columns)


def check_scales(what: str, scales: Standardiser) -> int:
    """Check a standardiser.

    Args:
        what: its name in errors.
        scales: the standardiser.

    Returns:
        The number of its columns.
    """
    shift, scale = (np.asarray(part) for part in scales)
    for array in (shift, scale):
        check_numbers(array)
        if array.ndim != 1 or array.shape != shift.shape or not len(array):
            raise DirectGPError(f"{what} have inconsistent shapes")
    if not np.all(scale > 0):
        raise DirectGPError(f"{what} must be positive")
    return len(shift)


def _check_likelihood(likelihood: Likelihood, model: Model) -> None:
    """Check the parameters of a likelihood."""
    if isinstance(likelihood, GaussianOutputs):
        if not isinstance(model, MultiOutput) or not model.with_number:
            raise DirectGPError("GaussianOutputs needs a model of several outputs")
        check_positive(
            "the noise", likelihood.noise, len(values_of(model.levels)), one_for_all=False
        )
        _check_noise(likelihood.noise)
    elif isinstance(model, MultiOutput) and model.with_number:
        raise DirectGPError(f"{type(likelihood).__name__} does not use the index of an output")
    elif isinstance(likelihood, Gaussian):
        check_positive("the noise", likelihood.noise)
        _check_noise(likelihood.noise)
    elif isinstance(likelihood, StudentT):
        check_positive("the scale of the noise", likelihood.scale)
        _check_noise(likelihood.scale)
        check_positive("the degrees of freedom", likelihood.df)
        if not np.all(stored(likelihood.df).values > 1):
            raise DirectGPError("the degrees of freedom must be above 1")
    elif isinstance(likelihood, NegativeBinomial):
        check_positive("the dispersion", likelihood.dispersion)
        if stored(likelihood.dispersion).values > _LARGEST_DISPERSION:
            raise DirectGPError("the dispersion of counts is out of bounds")


def _check_noise(noise: Any) -> None:
    if np.any(values_of(noise) > _LARGEST_NOISE):
        raise DirectGPError("the noise is out of bounds")


def _check_work(model: Model, likelihood: Likelihood) -> None:
    """Raise an error for a model that needs too much memory or time to predict rows."""
    means, weights = traced(
        lambda model: (
            [unwrap(q.mean) for q in model.posteriors],
            jnp.zeros(model.for_prediction().components),
        ),
        model,
    )
    if len(weights) * ROWS * max(math.prod(mean.shape) for mean in means) > MOST_PAIRS:
        raise DirectGPError("the model has too many components for its inducing inputs")
    classes = likelihood.num_classes if isinstance(likelihood, Categorical) else 0
    pairs = len(weights) * classes
    if pairs > _MOST_CLASS_PAIRS or pairs * classes > _MOST_CLASS_WORK:
        raise DirectGPError("the model has too many components for its classes")
