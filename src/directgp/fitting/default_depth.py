"""The default number of layers: two from 2000 rows on, else one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.checks import Beta
from directgp.fitting.fit import fit
from directgp.fitting.fit_outputs import fit_outputs
from directgp.fitting.fitted import FittedGP
from directgp.fitting.flat_options import model_from_options
from directgp.fitting.specs import Deep, ModelSpec
from directgp.likelihoods import Gaussian, Likelihood
from directgp.losses import Direct, LogLoss, Loss
from directgp.training.initialise import default_num_inducing

MANY_ROWS = 2000
"""From this many rows on two layers were better on every table tried."""
_INDUCING = 100, 200
"""Inducing points of several layers: √n between these, and never more than one layer has."""
_SITES = 4
"""Sigma points: 8 take 1.5 times as long and were better on one table in four."""
_WIDTH = 8
"""Width of the inner layers: fewer outputs lose information, more gained too little."""
_BETA = 1.0
"""Choosing among 1, 0.2 and 0.05 took twice as long and gained nothing; early stopping does."""
_HELD_OUT, _SHARE = 500, 0.1
"""Held-out rows for early stopping: 500 or 1 % of all, but at most this share."""


def fit_depth(
    X: np.ndarray,
    y: np.ndarray,
    *,
    loss: Loss,
    likelihood: Likelihood,
    model: Mapping[str, Any] | FittedGP,
    beta: Beta = "auto",
    validation: float | tuple[Any, ...] | None = None,
    **options: Any,
) -> FittedGP:
    """`fit` with one layer, or with two (a deep sigma point process) from `MANY_ROWS` rows on.

    With several layers and β "auto", β is 1 and the parameters kept are those that were best on
    held-out rows, because several layers overfit long before training ends; a number holds nothing
    out.

    Args:
        X: rows of numbers [N D].
        y: their targets [N]; y [N T] are several outputs, by `fit_outputs`.
        loss: what predictions are judged by.
        likelihood: p(y | f).
        model: flat options (see `default_model`), or an earlier fit to go on from.
        beta: the weight of the divergence; see `fit`.
        validation: rows to hold out; see `fit`.
        **options: the other arguments of `fit`.
    """
    if isinstance(model, FittedGP):
        chosen, depth = model, model.gp.model.depth
    else:
        chosen = default_model(model, loss, likelihood, X.shape, outputs=np.ndim(y) == 2)
        depth = chosen.depth
    if depth > 1 and isinstance(beta, str) and beta == "auto":
        beta = _BETA
        if validation is None:
            validation = min(_SHARE, max(_HELD_OUT / len(y), 0.01))
    method = fit_outputs if np.ndim(y) == 2 else fit
    return method(
        X,
        y,
        loss=loss,
        likelihood=likelihood,
        model=chosen,
        beta=beta,
        validation=validation,
        **options,
    )


def default_model(
    options: Mapping[str, Any],
    loss: Loss,
    likelihood: Likelihood,
    shape: tuple[int, ...],
    *,
    outputs: bool = False,
) -> ModelSpec:
    """The spec for flat options (see `model_from_options`), of which `layers` may be "auto".

    Only direct log loss with Gaussian noise gets two layers from `MANY_ROWS` rows on: a mixture is
    what such a model lacks most. Other losses and likelihoods, and several outputs, get one layer
    unless `width` or `deep` asks for more. Several layers, chosen here or given, are at most 8
    wide, have √n inducing points (100 to 200) and 4 sigma points where the options do not say.
    """
    num_rows, num_inputs = shape
    gains = loss == Direct(LogLoss()) and type(likelihood) is Gaussian and not outputs
    depth = _depth(options, gains and num_rows >= MANY_ROWS)
    model = model_from_options({**options, "layers": depth})
    if not isinstance(model, Deep):
        return model
    number = int(np.clip(round(np.sqrt(num_rows)), *_INDUCING))
    number = model.num_inducing or min(number, default_num_inducing(num_rows))
    sites = options.get("num_sites") or (_SITES if model.join == Deep.join else model.num_sites)
    width = model.width or min(_WIDTH, num_inputs)
    return replace(model, num_inducing=number, num_sites=sites, width=width)


def _depth(options: Mapping[str, Any], many: bool) -> int:
    """As many layers as given; else two where inner ones are asked for, or rows are many."""
    layers = options.get("layers", "auto")
    if isinstance(layers, str) and layers == "auto":
        return 2 if asks_for_layers(options) or many else 1
    if not isinstance(layers, int | np.integer):
        raise DirectGPError(f"layers must be 'auto' or a whole number ≥ 1, got {layers!r}")
    return int(layers)


def asks_for_layers(options: Mapping[str, Any]) -> bool:
    """Whether flat options concern inner layers, so that the model must have some."""
    return options.get("width") is not None or options.get("deep", Deep.join) != Deep.join
