"""The parts that are combined, by name, and a small problem for each model and likelihood."""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from directgp.fitting.prepare import prepare
from directgp.fitting.prepare_outputs import prepare_outputs
from directgp.fitting.specs import Coregionalised, Decoupled, Deep, ModelSpec, Sparse
from directgp.likelihoods import Likelihood, for_outputs, likelihoods
from directgp.losses import Joint, losses
from directgp.objective import Batch
from directgp.parameters import float64
from directgp.training.loop import GP

ROWS, INDUCING = 30, 4
DIVERGENCES = ("kl", "weighted-kl:w=0.5", "renyi:alpha=0.5")
DEPTHS: dict[str, ModelSpec] = {
    "1 layer": Sparse(num_inducing=INDUCING),
    "2 layers, sigma points": Deep(num_inducing=INDUCING, layers=2, width=2, num_sites=3),
    "3 layers, samples": Deep(
        num_inducing=INDUCING, layers=3, width=2, num_sites=3, join="samples"
    ),
}
FURTHER: dict[str, ModelSpec] = {
    "decoupled": Decoupled(num_inducing=INDUCING, mean_inducing=4),
    "network in front": Sparse(num_inducing=INDUCING, features="mlp", feature_widths=(4, 2)),
}
OUTPUTS: dict[str, ModelSpec] = {
    "2 outputs": Sparse(num_inducing=INDUCING),
    "2 outputs, 2 layers": Deep(num_inducing=INDUCING, layers=2, width=2, num_sites=3),
}
MODELS = DEPTHS | FURTHER | OUTPUTS
FEW = ("gaussian", "bernoulli", "poisson")
"""Likelihoods of the further models: one of numbers, one of classes, one of counts."""
_MIXING = np.array([[1.0, 0.3], [0.2, 1.0]])


class Combination(NamedTuple):
    """Names of a model, a likelihood and a loss; the divergences are tried together."""

    model: str
    likelihood: str
    loss: str


class Problem(NamedTuple):
    """A model before training, and its rows."""

    gp: GP
    rows: Batch


def combinations() -> list[Combination]:
    """All combinations, those of the three depths first."""
    return [
        Combination(model, likelihood, loss)
        for model in MODELS
        for likelihood in likelihoods_of(model)
        for loss in losses_of(model)
    ]


def likelihoods_of(model: str) -> list[str]:
    """The likelihoods that a model is combined with."""
    return list(likelihoods) if model in DEPTHS or model == "2 outputs" else list(FEW)


def losses_of(model: str) -> list[str]:
    """The losses that a model is combined with: joint ones where there are several outputs."""
    return [
        name for name in losses if model in OUTPUTS or not isinstance(losses.create(name), Joint)
    ]


def targets(likelihood: Likelihood, rows: int) -> np.ndarray:
    """Values that a likelihood can score."""
    rng = np.random.default_rng(1)
    if likelihood.support == "counts":
        return rng.poisson(2.0, rows).astype(float)
    if likelihood.support == "classes":
        return np.arange(rows) % max(2.0, likelihood.num_latents)
    return rng.normal(size=rows)


def table(model: str, likelihood: str) -> tuple[np.ndarray, np.ndarray, Likelihood]:
    """Inputs, targets (a column for each output) and the likelihood."""
    X = np.random.default_rng(0).normal(size=(ROWS, 2))
    own = likelihoods.create(likelihood)
    if likelihood == "categorical":
        own = own.for_targets(np.arange(3.0))
    y = targets(own, ROWS)
    return X, np.stack([y, np.roll(y, 1)], axis=1) if model in OUTPUTS else y, own


@cache
@float64
def problem(model: str, likelihood: str) -> Problem:
    """The model as `fit` or `fit_outputs` starts it, and its standardised rows."""
    X, y, own = table(model, likelihood)
    shared: dict[str, Any] = {"validation": None, "sample_weight": None, "seed": 0}
    if model in OUTPUTS:
        spec = Coregionalised(OUTPUTS[model], _MIXING)
        ready = prepare_outputs(X, y, for_outputs(own, y.shape[1]), model=spec, **shared)
    else:
        ready = prepare(X, y, own, model=MODELS[model], hold_out=lambda _: False, **shared)
    return Problem(ready.gp, ready.data)
