"""Quasi-random points: the class probabilities that are predicted, rare classes included."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import fit
from directgp.expectations import (
    ClosedForm,
    MonteCarlo,
    QuasiMonteCarlo,
    choose_expectation,
    judging_expectation,
)
from directgp.likelihoods import BernoulliLogit, Categorical, Gaussian
from directgp.likelihoods.integrands import ConditionalMean, LogProb
from directgp.losses import Direct, LogLoss
from directgp.marginals import Marginals
from tests.flat import flat

RNG = np.random.default_rng(0)


@eqx.filter_jit
def log_mean(expectation, y, q):
    return expectation.mixture_log_mean_exp(LogProb(Categorical(3)), y, q, None)


def test_judged_probabilities_are_the_predicted_ones():
    mean = RNG.normal(size=(2, 30, 3)) * np.geomspace(0.1, 16.0, 30)[:, None]
    variance = RNG.uniform(0.01, 4.0, size=(2, 30, 3))
    log_weights = np.log([0.3, 0.7])
    q = Marginals(*map(jnp.asarray, (mean, variance, log_weights)))
    predicted = Categorical(3).predictive(mean, variance, log_weights)
    for label in range(3):
        y = np.full(30, float(label))
        expected = predicted.log_prob(y)
        got = log_mean(QuasiMonteCarlo(), jnp.asarray(y), q)
        np.testing.assert_allclose(got, expected, atol=0.02)
    assert np.min(predicted.probabilities) < 1e-4  # some of them are rare


def test_two_latents_are_the_logistic_of_their_difference():
    """softmax(f)_1 of two latents is the logistic of f_1 − f_0, which has an exact quadrature."""
    mean, variance = np.array([[[0.0, -9.0], [1.0, 0.5]]]), np.array([[[1.0, 3.0], [0.5, 2.0]]])
    exact = BernoulliLogit().predictive(
        mean[..., 1:] - mean[..., :1], variance.sum(axis=-1, keepdims=True), np.zeros(1)
    )
    q = Marginals(jnp.asarray(mean), jnp.asarray(variance), jnp.zeros(1))
    integrand = LogProb(Categorical(2))
    got = QuasiMonteCarlo().mixture_log_mean_exp(integrand, jnp.ones(2), q, None)
    np.testing.assert_allclose(got, exact.log_prob(1), atol=0.01)
    average = QuasiMonteCarlo().mean(
        ConditionalMean(Categorical(2)), jnp.ones(2), q.mean, q.variance, None
    )
    np.testing.assert_allclose(average[0], exact.probabilities[:, 1], atol=1e-3)


def test_only_the_judge_has_many_points():
    needs = Direct(LogLoss()).needs
    assert isinstance(choose_expectation(needs, Categorical(3)), MonteCarlo)
    assert judging_expectation(needs, Categorical(3), 100) == QuasiMonteCarlo()
    assert judging_expectation(needs, Categorical(3), 10**5) == QuasiMonteCarlo(256)
    assert isinstance(judging_expectation(needs, Gaussian(), 100), ClosedForm)
    with pytest.raises(ValueError, match="QuasiMonteCarlo has 1 to 1024 points, got 0; use 256"):
        QuasiMonteCarlo(0)


def test_the_held_out_loss_of_classes_is_that_of_the_predictive():
    X = RNG.uniform(-2, 2, (80, 1))
    y = np.digitize(X[:, 0] + RNG.normal(size=80), [-0.7, 0.7])
    held = (X[60:], y[60:])
    options = {"likelihood": "categorical", "num_inducing": 5, "max_steps": 20, "beta": 0.1}
    fitted = fit(X[:60], y[:60], **flat(validation=held, **options))
    own = -fitted.predict(held[0]).log_prob(held[1])
    np.testing.assert_allclose(fitted.held_out, own, atol=3e-3)
