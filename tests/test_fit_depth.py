"""How deep: by the number of rows, by held-out rows between, never where it was not tried."""

from dataclasses import replace

import numpy as np
import pytest

from directgp import fitting_depth
from directgp.fitting import fit
from directgp.fitting_depth import FEWEST_ROWS, MANY_ROWS, fit_depth
from directgp.likelihoods import Gaussian, StudentT
from directgp.losses import Direct, Gibbs, LogLoss

LOG = Direct(LogLoss())


@pytest.fixture(scope="module")
def some_fit():
    X = np.linspace(0, 1, 20)[:, None]
    return fit(X, X[:, 0], beta=1.0, max_steps=1, num_inducing=3)


@pytest.fixture
def asked(monkeypatch, some_fit):
    """What `fit` is asked for; two layers are better by `gain` on 100 held-out rows, ± 0.1."""

    class Asked(list):
        gain = 0.0

    calls = Asked()
    noise = np.random.default_rng(0).normal(size=100)
    noise = (noise - noise.mean()) / noise.std()

    def record(X, y, **options):
        calls.append(options)
        deeper = options.get("layers", 1) > 1
        return replace(some_fit, held_out=noise - calls.gain if deeper else np.zeros(100))

    monkeypatch.setattr(fitting_depth, "fit", record)
    return calls


def depths(asked, rows, **options):
    asked.clear()
    fit_depth(
        np.zeros((rows, 5)), np.zeros(rows), **{"loss": LOG, "likelihood": Gaussian()} | options
    )
    return [call.get("layers", 1) for call in asked]


def test_the_number_of_rows_decides_where_held_out_rows_cannot_or_need_not(asked):
    assert depths(asked, FEWEST_ROWS - 1) == [1]
    assert depths(asked, FEWEST_ROWS) == [1, 2]
    assert depths(asked, MANY_ROWS) == [2]
    assert asked[0]["width"] == 3 and asked[0]["num_inducing"] <= 200


@pytest.mark.parametrize("options", [{"loss": Gibbs(LogLoss())}, {"likelihood": StudentT()}])
def test_other_losses_and_likelihoods_get_one_layer(asked, options):
    assert depths(asked, MANY_ROWS, **options) == [1]


def test_a_given_depth_is_trained_alone(asked):
    assert depths(asked, MANY_ROWS, layers=1) == [1]
    assert depths(asked, 50, layers=3, width=2, num_inducing=7) == [3]
    assert asked[0]["width"] == 2 and asked[0]["num_inducing"] == 7


@pytest.mark.parametrize("gain,deeper", [(-1.0, False), (0.09, False), (0.11, True), (1.0, True)])
def test_two_layers_win_by_more_than_one_standard_error(asked, gain, deeper):
    asked.gain = gain
    chosen = fit_depth(np.zeros((500, 2)), np.zeros(500), loss=LOG, likelihood=Gaussian())
    assert chosen.held_out is not None
    assert bool(np.any(chosen.held_out != 0)) == deeper
    assert [call["validation"] for call in asked] == [0.1, 0.1], "both see the same held-out rows"


def test_two_candidates_share_the_time(asked):
    depths(asked, 500, time_budget=10.0)
    assert [call["time_budget"] for call in asked] == [5.0, 5.0]
    depths(asked, MANY_ROWS, time_budget=10.0)
    assert asked[0]["time_budget"] == 10.0


def test_a_fit_knows_the_losses_of_its_held_out_rows():
    X = np.linspace(0, 1, 60)[:, None]
    fitted = fit(X, np.sin(6 * X[:, 0]), max_steps=60, num_inducing=5, validation=0.2, beta=1.0)
    assert fitted.held_out is not None and fitted.held_out.shape == (12,)
    assert np.mean(fitted.held_out) == pytest.approx(min(fitted.history["validation"]))
