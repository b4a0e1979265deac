"""Sparse GP regression whose q(u) is solved instead of searched (`dlm` section 2).

With a Gaussian likelihood the best q(u) for given hyperparameters has a formula, so only the
hyperparameters are left to train, on all rows at once:

=====================  ===============================================================
`CollapsedBound`       Titsias' variational bound, for any weight β of the KL term
`FITC`                 the marginal likelihood of the FITC model
`CollapsedSquareLoss`  square-loss DLM with its closed-form mean
=====================  ===============================================================

Each is an objective for `training.loop.run` that takes an ordinary `SparseGP` (its posterior
is not used) and a `Gaussian`; `finish` then gives an ordinary `SparseGP` that predicts as the
collapsed model does. `optimal_posterior` gives q(u) alone, for a warm start.

`objectives` has the three objectives, `rows` what they sum over the data, `posterior` the
solution for q(u), `calibration` the predictive variance of the square-loss model. This package
uses `objective`, so `models` itself does not import it.
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
