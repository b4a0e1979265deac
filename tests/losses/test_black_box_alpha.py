"""Black-box α: its formula, its two limits, and that it lies between them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import Gaussian, Sparse, Training, fit
from directgp.errors import DirectGPError
from directgp.expectations import (
    ClosedForm,
    GaussHermite,
    MonteCarlo,
    ProductSampling,
    choose_expectation,
)
from directgp.likelihoods import Categorical, GaussianOutputs, likelihoods
from directgp.losses import BlackBoxAlpha, Direct, Gibbs, Integrals, LogLoss, SquareLoss, losses
from tests.losses.between import SINGLE, dense, mixture, targets

PRECISE = {"student-t": 2e-3}
"""Its product with q(f) has two peaks and heavy tails, which quadrature takes to three digits."""


def rows_of(loss, likelihood, y, q, expectation=None, key=None):
    return all_of((loss,), likelihood, y, q, expectation, key)[0]


def all_of(losses, likelihood, y, q, expectation=None, key=None):
    """Several losses by one program: each value of α would be one of its own."""
    how = expectation or choose_expectation(losses[0].needs, likelihood)
    return np.asarray(_all_of(losses, likelihood, Integrals(jnp.asarray(y), q, how, key)))


@eqx.filter_jit
def _all_of(losses, likelihood, integrals):
    return jnp.stack([loss(likelihood, integrals) for loss in losses])


@pytest.mark.parametrize("name", SINGLE)
def test_it_is_its_formula_for_every_likelihood(name):
    likelihood, alphas = likelihoods.create(name), (0.3, 0.5, 1.0, 2.0)
    y, q = targets(likelihood), mixture()
    found = all_of(tuple(map(BlackBoxAlpha, alphas)), likelihood, y, q)
    for alpha, own in zip(alphas, found, strict=True):
        exact = -np.log(dense(likelihood, y, q, lambda log: np.exp(alpha * log))) / alpha  # noqa: B023
        np.testing.assert_allclose(own, exact, rtol=PRECISE.get(name, 2e-5), atol=2e-6)


@pytest.mark.parametrize("name", SINGLE)
def test_its_limits_are_gibbs_and_direct_and_it_falls_from_one_to_the_other(name):
    likelihood = likelihoods.create(name)
    y, q, how = targets(likelihood), mixture(), GaussHermite(64)
    alphas = map(BlackBoxAlpha, (1e-7, 1e-4, 0.1, 0.4, 0.8, 1.0, 3.0))
    losses = (Gibbs(LogLoss()), Direct(LogLoss()), *alphas)
    gibbs, direct, least, *between = all_of(losses, likelihood, y, q, how)
    np.testing.assert_allclose(least, gibbs, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(between[-2], direct)
    assert (gibbs >= between[0] - 1e-9).all()
    assert (np.diff(between, axis=0) <= 1e-9).all()


def test_with_gaussian_noise_it_has_a_formula():
    """−(1/α) log E[N(y|f,σ²)^α] = ½ log 2πσ² + (1/2α) log(1 + αv/σ²) + (y−μ)²/(2(σ² + αv))."""
    noise, alpha, y = 0.3, 0.4, targets(Gaussian())
    q = mixture(components=1)
    mean, variance = np.asarray(q.mean)[0, :, 0], np.asarray(q.variance)[0, :, 0]
    widened = noise + alpha * variance
    expected = (
        0.5 * np.log(2 * np.pi * noise)
        + 0.5 / alpha * np.log(widened / noise)
        + 0.5 * (y - mean) ** 2 / widened
    )
    loss = BlackBoxAlpha(alpha)
    assert isinstance(choose_expectation(loss.needs, Gaussian()), ClosedForm)
    assert isinstance(choose_expectation(loss.needs, GaussianOutputs(2)), ClosedForm)
    np.testing.assert_allclose(rows_of(loss, Gaussian(noise), y, q), expected, rtol=1e-12)


def test_several_classes_have_the_same_limits():
    likelihood, key = Categorical(3), jax.random.key(0)
    rng = np.random.default_rng(1)
    q = mixture()
    mean = jnp.asarray(rng.normal(size=(3, 6, 3)))
    q = type(q)(mean, jnp.full(mean.shape, 0.4), q.log_weights)
    y, how = np.arange(6.0) % 3, MonteCarlo(50)
    limits = (1e-7, Gibbs(LogLoss())), (1.0, Direct(LogLoss()))
    for alpha, other in limits:
        found = rows_of(BlackBoxAlpha(alpha), likelihood, y, q, how, key)
        np.testing.assert_allclose(
            found, rows_of(other, likelihood, y, q, how, key), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("name", ["poisson", "negative-binomial", "bernoulli-logit"])
def test_its_derivatives_are_those_of_differences(name):
    likelihood, q = likelihoods.create(name), mixture()
    y, loss = jnp.asarray(targets(likelihood)), BlackBoxAlpha(0.6)
    how = choose_expectation(loss.needs, likelihood)

    @jax.jit
    @jax.value_and_grad
    def total(variance):
        marginals = type(q)(q.mean, variance, q.log_weights)
        return jnp.sum(loss(likelihood, Integrals(y, marginals, how, None)))

    step = 1e-5 * jnp.ones_like(q.variance)
    slope = jnp.sum(total(q.variance)[1] * step)
    difference = 0.5 * (total(q.variance + step)[0] - total(q.variance - step)[0])
    np.testing.assert_allclose(slope, difference, rtol=1e-4)


def test_training_at_alpha_1_is_direct_and_near_0_the_elbo():
    X = np.linspace(-2, 2, 30)[:, None]
    y = np.sin(2 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=30)
    spec = {"model": Sparse(num_inducing=5), "beta": 1.0, "training": Training(max_steps=30)}

    def predicted(loss):
        return fit(X, y, loss=loss, **spec).predict(X)

    same = predicted(BlackBoxAlpha(1.0)), predicted("direct-log")
    np.testing.assert_allclose(same[0].mean, same[1].mean, rtol=1e-9)
    near = predicted(BlackBoxAlpha(1e-6)), predicted("elbo")
    np.testing.assert_allclose(near[0].variance, near[1].variance, rtol=1e-3)
    assert np.isfinite(predicted("black-box-alpha").log_prob(y)).all()


def test_what_it_cannot_be_is_refused():
    assert losses.create("black-box-alpha") == BlackBoxAlpha(0.5)
    with pytest.raises(DirectGPError, match="alpha of BlackBoxAlpha must be > 0"):
        BlackBoxAlpha(-1.0)
    with pytest.raises(DirectGPError, match="no form of SquareLoss"):
        BlackBoxAlpha(0.5, SquareLoss())
    q, y = mixture(), jnp.zeros(6)
    with pytest.raises(DirectGPError, match="not LogPower"):
        BlackBoxAlpha(0.5)(Gaussian(), Integrals(y, q, ProductSampling(2), jax.random.key(0)))
