"""Which options give a stack of models, and which one GP."""

from dataclasses import replace

import numpy as np
import pytest

from directgp.fitting import default_fit
from directgp.fitting.default_fit import fit_default, is_unspecified, stack_loss
from directgp.fitting.flat_options import MODEL_OPTIONS, default_of
from directgp.fitting.specs import Training
from directgp.likelihoods import BernoulliProbit, Gaussian, PoissonExp, StudentT
from directgp.losses import (
    CRPS,
    Direct,
    Gibbs,
    LogLoss,
    Pinball,
    SquareLoss,
    losses,
    made_robust,
)


class Fitted(Exception):
    """Instead of a fit: what would be fitted, and its options."""

    def __init__(self, what, options):
        super().__init__(what)
        self.what, self.options = what, options


@pytest.fixture
def chosen(monkeypatch):
    """What would be fitted, without fitting it."""

    def choose(**changed):
        given = {
            "loss": Direct(LogLoss()),
            "likelihood": Gaussian(),
            "model": {},
            "training": Training(),
            "y": np.zeros(10),
            "verbose": False,
        } | changed
        y = given.pop("y")
        with pytest.raises(Fitted) as caught:
            fit_default(np.zeros((len(y), 1)), y, **given)
        return caught.value.what

    def fit_stack(*rows, **options):
        raise Fitted(options["loss"], options)

    def fit_depth(*rows, **options):
        raise Fitted("one GP", options)

    monkeypatch.setattr(default_fit, "fit_stack", fit_stack)
    monkeypatch.setattr(default_fit, "fit_depth", fit_depth)
    return choose


@pytest.mark.parametrize(
    ("loss", "name"),
    [
        (Direct(LogLoss()), "log"),
        (Direct(CRPS()), "crps"),
        (Direct(SquareLoss()), "square"),
        (Direct(Pinball()), "pinball"),
        (losses.create("direct-log"), "log"),
        (losses.create("elbo"), None),
        (Gibbs(LogLoss()), None),
        (Direct(Pinball((0.1, 0.9))), None),
        (made_robust(Direct(LogLoss()), "gamma", None), None),
    ],
)
def test_losses(loss, name, chosen):
    assert stack_loss(loss, Gaussian()) == name
    of_classes = name if name in ("log", "crps") else None
    assert stack_loss(loss, BernoulliProbit()) == of_classes
    assert stack_loss(loss, PoissonExp()) is None
    assert chosen(loss=loss) == (name or "one GP")


@pytest.mark.parametrize(
    "changed",
    [
        {"likelihood": StudentT()},
        {"likelihood": PoissonExp()},
        {"beta": 1.0},
        {"stack": False},
        {"y": np.zeros((10, 2))},
        {"validation": 0.2},
        {"model": {"kernel": "rbf"}},
        {"model": {"num_inducing": 7}},
        {"model": {"layers": 1}},
        {"model": {"layers": 2}},
        {"model": {"features": "mlp"}},
        {"training": Training(max_steps=5)},
        {"training": Training(epochs=2)},
        {"training": Training(learning_rate=0.1)},
    ],
)
def test_options_that_speak_of_one_gp(changed, chosen):
    assert chosen(**changed) == "one GP"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"model": {name: default_of(name) for name in MODEL_OPTIONS if name != "layers"}},
        {"model": {"layers": "auto", "kernel": default_of("kernel"), "num_inducing": None}},
        {"training": Training(time_budget=3.0)},
        {"sample_weight": np.ones(10), "seed": 4},
    ],
)
def test_options_that_do_not(changed, chosen):
    assert chosen(**changed) == "log"


def test_where_to_keep_checkpoints_says_nothing_of_the_model(tmp_path):
    training = replace(Training(), checkpoint=tmp_path, keep_checkpoint=True)
    assert is_unspecified({}, "auto", training)
    assert not is_unspecified({}, 1.0, training)


def test_a_stack_gets_budget_weights_and_seed(chosen):
    weight = np.arange(5.0)
    with pytest.raises(Fitted) as caught:
        fit_default(
            np.zeros((5, 1)),
            np.zeros(5),
            loss=Direct(CRPS()),
            likelihood=Gaussian(),
            model={},
            training=Training(time_budget=2.5),
            seed=3,
            sample_weight=weight,
            verbose=False,
        )
    given = caught.value.options
    assert given["time_budget"] == 2.5 and given["seed"] == 3 and given["loss"] == "crps"
    assert given["sample_weight"] is weight
