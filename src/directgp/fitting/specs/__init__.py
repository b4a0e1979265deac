"""Options of a fit as frozen, validated dataclasses.

sparse.py, deep.py, decoupled.py   models: each declares its options and builds the initial model
exact.py                           an exact GP: no inducing points, no training of q(u)
fixed_hyperparameters.py           a new posterior for the prior of an earlier fit
coregionalised.py                  a model of several outputs, made by `fit_outputs`
training.py                        steps, learning rate, batch size, precision, budget, checkpoints

A new model spec is one file with a subclass of `ModelSpec`.
"""

from directgp.fitting.specs.base import ModelSpec
from directgp.fitting.specs.coregionalised import Coregionalised
from directgp.fitting.specs.decoupled import Decoupled
from directgp.fitting.specs.deep import Deep, joins
from directgp.fitting.specs.exact import Exact
from directgp.fitting.specs.fixed_hyperparameters import FixedHyperparameters
from directgp.fitting.specs.sparse import Sparse
from directgp.fitting.specs.training import (
    BATCH_SIZE,
    MAX_STEPS,
    Training,
    default_epochs,
    default_learning_rate,
)

__all__ = [
    "BATCH_SIZE",
    "Coregionalised",
    "Decoupled",
    "Deep",
    "Exact",
    "FixedHyperparameters",
    "MAX_STEPS",
    "ModelSpec",
    "Sparse",
    "Training",
    "default_epochs",
    "default_learning_rate",
    "joins",
]
