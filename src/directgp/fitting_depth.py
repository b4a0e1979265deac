"""How deep a model is when nobody says: as deep as pays on held-out rows."""

from typing import Any, Literal

import numpy as np

from directgp.fitting import FittedGP, fit
from directgp.likelihoods import Gaussian, Likelihood
from directgp.losses import Direct, LogLoss, Loss
from directgp.training.initialise import default_num_inducing

FEWEST_ROWS = 200
"""With fewer rows the held-out ones cannot tell: one layer."""
MANY_ROWS = 2000
"""From here on two layers have been better on every table tried: one layer is not trained."""
_MOST_INDUCING = 200
_WIDTH = 3
_TWO_LAYERS: dict[str, Any] = {"layers": 2, "beta_grid": [1.0, 0.2, 0.05]}


def fit_depth(
    X: np.ndarray,
    y: np.ndarray,
    *,
    loss: Loss,
    likelihood: Likelihood,
    layers: int | Literal["auto"] = "auto",
    num_inducing: int | None = None,
    width: int | None = None,
    time_budget: float | None = None,
    checkpoint: Any = None,
    **options: Any,
) -> FittedGP:
    """`fit` with one layer or two (a deep sigma point process), chosen on held-out rows.

    Both are judged by the loss they are trained for, on the same rows; two layers win if they are
    better by more than one standard error of the rows' differences. Only direct log loss with
    Gaussian noise has the choice: a mixture is what such a model lacks most. Other losses and
    likelihoods get one layer. A number of `layers` is trained without a choice, with the same
    settings: narrow inner layers and no more inducing points than deep models need.
    """
    options |= {"loss": loss, "likelihood": likelihood}
    one_layer = {"num_inducing": num_inducing, "time_budget": time_budget}
    gains = loss == Direct(LogLoss()) and type(likelihood) is Gaussian
    if layers == 1 or (layers == "auto" and not (gains and len(y) >= FEWEST_ROWS)):
        return fit(X, y, checkpoint=checkpoint, **options, **one_layer)
    two_layers = _TWO_LAYERS | {
        "num_inducing": num_inducing or min(_MOST_INDUCING, default_num_inducing(len(y))),
        "width": width or min(_WIDTH, X.shape[1]),
        "time_budget": time_budget,
        "checkpoint": checkpoint,
    }
    if layers != "auto":
        return fit(X, y, **options, **two_layers | {"layers": layers})
    if len(y) >= MANY_ROWS:
        return fit(X, y, **options, **two_layers)
    if time_budget is not None:
        one_layer["time_budget"] = two_layers["time_budget"] = 0.5 * time_budget
    # The first is soon trained again after an interrupt; a folder of checkpoints serves one fit.
    one = fit(X, y, validation=0.1, **options, **one_layer)
    two = fit(X, y, validation=0.1, **options, **two_layers)
    assert one.held_out is not None and two.held_out is not None
    gain = one.held_out - two.held_out
    return two if np.mean(gain) > np.std(gain) / np.sqrt(len(gain)) else one
