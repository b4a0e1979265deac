"""How deep a model is when nobody says: two layers once there are rows to learn them from."""

from typing import Any

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.fit import fit
from directgp.fitting.fit_outputs import FittedOutputs, fit_outputs
from directgp.fitting.fitted import FittedGP
from directgp.fitting.options import check_idle, without_idle
from directgp.fitting.specs import Structure
from directgp.likelihoods import Gaussian, Likelihood
from directgp.losses import Direct, LogLoss, Loss
from directgp.training.initialise import default_num_inducing

MANY_ROWS = 2000
"""From here on two layers have been better on every table tried, and worth the time they take."""
_INDUCING = 100, 200
"""Inducing points of several layers: √n between these, and never more than one layer has."""
_SITES = 4
"""Sigma points: 8 take half as long again and were better on one table in four."""
_WIDTH = 8
"""Inner outputs: fewer lose inputs on the way, more have not been worth their time."""
_BETA = 1.0
"""Racing 1, 0.2 and 0.05 took twice as long and chose no better; which step is what matters."""
_HELD_OUT, _SHARE = 500, 0.1
"""Rows that say which step was best: at most this share, and else this many, or 1 % of all."""


def fit_depth(
    X: np.ndarray,
    y: np.ndarray,
    *,
    loss: Loss,
    likelihood: Likelihood,
    layers: int | str = "auto",
    start: FittedGP | FittedOutputs | None = None,
    **options: Any,
) -> FittedGP | FittedOutputs:
    """`fit` with one layer, or with two (a deep sigma point process) from `MANY_ROWS` rows on.

    Only direct log loss with Gaussian noise has the choice: a mixture is what such a model lacks
    most. Other losses and likelihoods, and several outputs (y [N T], by `fit_outputs`), get one
    layer unless `width` or `deep` asks for more. Several `layers`, chosen here or given, are at
    most 8 wide, have √n inducing points (100 to 200) and 4 sigma points; with β "auto" and no
    `beta_grid` they have β = 1 and are as good as they ever were on held-out rows, because they
    overfit long before they are told to end; a number holds nothing out. With `start` the model is
    the one that it brings, whatever was asked for.
    """
    several = np.ndim(y) == 2
    if start is not None:
        depth = start.gp.model.depth
        options = without_idle(options | {"start": start})
    else:
        gains = loss == Direct(LogLoss()) and type(likelihood) is Gaussian and not several
        depth = _depth(layers, options, gains and len(y) >= MANY_ROWS)
        options |= {"layers": depth}
        check_idle(options)
        if depth > 1:
            number = int(np.clip(round(np.sqrt(len(y))), *_INDUCING))
            number = min(number, default_num_inducing(len(y)))
            options["num_inducing"] = options.get("num_inducing") or number
            if options.get("deep", Structure.deep) == Structure.deep:
                options = {"num_sites": _SITES} | options
            options["width"] = options.get("width") or min(_WIDTH, X.shape[1])
    left_open = options.get("beta", "auto") == "auto" and options.get("beta_grid") is None
    if depth > 1 and left_open:
        options["beta"] = _BETA
        if options.get("validation") is None:
            options["validation"] = min(_SHARE, max(_HELD_OUT / len(y), 0.01))
    return (fit_outputs if several else fit)(X, y, loss=loss, likelihood=likelihood, **options)


def _depth(layers: int | str, options: dict[str, Any], many: bool) -> int:
    """As many layers as given; else two where inner ones are asked for, or rows are many."""
    if layers == "auto":
        deep = options.get("deep") or Structure.deep
        asked = options.get("width") is not None or deep != Structure.deep
        return 2 if asked or many else 1
    if not isinstance(layers, int | np.integer):
        raise DirectGPError(f"layers must be 'auto' or a whole number ≥ 1, got {layers!r}")
    return int(layers)
