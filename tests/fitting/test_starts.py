"""Components of a deep sigma point process: they stay apart where they help, and are counted."""

import warnings

import numpy as np
import pytest

from directgp import fit
from directgp.fitting import starts
from directgp.predictive.effective_components import effective_components
from directgp.training.loop import TrainingWarning
from tests.flat import flat

OPTIONS = {"layers": 2, "num_inducing": 15, "max_steps": 400, "beta": 0.1, "num_sites": 6}


def half_bimodal(rows, seed):
    """One branch for x < 0, two for x > 0."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, 1))
    branch = np.where(rng.random(rows) < 0.5, 1.0, -1.0) * np.minimum(X[:, 0], 1.0)
    return X, np.where(X[:, 0] > 0, branch, 0.0) + 0.1 * rng.normal(size=rows)


def test_components_stay_apart_where_they_help():
    (X, y), (Xt, yt) = half_bimodal(250, 0), half_bimodal(1000, 1)
    single = fit(X, y, **flat(num_inducing=15, max_steps=400, beta=0.1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nothing has collapsed
        mixture = fit(X, y, **flat(**OPTIONS))
    losses = [-np.mean(fitted.predict(Xt).log_prob(yt)) for fitted in (single, mixture)]
    assert losses[1] < losses[0] - 0.2
    number = mixture.effective_components([[-1.5], [1.5]])
    assert number[0] < 1.3 and number[1] > 1.6
    np.testing.assert_allclose(single.effective_components([[0.0]]), 1.0)


def test_a_mixture_that_is_one_gaussian_is_reported(monkeypatch):
    monkeypatch.setattr(starts, "NUM_STARTS", 1)
    X, y = half_bimodal(60, 0)
    with pytest.warns(TrainingWarning, match=r"6 components of this mixture have become one"):
        fitted = fit(X, y, **flat(**(OPTIONS | {"max_steps": 10})))
    assert np.mean(fitted.effective_components(X)) < 1.01


def test_the_effective_number_is_between_one_and_the_entropy_of_the_weights():
    weights = np.array([0.2, 0.5, 0.3])
    entropy = -np.sum(weights * np.log(weights))
    ones = np.ones((3, 1))
    apart = effective_components(100.0 * np.arange(3.0)[:, None], ones, np.log(weights))
    np.testing.assert_allclose(apart, np.exp(entropy), rtol=1e-9)
    pair = effective_components(np.array([[0.0], [0.0], [100.0]]), ones, np.log(weights))
    np.testing.assert_allclose(pair, np.exp(-0.7 * np.log(0.7) - 0.3 * np.log(0.3)), rtol=1e-9)
    # By simulation where they overlap.
    mean, rng = np.array([[0.0], [1.5], [3.0]]), np.random.default_rng(0)
    s = rng.choice(3, 200000, p=weights)
    y = mean[s, 0] + rng.normal(size=len(s))
    density = np.exp(-0.5 * (y - mean) ** 2)
    information = np.mean(np.log(density[s, np.arange(len(s))] / (weights @ density)))
    got = effective_components(mean, ones, np.log(weights))
    np.testing.assert_allclose(got, np.exp(information), rtol=5e-3)
