"""How deep a model is when nobody says: two layers once there are rows to learn them from."""

from typing import Any

import numpy as np

from directgp.fitted import FittedGP
from directgp.fitting import fit
from directgp.fitting_outputs import FittedOutputs, fit_outputs
from directgp.likelihoods import Gaussian, Likelihood
from directgp.losses import Direct, LogLoss, Loss
from directgp.structure import Structure
from directgp.training.initialise import default_num_inducing

MANY_ROWS = 2000
"""From here on two layers have been better on every table tried, and worth the time they take."""
_INDUCING = 100, 200
"""Inducing points of several layers: √n between these, and never more than one layer has."""
_SITES = 4
"""Sigma points: 8 take half as long again and were better on one table in four."""
_WIDTH = 8
"""Inner outputs: fewer lose inputs on the way, more have not been worth their time."""


def fit_depth(
    X: np.ndarray,
    y: np.ndarray,
    *,
    loss: Loss,
    likelihood: Likelihood,
    layers: int | str = "auto",
    num_inducing: int | None = None,
    width: int | None = None,
    **options: Any,
) -> FittedGP | FittedOutputs:
    """`fit` with one layer, or with two (a deep sigma point process) from `MANY_ROWS` rows on.

    Only direct log loss with Gaussian noise has the choice: a mixture is what such a model lacks
    most. Other losses and likelihoods, and several outputs (y [N T], by `fit_outputs`), get one
    layer unless `width` or `deep` asks for more; a `start` stays as deep as it is. Several
    `layers`, chosen here or given, are at most 8 wide, have √n inducing points (100 to 200), 4
    sigma points and three values of β to choose from.
    """
    several = np.ndim(y) == 2
    inner = {"width": width, "deep": _unusual(options.get("deep"))}
    asked = {name: value for name, value in inner.items() if value is not None}
    start = options.get("start")
    if layers == "auto" and start is not None:
        layers = start.gp.model.depth
    elif layers == "auto":
        gains = loss == Direct(LogLoss()) and type(likelihood) is Gaussian and not several
        layers = 2 if asked or (gains and len(y) >= MANY_ROWS) else 1
    if not isinstance(layers, int | np.integer):
        raise ValueError(f"layers must be 'auto' or a whole number ≥ 1, got {layers!r}")
    if layers == 1 and asked:
        name, value = next(iter(asked.items()))
        raise ValueError(f"{name}={value!r} is about inner layers, and 1 layer has none; layers=2")
    if int(layers) > 1:
        number = int(np.clip(round(np.sqrt(len(y))), *_INDUCING))
        num_inducing = num_inducing or min(number, default_num_inducing(len(y)))
        width = width or min(_WIDTH, X.shape[1])
        options = {"beta_grid": [1.0, 0.2, 0.05]} | options
        if "deep" not in asked:
            options = {"num_sites": _SITES} | options
    return (fit_outputs if several else fit)(
        X,
        y,
        loss=loss,
        likelihood=likelihood,
        layers=int(layers),
        num_inducing=num_inducing,
        width=width,
        **options,
    )


def _unusual(deep: str | None) -> str | None:
    return None if deep == Structure.deep else deep
