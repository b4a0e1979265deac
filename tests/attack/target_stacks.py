"""Sound files of stacks and of exact GPs: what estimators fit by default, and what they can."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import directgp as dg
from directgp.fitting.specs import Deep, Sparse
from directgp.fitting.stacking import FittedClassStack, FittedCountStack
from directgp.fitting.stacking.class_member import ByTrainedGP, ClassMember
from directgp.fitting.stacking.count_member import ByTrainedRates
from directgp.fitting.stacking.member import ByDeepGP, ByTrees
from directgp.parameters import float64
from tests.attack.untrained import NEW, Found, Target, described, untrained

_SMALL: dict[str, Any] = {"mean": "constant", "num_inducing": 5, "mean_field": False}


def stacks(folder: Path) -> list[Target]:
    """Of numbers, of their logarithm, of two and three classes and of counts.

    Each kind is there as small tables get it and with the trained member that thousands of rows
    have.
    """
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.sin(2 * X[:, 0]) + (0.1 + 0.2 * (X[:, 1] > 0)) * rng.normal(size=60)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [-0.4, 0.4])]
    by_counts = dg.GPRegressor(likelihood="negative-binomial")
    kinds: dict[str, tuple[Any, np.ndarray]] = {
        "stack": (dg.GPRegressor(), y),
        "stack of a log target": (dg.GPRegressor(), np.exp(2 * y + 0.3 * rng.normal(size=60))),
        "stack of 2 classes": (dg.GPClassifier(), y > 0),
        "stack of 3 classes": (dg.GPClassifier(), labels),
        "stack of counts": (by_counts, rng.poisson(np.exp(1 + y)).astype(float)),
    }
    found = []
    for name, (model, own) in kinds.items():
        model.fit(X, own)
        trained = with_trained_member(model.fitted_)
        for title, fitted in ((name, model.fitted_), (f"{name}, trained member", trained)):
            model.fitted_ = fitted
            model.save(folder / "sound")
            read = partial(_read, type(model))
            found.append(Target(title, (folder / "sound").read_bytes(), read))
    return found


@float64
def with_trained_member(stack: Any) -> Any:
    """The stack with a sparse or deep GP as a further member, as thousands of rows get one.

    Its numbers are not learned, its parts are those of one that is.
    """
    columns = len(stack.inputs.shift)
    last = stack.members[-1]
    added: Any
    if isinstance(stack, FittedClassStack):
        two = stack.num_classes == 2
        likelihood = dg.BernoulliProbit() if two else dg.Categorical(stack.num_classes)
        fitted = untrained(Sparse(**_SMALL), likelihood, columns=columns)
        added = ClassMember("sparse GP", ByTrainedGP(fitted), 1.0)
    elif isinstance(stack, FittedCountStack):
        fitted = untrained(Sparse(**_SMALL), dg.NegativeBinomialExp(), columns=columns)
        added = replace(last, name="sparse GP", model=ByTrainedRates(fitted))
    else:
        spec = Deep(width=2, num_sites=2, **_SMALL)
        fitted = untrained(spec, dg.Gaussian(), columns=columns + 1)
        trees = next(m.location.trees for m in stack.members if isinstance(m.location, ByTrees))
        added = replace(last, name="trees + deep GP", location=ByDeepGP(trees, fitted))
    weights = np.append(0.75 * stack.weights, 0.25)
    return replace(stack, members=(*stack.members, added), weights=weights)


def exact_models(folder: Path) -> list[Target]:
    """Exact GPs: of numbers by evidence and by leave-one-out, classifiers by every inference."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(20, 3))
    y = X[:, 0] + 0.2 * rng.normal(size=20)
    quick: dict[str, Any] = {"max_steps": 3}
    kinds: dict[str, Any] = {
        "exact regression": dg.GPRegressor(inference="exact", objective="elbo", **quick),
        "exact regression, leave-one-out": dg.GPRegressor(inference="exact", loss="crps", **quick),
        "laplace": dg.GPClassifier(inference="laplace", link="logit", **quick),
        "ep": dg.GPClassifier(inference="ep", **quick),
        "loss-ep": dg.GPClassifier(inference="loss-ep", loss=dg.BinaryCost(1, 4), **quick),
        "loss-em": dg.GPClassifier(inference="loss-em", loss=dg.BinaryCost(1, 4), **quick),
    }
    found = []
    for name, model in kinds.items():
        numbers = isinstance(model, dg.GPRegressor)
        more = {"X_test": NEW} if name == "loss-em" else {}
        model.fit(X, y if numbers else y > 0, **more)
        model.save(folder / "sound")
        read = partial(_read, type(model))
        found.append(Target(name, (folder / "sound").read_bytes(), read))
    return found


def _read(of: Any, path: Path) -> Found:
    loaded = of.load(path)
    repr(loaded.fitted_)
    json.dumps(loaded.fitted_.hyperparameters(), default=str)
    predictive = loaded.predict_distribution(NEW)
    return described(predictive) | {"said": np.asarray(loaded.predict(NEW))}
