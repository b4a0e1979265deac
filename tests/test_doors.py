"""Every option of a fit is reachable from every door, or the reason why not stands here."""

import inspect

import numpy as np
import pytest

from directgp import DirectGPError, GPClassifier, GPRegressor, MonteCarlo, Renyi
from directgp.cli.compare import compare as compare_command
from directgp.cli.fit import fit as fit_command
from directgp.cli.training import Options, checked_options
from directgp.divergences import KL, PerLayer, WeightedKL, divergences
from directgp.expectations import ProductSampling, expectations
from directgp.fitting.fit import fit
from directgp.fitting.flat_options import (
    FIT_OPTIONS,
    MODEL_OPTIONS,
    TRAINING_OPTIONS,
    default_of,
    specs_from_options,
)
from directgp.losses import BlackBoxAlpha, SecondOrder, losses
from experiments.method import _OWN_ARGUMENTS

DOORS = {
    "fit": {*MODEL_OPTIONS, *TRAINING_OPTIONS, *inspect.signature(fit).parameters},
    "GPRegressor": set(inspect.signature(GPRegressor).parameters),
    "GPClassifier": set(inspect.signature(GPClassifier).parameters),
    "command line": set(inspect.signature(fit_command).parameters),
    "experiments": {*MODEL_OPTIONS, *TRAINING_OPTIONS, *_OWN_ARGUMENTS},
}
ABSENT = {
    ("GPRegressor", "mean"): "follows the likelihood",
    ("GPClassifier", "mean"): "follows the likelihood",
    ("command line", "mean"): "follows the likelihood",
    ("GPClassifier", "learn_from"): "an exact GP of classes is learned from all rows",
    ("GPRegressor", "checkpoint"): "an estimator keeps no files",
    ("GPClassifier", "checkpoint"): "an estimator keeps no files",
    ("GPRegressor", "keep_checkpoint"): "an estimator keeps no files",
    ("GPClassifier", "keep_checkpoint"): "an estimator keeps no files",
    ("command line", "checkpoint"): "--resume and --fresh, in a folder beside the output",
    ("command line", "keep_checkpoint"): "--resume and --fresh, in a folder beside the output",
}
OPTIONS = (*MODEL_OPTIONS, *TRAINING_OPTIONS, *FIT_OPTIONS, "beta", "loss")


@pytest.mark.parametrize("door", DOORS)
def test_every_option_is_at_every_door(door):
    missing = {option for option in OPTIONS if option not in DOORS[door]}
    assert missing == {option for at, option in ABSENT if at == door}


VALUES = {
    "inference": "exact",
    "learn_from": 40,
    "num_inducing": 7,
    "mean_field": True,
    "features": "mlp",
    "feature_widths": (4, 3),
    "kernel": "rbf",
    "own_kernels": True,
    "mean_inducing": 9,
    "layers": 3,
    "width": 2,
    "deep": "samples",
    "num_sites": 3,
    "quadrature": "qr1",
    "starts": 2,
    "predict_samples": 20,
    "skip": True,
    "epochs": 3,
    "max_steps": 11,
    "batch_size": 100,
    "learning_rate": 0.03,
    "patience": 4,
    "precision": "float64",
    "time_budget": 30.0,
    "tolerance": 1e-6,
    "window": 20,
    "divergence": "renyi:alpha=0.4",
    "expectation": "monte-carlo:samples=5",
    "hyperparameters": "from-elbo",
}
"""Another value than the default for each."""
SETS = [
    ("layers", "width", "deep", "num_sites", "predict_samples", "skip", "own_kernels", "kernel"),
    ("layers", "quadrature", "starts", "num_sites", "mean_field", "features", "feature_widths"),
    ("mean_inducing", "num_inducing"),
    ("inference", "learn_from"),
    tuple(name for name in TRAINING_OPTIONS if "checkpoint" not in name),
]


def test_the_values_cover_all_options_and_differ_from_the_defaults():
    own = {option for option in OPTIONS if ("GPRegressor", option) not in ABSENT}
    assert own == {*VALUES, "beta", "loss"}
    assert all(default_of(name) != VALUES[name] for name in VALUES if name not in FIT_OPTIONS)
    assert {name for names in SETS for name in names} | {*FIT_OPTIONS} == {*VALUES}


@pytest.mark.parametrize("names", SETS)
@pytest.mark.parametrize("estimator", [GPRegressor, GPClassifier])
def test_an_estimator_hands_every_option_on(names, estimator):
    names = [name for name in names if (estimator.__name__, name) not in ABSENT]
    values = {name: VALUES[name] for name in names}
    made = estimator(**values)
    expected = specs_from_options(values)
    if not set(names) <= set(TRAINING_OPTIONS):
        made.classes_, made._likelihood = np.array([0, 1]), lambda: GPRegressor()._likelihood()
        options = made._model_options()
        assert {name: options[name] for name in names} == values
        layers = {} if "layers" in names else {"layers": 1}
        assert specs_from_options(options | layers)["model"] == expected["model"]
    else:
        assert made._training() == expected["training"]


