"""`prepare` for whole rows of several outputs."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np

from directgp.fitting.fitted import FittedGP
from directgp.fitting.prepare import Prepared
from directgp.fitting.specs import Coregionalised
from directgp.likelihoods import Likelihood
from directgp.models import MultiOutput
from directgp.objective import Batch
from directgp.parameters import on_device, thawed, unwrap
from directgp.tables import Standardiser, WeightedRows, check_weights
from directgp.training.loop import GP

AS_THEY_ARE = Standardiser(np.zeros(1), np.ones(1))


def is_multi_output(model: Any, y: Any) -> bool:
    """Whether these arguments of `fit` are whole rows of several outputs, from `fit_outputs`.

    Args:
        model: a spec or an earlier fit.
        y: the targets.
    """
    inner = model.gp.model if isinstance(model, FittedGP) else None
    return np.ndim(y) == 2 and isinstance(model, Coregionalised) | isinstance(inner, MultiOutput)


def prepare_outputs(
    X: Any,
    Y: Any,
    likelihood: Likelihood,
    *,
    model: Coregionalised | FittedGP,
    validation: WeightedRows | None,
    sample_weight: Any,
    seed: int,
) -> Prepared:
    """Scale and initialise; `fit_outputs` has validated and split the rows.

    Args:
        X: rows [N D].
        Y: their outputs [N T], standardised, NaN where one was not measured.
        likelihood: of each output; ignored for an earlier fit.
        model: a spec to build, or an earlier fit (as a long table) to continue from.
        validation: the held-out rows, standardised in the same way.
        sample_weight: one weight per row.
        seed: of the initial model.
    """
    weight = check_weights(sample_weight, len(Y))
    measured = np.isfinite(Y)
    if isinstance(model, FittedGP):
        likelihood = model.gp.likelihood
        shift, scale = model.inputs  # the last is the output's number
        inputs, targets = Standardiser(shift[:-1], scale[:-1]), model.targets
    else:
        inputs, targets = Standardiser.of_inputs(X, weight), AS_THEY_ARE
    likelihood.check_targets(Y[measured])

    def batch(rows: WeightedRows) -> Batch:
        scaled = (rows.y - targets.shift) / targets.scale
        X = jax.device_put(inputs.forward_inputs(rows.X))
        return Batch(X, jax.device_put(scaled), on_device(rows.weight))

    data = batch(WeightedRows(X, Y, weight))
    if isinstance(model, FittedGP):
        gp = thawed(model.gp)
    else:
        scaled = np.asarray(data.X), np.asarray(data.y)
        gp = GP(model.initial_model(*scaled, likelihood, seed), likelihood)
    held = None if validation is None else batch(validation)
    # The mean number of rows per output.
    support = max(float(measured.sum()), float(np.sum(weight[:, None] * measured))) / Y.shape[1]
    return Prepared(gp, data, held, inputs, targets, data, len(Y), support=support)


def one_row_per_value(batch: Batch, gp: GP) -> Batch:
    """The measured values as rows of one output each, (x, number of the output).

    A batch with a single output is returned unchanged.

    Args:
        batch: whole rows.
        gp: with the `MultiOutput` model.
    """
    if batch.y.ndim == 1:
        return batch
    assert isinstance(gp.model, MultiOutput)
    y, levels = np.asarray(batch.y), np.asarray(unwrap(gp.model.levels))
    row, output = np.nonzero(np.isfinite(y))
    X = np.concatenate([np.asarray(batch.X)[row], levels[output][:, None]], axis=1)
    weight = np.asarray(batch.weight)[row]
    return replace(batch, X=on_device(X), y=on_device(y[row, output]), weight=on_device(weight))
