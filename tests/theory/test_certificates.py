"""Certificates hold as often as they say, on simulated rows whose expected loss is known."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from directgp import FixedHyperparameters, Sparse, Training, fit
from directgp.errors import DirectGPError
from directgp.theory import (
    holdout_certificate,
    kl_inverse,
    pac_bayes_bound,
    pac_bayes_certificate,
)

SHORT = Training(max_steps=60)


def test_the_inverse_of_kl_solves_its_equation():
    for empirical, most in [(0.0, 0.3), (0.1, 0.02), (0.5, 0.4), (0.97, 0.001), (1.0, 0.1)]:
        p = kl_inverse(empirical, most)
        assert empirical <= p <= 1
        if p < 1:
            first = 0.0 if empirical == 0 else empirical * math.log(empirical / p)
            second = (1 - empirical) * math.log((1 - empirical) / (1 - p))
            assert first + second == pytest.approx(most, abs=1e-9)


@pytest.mark.parametrize("risk", [0.02, 0.3])
@pytest.mark.parametrize("models", [1, 8])
def test_a_certificate_of_held_out_rows_holds_as_often_as_it_says(risk, models):
    """The best of several models with one true risk, chosen by the rows of the certificate."""
    rng, rows, confidence = np.random.default_rng(0), 80, 0.9
    missed = 0
    for _ in range(600):
        errors = rng.uniform(size=(models, rows)) < risk
        chosen = errors[np.argmin(errors.mean(axis=1))]
        found = holdout_certificate(chosen, confidence=confidence, models=models)
        missed += found.bound < risk
    assert missed <= binom(600, 1 - confidence).ppf(0.999)


def test_it_is_not_vacuous_and_grows_with_what_it_must():
    losses = np.r_[np.ones(5), np.zeros(195)]
    one = holdout_certificate(losses)
    assert one.empirical == 0.025 and 0.03 < one.bound < 0.07
    assert holdout_certificate(losses, models=10).bound > one.bound
    assert holdout_certificate(losses, confidence=0.99).bound > one.bound
    assert holdout_certificate(np.tile(losses, 5)).bound < one.bound


def test_a_pac_bayes_bound_holds_for_a_posterior_chosen_by_its_rows():
    """θ ~ q is wrong about y where |y − θ| > 1; q goes to the mean of the rows, p = N(0, 1)."""
    rng, rows, confidence, centre = np.random.default_rng(1), 30, 0.8, 0.7
    missed, spread = 0, 0.3
    for _ in range(400):
        y = centre + rng.normal(size=rows)
        mean = float(np.mean(y))
        divergence = 0.5 * (mean**2 + spread**2 - 1 - math.log(spread**2))
        wrong = norm.sf((1 - (y - mean)) / spread) + norm.cdf((-1 - (y - mean)) / spread)
        away, width = mean - centre, math.sqrt(1 + spread**2)
        expected = norm.sf((1 - away) / width) + norm.cdf((-1 - away) / width)
        bound = pac_bayes_bound(float(wrong.mean()), divergence, rows, confidence=confidence)
        missed += bound < expected
    assert missed <= binom(400, 1 - confidence).ppf(0.999)


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (900, 1))
    return X, (np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=900) > 0).astype(float)


def test_a_fitted_model_is_certified_by_the_rows_it_was_trained_on(classes):
    X, y = classes
    shared = {"likelihood": "bernoulli", "training": SHORT}
    first = fit(X[:150], y[:150], model=Sparse(num_inducing=6), beta=1.0, **shared)
    with pytest.raises(DirectGPError, match="learned from the same rows"):
        pac_bayes_certificate(first, X[:150], y[:150])
    own = slice(150, 450)
    fixed = FixedHyperparameters(first)
    second = fit(X[own], y[own], model=fixed, beta="pac-bayes", **shared)
    assert second.beta == pytest.approx(math.sqrt(300))
    found = pac_bayes_certificate(second, X[own], y[own])
    new = pac_bayes_certificate(second, X[450:], y[450:]).empirical
    assert found.divergence > 0 and found.empirical < found.bound < 0.5
    assert new < found.bound
    voted = second.predict(X[own]).log_prob(np.ones(300)) > math.log(0.5)
    assert np.mean(voted != y[own]) <= 2 * found.empirical


def test_numbers_are_right_within_a_tolerance_in_their_own_units():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, (300, 1))
    y = 100 + 30 * np.sin(2 * X[:, 0]) + 3 * rng.normal(size=300)
    first = fit(X[:100], y[:100], model=Sparse(num_inducing=6), beta=1.0, training=SHORT)
    second = fit(
        X[100:], y[100:], model=FixedHyperparameters(first), beta="pac-bayes", training=SHORT
    )
    found = pac_bayes_certificate(second, X[100:], y[100:], tolerance=15.0)
    wide = pac_bayes_certificate(second, X[100:], y[100:], tolerance=60.0)
    assert wide.empirical < found.empirical < found.bound < 1
    with pytest.raises(DirectGPError, match="need a tolerance"):
        pac_bayes_certificate(second, X, y)


def test_what_cannot_be_certified_is_refused():
    with pytest.raises(DirectGPError, match="between 0 and 1 for every row"):
        holdout_certificate([0.2, 1.3])
    with pytest.raises(DirectGPError, match="confidence must be"):
        holdout_certificate([0.2], confidence=1.0)
    with pytest.raises(DirectGPError, match="models must be"):
        holdout_certificate([0.2], models=0)
