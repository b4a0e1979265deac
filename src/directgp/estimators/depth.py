"""How deep a model is when nobody says: as deep as pays on held-out rows."""

from typing import Any

import numpy as np

from directgp.fitting import FittedGP, fit
from directgp.training.initialise import default_num_inducing

FEWEST_ROWS = 200
"""With fewer rows the held-out ones cannot tell: one layer."""
MANY_ROWS = 2000
"""From here on two layers have been better on every table tried: one layer is not trained."""
_MOST_INDUCING = 200
_WIDTH = 3
_TWO_LAYERS: dict[str, Any] = {"layers": 2, "beta_grid": [1.0, 0.2, 0.05]}


def fit_depth(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> FittedGP:
    """A model of one or two layers (a deep sigma point process), chosen on held-out rows.

    Both are judged by the loss they are trained for, on the same rows; two layers win if they are
    better by more than one standard error of the rows' differences.
    """
    if len(y) < FEWEST_ROWS:
        return fit(X, y, **options)
    inducing = options["num_inducing"] or min(_MOST_INDUCING, default_num_inducing(len(y)))
    width = options["width"] or min(_WIDTH, X.shape[1])
    deep = options | _TWO_LAYERS | {"num_inducing": inducing, "width": width}
    if len(y) >= MANY_ROWS:
        return fit(X, y, **deep)
    if options["time_budget"] is not None:
        half = {"time_budget": 0.5 * options["time_budget"]}
        options, deep = options | half, deep | half
    one, two = (fit(X, y, validation=0.1, **own) for own in (options, deep))
    assert one.held_out is not None and two.held_out is not None
    gain = one.held_out - two.held_out
    return two if np.mean(gain) > np.std(gain) / np.sqrt(len(gain)) else one
