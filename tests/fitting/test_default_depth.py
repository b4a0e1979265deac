"""How deep: by the number of rows, never where it was not tried."""

from types import SimpleNamespace

import numpy as np
import pytest

from directgp.fitting.default_depth import MANY_ROWS, fit_depth
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP
from directgp.fitting.specs import Deep, Sparse, Training
from directgp.likelihoods import Gaussian, StudentT
from directgp.losses import Direct, Gibbs, LogLoss

LOG, LIKELIHOOD = Direct(LogLoss()), Gaussian()


class Asked(Exception):
    """What `fit` was asked for."""


def asked(monkeypatch, rows, *, loss=LOG, likelihood=LIKELIHOOD, model=None, more=None, **options):
    """What `fit` is asked for, given these options of a model (or a model) and `more`."""

    def record(X, y, **given):
        raise Asked(given)

    monkeypatch.setattr("directgp.fitting.default_depth.fit", record)
    with pytest.raises(Asked) as caught:
        fit_depth(
            np.zeros((rows, 5)),
            np.zeros(rows),
            loss=loss,
            likelihood=likelihood,
            model=options if model is None else model,
            **(more or {}),
        )
    return caught.value.args[0]


def test_the_number_of_rows_decides(monkeypatch):
    few = asked(monkeypatch, MANY_ROWS - 1)
    assert few["model"] == Sparse() and few["beta"] == "auto"
    many = asked(monkeypatch, MANY_ROWS, more={"seed": 3})
    assert many["model"] == Deep(width=5, num_sites=4, num_inducing=100)
    assert many["beta"] == 1.0 and many["seed"] == 3
    sizes = (100, 2000, 22_500, 10**6)
    deep = [asked(monkeypatch, rows, layers=2)["model"].num_inducing for rows in sizes]
    assert deep == [30, 100, 150, 200]
    samples = asked(monkeypatch, MANY_ROWS, deep="samples")["model"]
    assert samples.join == "samples" and samples.num_sites == Deep().num_sites
    shares = [asked(monkeypatch, rows, layers=2)["validation"] for rows in sizes]
    assert shares == [0.1, 0.1, 500 / 22_500, 0.01]


@pytest.mark.parametrize("options", [{"loss": Gibbs(LogLoss())}, {"likelihood": StudentT()}])
def test_other_losses_and_likelihoods_get_one_layer(monkeypatch, options):
    assert asked(monkeypatch, MANY_ROWS, **options)["model"] == Sparse()


def test_a_given_depth_is_kept(monkeypatch):
    assert asked(monkeypatch, MANY_ROWS, layers=1)["model"] == Sparse()
    own = {"layers": 3, "width": 2, "num_inducing": 7}
    given = asked(monkeypatch, 50, **own, more={"beta": [0.1]})
    assert given["model"] == Deep(**own, num_sites=4)
    assert given["beta"] == [0.1] and given["validation"] is None
    own = asked(monkeypatch, 50, layers=2, more={"beta": 0.5})
    assert own["beta"] == 0.5 and own["validation"] is None
    assert asked(monkeypatch, 50, layers=2, more={"validation": 0.3})["validation"] == 0.3


def test_a_fit_knows_the_losses_of_its_held_out_rows():
    X = np.linspace(0, 1, 60)[:, None]
    fitted = fit(
        X,
        np.sin(6 * X[:, 0]),
        validation=0.2,
        beta=1.0,
        model=Sparse(num_inducing=5),
        training=Training(max_steps=60),
    )
    assert fitted.history["step"] == [30, 60], "no step more than was asked for"
    assert fitted.held_out is not None and fitted.held_out.shape == (12,)
    assert np.mean(fitted.held_out) == pytest.approx(min(fitted.history["validation"]))


def test_two_layers_do_not_overfit_a_few_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 6))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(4000)
    options = {"loss": LOG, "likelihood": Gaussian(), "verbose": False}
    fitted = fit_depth(X[:2000], y[:2000], model={"num_inducing": 60}, **options)
    assert fitted.gp.model.depth == 2
    # The truth has 0.5 ln(2πe 0.25) = 0.726; trained to the end this has 1.2.
    assert -np.mean(fitted.predict(X[2000:]).log_prob(y[2000:])) < 0.9


def test_a_start_is_as_deep_as_it_is(monkeypatch):
    start = object.__new__(FittedGP)
    object.__setattr__(start, "gp", SimpleNamespace(model=SimpleNamespace(depth=2)))
    given = asked(monkeypatch, MANY_ROWS, model=start, more={"seed": 1})
    assert given["model"] is start and given["beta"] == 1.0 and given["validation"] == 0.1


def test_a_width_asks_for_depth_and_several_outputs_do_not(monkeypatch):
    assert asked(monkeypatch, 50, width=4)["model"].depth == 2
    assert asked(monkeypatch, 50, deep="samples")["model"].depth == 2
    same = {"loss": LOG, "likelihood": Gaussian()}
    with pytest.raises(ValueError, match="width=4 has no effect on a Sparse model; give layers=2"):
        fit_depth(np.zeros((9, 2)), np.zeros(9), model={"layers": 1, "width": 4}, **same)
    with pytest.raises(ValueError, match="layers must be 'auto' or a whole number ≥ 1, got 'two'"):
        fit_depth(np.zeros((9, 2)), np.zeros(9), model={"layers": "two"}, **same)

    def record(X, Y, **given):
        raise Asked(given)

    monkeypatch.setattr("directgp.fitting.default_depth.fit_outputs", record)
    X, Y = np.zeros((MANY_ROWS, 2)), np.zeros((MANY_ROWS, 3))
    with pytest.raises(Asked) as caught:
        fit_depth(X, Y, model={}, **same)
    assert caught.value.args[0]["model"] == Sparse()
