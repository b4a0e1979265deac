"""How deep: by the number of rows, never where it was not tried."""

from types import SimpleNamespace

import numpy as np
import pytest

from directgp.fitting.default_depth import MANY_ROWS, fit_depth
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP
from directgp.likelihoods import Gaussian, StudentT
from directgp.losses import Direct, Gibbs, LogLoss

LOG = Direct(LogLoss())


class Asked(Exception):
    """What `fit` was asked for."""


def asked(monkeypatch, rows, **options):
    def record(X, y, **given):
        raise Asked(given)

    monkeypatch.setattr("directgp.fitting.default_depth.fit", record)
    options = {"loss": LOG, "likelihood": Gaussian()} | options
    with pytest.raises(Asked) as caught:
        fit_depth(np.zeros((rows, 5)), np.zeros(rows), **options)
    return caught.value.args[0]


def test_the_number_of_rows_decides(monkeypatch):
    few, many = asked(monkeypatch, MANY_ROWS - 1), asked(monkeypatch, MANY_ROWS, seed=3)
    assert few["layers"] == 1 and few.get("num_inducing") is None and "beta_grid" not in few
    assert many["layers"] == 2 and many["width"] == 5 and many["num_sites"] == 4
    assert many["beta"] == 1.0 and many["seed"] == 3
    sizes = (100, 2000, 22_500, 10**6)
    deep = [asked(monkeypatch, rows, layers=2)["num_inducing"] for rows in sizes]
    assert deep == [30, 100, 150, 200]
    assert "num_sites" not in asked(monkeypatch, MANY_ROWS, deep="samples")
    shares = [asked(monkeypatch, rows, layers=2)["validation"] for rows in sizes]
    assert shares == [0.1, 0.1, 500 / 22_500, 0.01]


@pytest.mark.parametrize("options", [{"loss": Gibbs(LogLoss())}, {"likelihood": StudentT()}])
def test_other_losses_and_likelihoods_get_one_layer(monkeypatch, options):
    assert asked(monkeypatch, MANY_ROWS, **options)["layers"] == 1


def test_a_given_depth_is_kept(monkeypatch):
    assert asked(monkeypatch, MANY_ROWS, layers=1)["layers"] == 1
    given = asked(monkeypatch, 50, layers=3, width=2, num_inducing=7, beta_grid=[0.1])
    assert (given["layers"], given["width"], given["num_inducing"]) == (3, 2, 7)
    assert given["beta_grid"] == [0.1] and "beta" not in given and "validation" not in given
    own = asked(monkeypatch, 50, layers=2, beta=0.5)
    assert own["beta"] == 0.5 and "validation" not in own
    assert asked(monkeypatch, 50, layers=2, validation=0.3)["validation"] == 0.3


def test_a_fit_knows_the_losses_of_its_held_out_rows():
    X = np.linspace(0, 1, 60)[:, None]
    fitted = fit(X, np.sin(6 * X[:, 0]), max_steps=60, num_inducing=5, validation=0.2, beta=1.0)
    assert fitted.history["step"] == [30, 60], "no step more than was asked for"
    assert fitted.held_out is not None and fitted.held_out.shape == (12,)
    assert np.mean(fitted.held_out) == pytest.approx(min(fitted.history["validation"]))


def test_two_layers_do_not_overfit_a_few_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(4000)
    options = {"loss": LOG, "likelihood": Gaussian(), "num_inducing": 60, "verbose": False}
    fitted = fit_depth(X[:2000], y[:2000], **options)
    assert fitted.gp.model.depth == 2
    # The truth has 0.5 ln(2πe 0.25) = 0.726; trained to the end this has 1.2.
    assert -np.mean(fitted.predict(X[2000:]).log_prob(y[2000:])) < 0.9


def test_a_start_is_as_deep_as_it_is(monkeypatch):
    start = object.__new__(FittedGP)
    object.__setattr__(start, "gp", SimpleNamespace(model=SimpleNamespace(depth=2)))
    shallow = {"layers": 1, "width": 3, "kernel": "rbf", "num_inducing": 9, "seed": 1}
    given = asked(monkeypatch, MANY_ROWS, start=start, **shallow)
    assert set(given) == {"loss", "likelihood", "start", "beta", "validation", "seed"}


def test_a_width_asks_for_depth_and_several_outputs_do_not(monkeypatch):
    assert asked(monkeypatch, 50, width=4)["layers"] == 2
    assert asked(monkeypatch, 50, deep="samples")["layers"] == 2
    with pytest.raises(ValueError, match="width=4 is about inner layers"):
        fit_depth(np.zeros((9, 2)), np.zeros(9), loss=LOG, likelihood=Gaussian(), layers=1, width=4)

    def record(X, Y, **given):
        raise Asked(given)

    monkeypatch.setattr("directgp.fitting.default_depth.fit_outputs", record)
    X, Y = np.zeros((MANY_ROWS, 2)), np.zeros((MANY_ROWS, 3))
    with pytest.raises(Asked) as caught:
        fit_depth(X, Y, loss=LOG, likelihood=Gaussian())
    assert caught.value.args[0]["layers"] == 1
