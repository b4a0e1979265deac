"""Specs: refused values say what to do; the same choices give equal specs from everywhere."""

import inspect
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import directgp as dg
from directgp import Decoupled, Deep, Exact, FixedHyperparameters, Sparse, Training
from directgp.cli.training import checked_options
from directgp.estimators import GPClassifier, GPRegressor
from directgp.fitting.checks import beta_and_grid
from directgp.fitting.flat_options import (
    MODEL_OPTIONS,
    TRAINING_OPTIONS,
    default_of,
    model_from_options,
    specs_from_options,
    training_from_options,
)
from directgp.kernels import Matern52
from directgp.models import MLP, DecoupledGP, DeepGP, OnFeatures, SparseGP
from experiments import method
from experiments.datasets import Rows

# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("spec", "values", "words"),
    [
        (Sparse, {"mean": "linear"}, "mean must be one of zero, constant, got 'linear'"),
        (Sparse, {"num_inducing": 0}, "num_inducing must be a whole number ≥ 1, got 0"),
        (Sparse, {"num_inducing": 2.5}, "num_inducing must be a whole number ≥ 1, got 2.5"),
        (Sparse, {"num_inducing": True}, "num_inducing must be a whole number ≥ 1, got True"),
        (Sparse, {"num_inducing": 2**31}, "num_inducing must be a whole number below 2147483648"),
        (Sparse, {"mean_field": "yes"}, "mean_field must be True or False, got 'yes'"),
        (Sparse, {"kernel": "cubic"}, "unknown kernel 'cubic'; choose one of: "),
        (Sparse, {"kernel": 3.0}, "kernel must be a name .* or of class Kernel, got a float"),
        (Sparse, {"features": "cnn"}, "unknown features 'cnn'; choose one of: mlp"),
        (Sparse, {"feature_widths": [8, 2]}, "has no effect without a network; give feat"),
        (Sparse, {"features": "mlp", "feature_widths": (0,)}, "each of feature_widths must be a"),
        (Decoupled, {"mean_inducing": 0}, "mean_inducing must be a whole number ≥ 1, got 0"),
        (Deep, {"layers": 1}, "layers of a Deep must be at least 2, got 1; use Sparse for one"),
        (Deep, {"layers": "two"}, "layers must be a whole number ≥ 1, got 'two'"),
        (Deep, {"width": 0}, "width must be a whole number ≥ 1, got 0"),
        (Deep, {"num_sites": -1}, "num_sites must be a whole number ≥ 1, got -1"),
        (Deep, {"join": "chain"}, "unknown deep 'chain'; choose one of: samples, sigma-points"),
        (Deep, {"quadrature": "qr9"}, "unknown .* 'qr9'; did you mean .*choose one of: "),
        (Deep, {"join": "samples", "quadrature": "qr1"}, "has no effect on samples; leave it out"),
        (Deep, {"kernel": ("rbf",) * 3}, "2 layers need as many kernels, got 3"),
        (Deep, {"skip": 1}, "skip must be True or False, got 1"),
        (Deep, {"own_kernels": None}, "own_kernels must be True or False, got None"),
        (Training, {"epochs": 0}, "epochs must be a number above 0, got 0; use e.g. 60"),
        (Training, {"max_steps": 2.5}, "max_steps must be a whole number ≥ 1, got 2.5"),
        (Training, {"batch_size": -3}, "batch_size must be a whole number ≥ 1, got -3"),
        (Training, {"patience": 0}, "patience must be a whole number ≥ 1, got 0"),
        (Training, {"window": 0}, "window must be a whole number ≥ 1, got 0"),
        (Training, {"tolerance": -1e-3}, "tolerance must be a number ≥ 0, got -0.001"),
        (Training, {"learning_rate": np.inf}, "learning_rate must be a number above 0, got inf"),
        (Training, {"learning_rate": 100}, r"at most 1, got 100: .*factor of e\^100.*e.g. 0.05"),
        (Training, {"learning_rate": np.float32(1.5)}, "learning_rate must be at most 1, got 1.5"),
        (Training, {"precision": "float32"}, "precision must be one of auto, float64, mixed"),
        (Training, {"time_budget": np.nan}, "time_budget must be a number of seconds above 0"),
        (Training, {"checkpoint": __file__}, "must name a folder, got .*is a file; name a folder"),
        (Training, {"checkpoint": Path(__file__) / "run"}, "checkpoint must name a folder"),
        (Training, {"keep_checkpoint": True}, "has no effect without a folder; give checkpoint"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_refused_with_a_line_that_says_what_to_do(spec, values, words):
    with pytest.raises(dg.DirectGPError, match=words) as caught:
        spec(**values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "option"),
    [(Sparse, "width"), (Sparse, "mean_inducing"), (Deep, "mean_inducing"), (Decoupled, "layers")],
)
def test_what_a_model_does_not_have_cannot_be_written(spec, option):
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{option}'"):
        spec(**{option: 3})


def test_numbers_of_numpy_are_numbers():
    assert Training(epochs=np.float64(3), max_steps=np.int32(9)) == Training(epochs=3, max_steps=9)
    assert Deep(layers=np.int64(3), kernel=["rbf"] * 3) == Deep(layers=3, kernel=("rbf",) * 3)
    assert Sparse(features="mlp", feature_widths=[8, 2]).feature_widths == (8, 2)


def test_specs_are_frozen_values():
    spec = Deep(width=3)
    with pytest.raises(AttributeError):
        spec.width = 4
    assert replace(spec, width=4) == Deep(width=4) != spec
    with pytest.raises(dg.DirectGPError, match="width must be"):
        replace(spec, width=0)


def test_only_fits_of_one_output_give_their_hyperparameters():
    with pytest.raises(TypeError, match="takes what fit returned, got a str"):
        FixedHyperparameters("elbo")


@pytest.mark.parametrize(
    ("beta", "meant"),
    [
        (0, (0, None)),
        (np.float32(0.5), (0.5, None)),
        ("auto", ("auto", None)),
        ((1.0, 0.1), ("auto", [1.0, 0.1])),
        (np.array([1.0, 0.1]), ("auto", [1.0, 0.1])),
    ],
)
def test_beta_is_a_number_or_a_choice(beta, meant):
    assert beta_and_grid(beta) == meant


# ---------------------------------------------------------------- building


def test_a_spec_builds_its_model(rng):
    X, y = rng.normal(size=(30, 4)), rng.normal(size=30)

    def built(spec):
        return spec.initial_model(X, y, dg.Gaussian(), 0)

    assert isinstance(built(Sparse()), SparseGP)
    decoupled = built(Decoupled(mean_inducing=6))
    assert isinstance(decoupled, DecoupledGP)
    deep = built(Deep(layers=3, width=2))
    assert isinstance(deep, DeepGP) and deep.depth == 3
    network = built(Sparse(features="mlp", feature_widths=(5, 2)))
    assert isinstance(network, OnFeatures) and isinstance(network.features, MLP)


def test_a_model_of_ones_own_is_one_class(rng):
    """`fit` takes any `ModelSpec`: there is no list of them."""
    from dataclasses import dataclass

    @dataclass(frozen=True, kw_only=True)
    class Bumpy(dg.ModelSpec):
        bump: float = 0.3

        def on_inputs(self, inputs, mean, latents, seed):
            kernel = Matern52(1.0, [self.bump] * inputs.shape[1])
            return self.sparse_gp(inputs, kernel, mean, latents, seed)

    X = rng.normal(size=(30, 2))
    quick = Training(max_steps=2)
    fitted = dg.fit(X, X[:, 0], model=Bumpy(num_inducing=5), beta=1.0, training=quick)
    assert isinstance(fitted.gp.model, SparseGP) and len(fitted.gp.model.inducing) == 5


# ---------------------------------------------------------------- flat options

FLAT = {
    "kernel": "rbf", "num_inducing": 7, "layers": 2, "width": 3, "deep": "samples",
    "max_steps": 5, "epochs": 2, "time_budget": 30.0,
}  # fmt: skip
MODEL = Deep(kernel="rbf", num_inducing=7, layers=2, width=3, join="samples")
TRAINING = Training(max_steps=5, epochs=2, time_budget=30.0)


class Asked(Exception):
    """What `fit` was asked for."""


def record(X, y, **given):
    raise Asked(given)


def by_estimator(monkeypatch):
    monkeypatch.setattr("directgp.fitting.default_depth.fit", record)
    X = np.linspace(0, 1, 20)[:, None]
    with pytest.raises(Asked) as caught:
        GPRegressor(**FLAT).fit(X, X[:, 0])
    return caught.value.args[0]


def by_command_line(monkeypatch):
    given = FLAT | {"layers": "2"}
    options = checked_options(
        loss="direct-log", beta="auto", likelihood="auto", holdout=None, missing="error", seed=0,
        **given,
    )  # fmt: skip
    return {
        "model": model_from_options(options.model_options()),
        "training": options.training(),
    }


def by_experiment(monkeypatch):
    monkeypatch.setattr(method, "fit", record)
    X = np.linspace(0, 1, 20)[:, None]
    rows = Rows(X, X[:, 0], X[:0], X[:0, 0], X, X[:, 0])
    with pytest.raises(Asked) as caught:
        method.train(FLAT | {"loss": "direct-log", "batch": 1000}, rows)
    return caught.value.args[0]


@pytest.mark.parametrize("way", [by_estimator, by_command_line, by_experiment])
def test_the_same_choices_give_the_same_specs(way, monkeypatch):
    given = way(monkeypatch)
    assert given["model"] == MODEL
    # A record of an experiment says "full batch" where the rows are fewer than a batch.
    assert replace(given["training"], batch_size=1000) == TRAINING


def test_every_flat_parameter_is_declared_by_a_spec():
    """With the same default, or None where the estimator chooses: `layers` alone may be "auto"."""
    chosen = {"num_sites", "mean_field"}  # by the number of rows and by the likelihood
    for estimator in (GPRegressor, GPClassifier):
        parameters = inspect.signature(estimator).parameters
        shared = set(parameters) & {*MODEL_OPTIONS, *TRAINING_OPTIONS} - {"layers"} - chosen
        assert all(parameters[name].default is None for name in chosen)
        assert shared >= {"kernel", "width", "deep", "features", "epochs", "learning_rate"}
        assert {name: parameters[name].default for name in shared} == {
            name: default_of(name) for name in shared
        }
    names = {item.name for spec in (Sparse, Decoupled, Deep, Exact) for item in fields(spec)}
    assert {*MODEL_OPTIONS} == names - {"join"} | {"deep", "inference"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"widht": 3},
            "there is no option 'widht'; did you mean 'width'. choose among deep, feature_widths",
        ),
        ({"num_sites": 4}, "num_sites=4 has no effect on a Sparse model; give layers=2 too"),
        ({"layers": 1, "skip": True}, "skip=True has no effect on a Sparse model; give layers=2"),
        ({"layers": 2, "mean_inducing": 5}, "no effect on a Deep model; give mean_inducing and la"),
        ({"layers": 0}, "layers must be a whole number ≥ 1, got 0"),
        ({"layers": 2, "deep": "samples", "quadrature": "qr1"}, "has no effect on samples"),
    ],
)
def test_flat_options_that_mean_nothing_are_refused_in_a_line(options, words):
    with pytest.raises(dg.DirectGPError, match=words) as caught:
        model_from_options(options)
    assert "\n" not in str(caught.value)


def test_flat_options_without_effect_are_dropped_where_they_are_shared():
    shared = {"kernel": "rbf", "width": 3, "deep": "samples", "quadrature": "qr1", "num_sites": 4}
    one = model_from_options(shared, drop_irrelevant=True)
    assert one == Sparse(kernel="rbf")
    two = model_from_options(shared | {"layers": 2}, drop_irrelevant=True)
    assert two == Deep(kernel="rbf", width=3, join="samples", num_sites=4)
    decoupled = model_from_options(
        {"mean_inducing": 9, "feature_widths": (4, 2)}, drop_irrelevant=True
    )
    assert decoupled == Decoupled(mean_inducing=9)


def test_unknown_options_are_named_where_the_others_are_known():
    assert training_from_options({"max_steps": 5}) == Training(max_steps=5)
    with pytest.raises(dg.DirectGPError, match="there is no option 'steps'"):
        training_from_options({"steps": 5})
    with pytest.raises(
        dg.DirectGPError,
        match=r"there is no option 'sed'; did you mean 'seed'\? choose among batch_size",
    ):
        specs_from_options({"sed": 1}, ["seed"])
    assert specs_from_options({"seed": 1, "layers": 2}, ["seed"])["model"] == Deep()
