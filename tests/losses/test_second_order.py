"""Masegosa's second-order loss: its formula, and that it bounds the direct log loss."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from directgp import Gaussian, Sparse, StudentT, Training, fit
from directgp.errors import DirectGPError
from directgp.expectations import ClosedForm, GaussHermite, MonteCarlo, choose_expectation
from directgp.likelihoods import Categorical, GaussianOutputs, likelihoods
from directgp.losses import CRPS, Direct, Gibbs, Integrals, LogLoss, SecondOrder, losses
from directgp.marginals import Marginals, single
from directgp.parameters import positive
from tests.losses.between import SINGLE, dense, mixture, targets

PLAIN, TIGHT = SecondOrder(), SecondOrder(tight=True)


def rows_of(loss, likelihood, y, q, expectation=None, key=None):
    expectation = expectation or choose_expectation(loss.needs, likelihood)
    return np.asarray(all_of((loss,), likelihood, jnp.asarray(y), q, expectation, key)[0])


@eqx.filter_jit
def all_of(losses, likelihood, y, q, expectation, key=None):
    return [loss(likelihood, Integrals(y, q, expectation, key)) for loss in losses]


@pytest.mark.parametrize("name", SINGLE)
def test_both_forms_are_their_formulas_for_every_likelihood(name):
    likelihood = likelihoods.create(name)
    y, q = targets(likelihood), mixture()
    first, second, log = (
        dense(likelihood, y, q, function)
        for function in (np.exp, lambda log: np.exp(2 * log), lambda log: log)
    )
    largest = np.exp(np.asarray(likelihood.log_max(jnp.asarray(y))))
    spread = second - first**2
    rtol = 2e-3 if name == "student-t" else 2e-5  # two peaks and heavy tails: three digits
    np.testing.assert_allclose(
        rows_of(PLAIN, likelihood, y, q), -log - spread / (2 * largest**2), rtol=rtol, atol=2e-6
    )
    h = np.log(first / largest) / (largest - first) ** 2 + 1 / (first * (largest - first))
    np.testing.assert_allclose(
        rows_of(TIGHT, likelihood, y, q), -log - h * spread, rtol=rtol, atol=2e-6
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(SINGLE))
def test_it_lies_between_direct_and_gibbs(seed, name):
    """−log E[p] ≤ tight ≤ plain ≤ E[−log p]: exact for the discrete measure of the nodes."""
    with jax.enable_x64(True):
        likelihood, how = likelihoods.create(name), GaussHermite(16)
        rng = np.random.default_rng(seed)
        y = jnp.asarray(rng.permutation(targets(likelihood)))
        q = mixture(components=2, seed=seed)
        q = Marginals(q.mean, q.variance * 10.0 ** rng.uniform(-6, 1), q.log_weights)
        losses = (Direct(LogLoss()), TIGHT, PLAIN, Gibbs(LogLoss()))
        ordered = np.asarray(all_of(losses, likelihood, y, q, how))
        assert (np.diff(ordered, axis=0) >= -1e-9 * np.abs(ordered[0])).all()


def test_with_gaussian_noise_it_has_a_formula():
    assert isinstance(choose_expectation(TIGHT.needs, Gaussian()), ClosedForm)
    likelihood, y, q = Gaussian(0.3), targets(Gaussian()), mixture()
    for loss in (PLAIN, TIGHT):
        np.testing.assert_allclose(
            rows_of(loss, likelihood, y, q), rows_of(loss, likelihood, y, q, GaussHermite(100)),
            rtol=1e-6,
        )  # fmt: skip


def test_several_outputs_are_bounded_by_the_noise_of_their_own_rows():
    """With one output's noise far below another's, the largest density is not the same."""
    outputs = GaussianOutputs(2)
    noise = positive(np.array([0.02, 1.5]))
    outputs = eqx.tree_at(lambda parts: parts.noise, outputs, noise)
    q, y = mixture(components=1), np.zeros(6)
    number = jnp.asarray(np.arange(6) % 2, float)[None, :, None]
    both = Marginals(
        jnp.concatenate([q.mean, number], axis=-1),
        jnp.concatenate([q.variance, jnp.zeros_like(number)], axis=-1),
        q.log_weights,
    )
    found = rows_of(TIGHT, outputs, y, both)
    for number, own in enumerate((0.02, 1.5)):
        alone = rows_of(TIGHT, Gaussian(own), y, q)
        np.testing.assert_allclose(found[number::2], alone[number::2], rtol=1e-6)


def test_several_classes_are_sampled_alike_for_all_averages():
    likelihood, key = Categorical(3), jax.random.key(0)
    mean = jnp.asarray(np.random.default_rng(1).normal(size=(1, 6, 3)))
    q = Marginals(mean, jnp.full(mean.shape, 0.8), jnp.zeros(1))
    y, how = np.arange(6.0) % 3, MonteCarlo(50)
    losses = (Direct(LogLoss()), TIGHT, PLAIN, Gibbs(LogLoss()))
    ordered = np.asarray(all_of(losses, likelihood, jnp.asarray(y), q, how, key))
    assert (np.diff(ordered, axis=0) > 0).all()


@pytest.mark.parametrize("loss", [PLAIN, TIGHT])
def test_without_variance_it_is_the_log_loss_with_finite_derivatives(loss):
    y = jnp.asarray([0.0, 0.3, 40.0])

    def total(mean, variance, likelihood):
        q = single(mean[:, None], variance[:, None])
        how = choose_expectation(loss.needs, likelihood)
        return jnp.sum(loss(likelihood, Integrals(y, q, how, None)))

    both = eqx.filter_jit(jax.value_and_grad(total, argnums=(0, 1)))
    mean = jnp.asarray([0.0, 0.0, 0.0])
    for likelihood in (Gaussian(0.3), StudentT()):
        for variance in (1e-14, 1e-3, 1e4):
            at = jnp.full(3, variance)
            value, slopes = both(mean, at, likelihood)
            assert np.isfinite(value)
            assert all(np.isfinite(slope).all() for slope in slopes)
        plain = -jnp.sum(likelihood.log_prob(y, mean[:, None]))
        value, _ = both(mean, jnp.full(3, 1e-14), likelihood)
        np.testing.assert_allclose(value, plain, rtol=1e-9)


def test_it_trains_and_what_it_cannot_be_is_refused():
    X = np.linspace(-2, 2, 30)[:, None]
    y = (np.sin(2 * X[:, 0]) > 0).astype(float)
    options = {"model": Sparse(num_inducing=5), "beta": 1.0, "training": Training(max_steps=20)}
    for name in ("second-order", "second-order-tight"):
        fitted = fit(X, y, loss=name, likelihood="bernoulli", **options)
        assert np.isfinite(fitted.predict(X).log_prob(y)).all()
    assert losses.create("second-order-tight") == TIGHT
    with pytest.raises(DirectGPError, match="no form of CRPS"):
        SecondOrder(score=CRPS())
