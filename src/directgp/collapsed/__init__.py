"""Sparse GP regression with a closed-form q(u) (`dlm` section 2).

With a Gaussian likelihood the optimal q(u) for given hyperparameters has a closed form, so only the
hyperparameters are trained, with full batches:

=====================  ===============================================================
`CollapsedBound`       Titsias' variational bound, for any weight β of the KL term
`FITC`                 the marginal likelihood of the FITC model
`CollapsedSquareLoss`  square-loss DLM with its closed-form mean
=====================  ===============================================================

Each is an objective for `training.loop.run` and takes a `SparseGP`, whose posterior is ignored, and
a `Gaussian`. `finish` returns a `SparseGP` with the predictions of the collapsed model.
`optimal_posterior` returns q(u) only, for a warm start.

`objectives` has the three objectives, `rows` their sums over the data, `posterior` the closed-form
q(u), `calibration` the predictive variance of the square-loss model, `any_model` that of other
models trained by square loss.
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