def test_an_estimator_hands_on_what_the_equation_is_made_of():
    values = {name: VALUES[name] for name in FIT_OPTIONS}
    assert GPRegressor(**values)._fit_options() == values
    assert GPRegressor()._fit_options() == {}
    assert GPRegressor(loss="black-box-alpha:alpha=0.2")._loss() == BlackBoxAlpha(0.2)
    assert GPRegressor(loss="second-order")._loss() == SecondOrder()


PLAIN = {
    "loss": "direct-log", "beta": "auto", "likelihood": "auto", "kernel": "matern52",
    "layers": "auto", "num_inducing": None, "epochs": None, "max_steps": None,
    "time_budget": None, "holdout": None, "missing": "indicator", "seed": 0,
}  # fmt: skip


@pytest.mark.parametrize("names", SETS)
def test_the_command_line_hands_every_option_on(names):
    values = {name: VALUES[name] for name in names}
    given = values | ({"layers": str(values["layers"])} if "layers" in values else {})
    options = checked_options(**PLAIN | given)
    expected = specs_from_options(values)
    if set(names) <= set(TRAINING_OPTIONS):
        assert options.training() == expected["training"]
    else:
        layers = {} if "layers" in names else {"layers": 1}
        found = specs_from_options(options.model_options() | layers)["model"]
        assert found == expected["model"]


def test_defaults_of_the_command_line_are_those_of_the_options():
    for command in (fit_command, compare_command):
        for name, parameter in inspect.signature(command).parameters.items():
            if name in Options.__dataclass_fields__:
                default = getattr(Options, name)
                assert parameter.default == default or (
                    parameter.default is None and default == FIT_OPTIONS.get(name)
                ), name


def test_the_command_line_hands_on_what_the_equation_is_made_of():
    options = checked_options(
        **PLAIN | {"loss": "black-box-alpha:alpha=0.3", "beta": "pac-bayes"},
        divergence=["kl", "renyi:alpha=0.4"], expectation="product-sampling:samples=4",
        hyperparameters="from-elbo",
    )  # fmt: skip
    assert options.risk() == BlackBoxAlpha(0.3)
    assert options.beta == "pac-bayes"
    assert options.fit_options() == {
        "divergence": ["kl", "renyi:alpha=0.4"],
        "expectation": "product-sampling:samples=4",
        "hyperparameters": "from-elbo",
    }
    assert checked_options(**PLAIN).fit_options() == {}
    with pytest.raises(DirectGPError, match="'renyi' has no option 'w'; it has alpha"):
        checked_options(**PLAIN, divergence=["renyi:w=2"])


def test_one_notation_serves_all_doors():
    assert divergences.resolve("renyi:alpha=0.25") == Renyi(0.25)
    assert divergences.resolve({"name": "renyi", "alpha": 0.25}) == Renyi(0.25)
    layers = PerLayer((KL(), WeightedKL(0.5), Renyi(0.5)))
    assert divergences.resolve(["kl", "weighted-kl:w=0.5", Renyi(0.5)]) == layers
    smooth = expectations.resolve("monte-carlo:samples=7,smoothing=1e-4")
    assert smooth == MonteCarlo(7, 1e-4)
    controlled = expectations.resolve("product-sampling:samples=3,control_variates=true")
    assert controlled == ProductSampling(3, control_variates=True)
    with pytest.raises(DirectGPError, match="write name:option=value"):
        losses.resolve("black-box-alpha:0.5")


@pytest.mark.parametrize(
    "options",
    [
        {"layers": 2, "deep": "samples", "num_sites": 2, "predict_samples": 7,
         "divergence": ["kl", "renyi:alpha=0.5"]},
        {"layers": 1, "expectation": "monte-carlo:samples=3,smoothing=1e-4",
         "loss": "elbo", "mean_inducing": 4},
    ],
)  # fmt: skip
def test_they_have_an_effect_on_what_is_trained(options):
    X = np.linspace(-1, 1, 30)[:, None]
    model = GPRegressor(beta=1.0, max_steps=3, num_inducing=4, **options).fit(
        X, np.sin(3 * X[:, 0])
    )
    objective = model.fitted_.objective
    if "divergence" in options:
        assert objective.divergence == PerLayer((KL(), Renyi(0.5)))
        assert model.predict_distribution(X).log_weights.shape[0] == 7
    else:
        assert objective.expectation == MonteCarlo(3, 1e-4)
        assert len(model.fitted_.gp.model.extra) == 4
