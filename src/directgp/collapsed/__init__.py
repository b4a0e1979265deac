"""Sparse GP regression with a closed-form q(u) (`dlm` section 2).

With a Gaussian likelihood the optimal q(u) for given hyperparameters has a closed form, so only the
hyperparameters are trained, with full batches:

=====================  ===============================================================
`CollapsedBound`       Titsias' variational bound, for any weight β of the KL term
`FITC`                 the marginal likelihood of the FITC model
`CollapsedSquareLoss`  square-loss DLM with its closed-form mean
=====================  ===============================================================

Each is an objective for `training.loop.run` that takes an ordinary `SparseGP` (its posterior
is not used) and a `Gaussian`; `finish` then gives an ordinary `SparseGP` that predicts as the
collapsed model does. `optimal_posterior` gives q(u) alone, for a warm start.

`objectives` has the three objectives, `rows` their sums over the data, `posterior` the closed-form
q(u), `calibration` the predictive variance of the square-loss model, `any_model` the same for other
models. This package imports `objective`, so `models` does not import it.
"""

from directgp.collapsed.objectives import (
    FITC,
    Collapsed,
    CollapsedBound,
    CollapsedSquareLoss,
)
from directgp.collapsed.posterior import (
    optimal_posterior,
    optimal_posterior_streaming,
)

__all__ = [
    "FITC",
    "Collapsed",
    "CollapsedBound",
    "CollapsedSquareLoss",
    "optimal_posterior",
    "optimal_posterior_streaming",
]
