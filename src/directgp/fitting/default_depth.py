"""The default number of layers of a single GP: two from 2000 rows on, else one."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.checks import Beta
from directgp.fitting.fit import fit
from directgp.fitting.fit_outputs import fit_outputs
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.flat_options import model_from_options
from directgp.fitting.specs import Deep, Exact, ModelSpec
from directgp.likelihoods import Gaussian, Likelihood
from directgp.losses import Direct, LogLoss, Loss
from directgp.training.initialise import default_num_inducing

MANY_ROWS = 2000
"""Number of rows from which two layers were better on every table in the benchmarks."""
_INDUCING = 100, 200
"""Bounds of √n inducing points for several layers (at most the default of one layer)."""
_SITES = 4
"""Default number of sigma points: 8 take 1.5 times as long and were better on 1 of 4 tables."""
_WIDTH = 8
"""Maximum default width of inner layers: fewer lose information, more gained little."""
_BETA = 1.0
"""Default β of several layers: choosing among 1, 0.2, 0.05 took twice as long without gain."""
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
) -> FittedGP | FittedExactRegression:
    """`fit` with one layer, or with two (a deep sigma point process) from `MANY_ROWS` rows on.

    With several layers and β "auto", β is 1 and the parameters of the step with the best held-out
    loss are kept, because several layers overfit long before training ends. With a given number
    no rows are held out.

    Args:
        X: inputs [N D].
        y: targets [N], or [N T] for several outputs (`fit_outputs`).
        loss: the training loss.
        likelihood: p(y | f).
        model: flat options (see `default_model`), or an earlier fit to continue from.
        beta: the weight of the divergence; see `fit`.
        validation: rows to hold out; see `fit`.
        **options: the other arguments of `fit`.
    """
    chosen: Any = model
    if isinstance(model, FittedGP):
        depth = model.gp.model.depth
    else:
        chosen = default_model(model, loss, likelihood, X.shape, outputs=np.ndim(y) == 2)
        if isinstance(chosen, Exact) and np.ndim(y) == 2:
            raise DirectGPError(
                f"an exact GP has one output, got {np.shape(y)[1]}; leave out inference='exact'"
            )
        depth = 1 if isinstance(chosen, Exact) else chosen.depth
    if depth > 1 and isinstance(beta, str) and beta == "auto":
        beta = _BETA
        if validation is None:
            validation = min(_SHARE, max(_HELD_OUT / len(y), 0.01))
    shared: dict[str, Any] = {
        "loss": loss,
        "likelihood": likelihood,
        "model": chosen,
        "beta": beta,
        "validation": validation,
    }
    method = fit_outputs if np.ndim(y) == 2 else fit
    return method(X, y, **shared, **options)


def default_model(
    options: Mapping[str, Any],
    loss: Loss,
    likelihood: Likelihood,
    shape: tuple[int, ...],
    *,
    outputs: bool = False,
) -> ModelSpec | Exact:
    """The spec for flat options (see `model_from_options`), of which `layers` may be "auto".

    Only the direct log loss with Gaussian noise gets two layers from `MANY_ROWS` rows on, because
    it gains most from a mixture as predictive distribution. Other losses and likelihoods, and
    several outputs, get one layer unless `width` or `deep` is given. Several layers have by default
    a width of at most 8, √n inducing points (100 to 200) and 4 sigma points.

    Args:
        options: flat options of models.
        loss: the training loss.
        likelihood: of the targets.
        shape: of X.
        outputs: whether y has several columns.
    """
    num_rows, num_inputs = shape
    if options.get("inference") is not None:
        auto = isinstance(options.get("layers"), str)
        return model_from_options({**options, "layers": 1} if auto else options)
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
    """The given number of layers; else two if options of inner layers are given or `many`."""
    layers = options.get("layers", "auto")
    if isinstance(layers, str) and layers == "auto":
        return 2 if asks_for_layers(options) or many else 1
    if not isinstance(layers, int | np.integer):
        raise DirectGPError(f"layers must be 'auto' or a whole number ≥ 1, got {layers!r}")
    return int(layers)


def asks_for_layers(options: Mapping[str, Any]) -> bool:
    """Whether options of inner layers are given, which imply several layers."""
    return options.get("width") is not None or options.get("deep", Deep.join) != Deep.join
