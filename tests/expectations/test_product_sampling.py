"""uPS gradients are unbiased: for q, for mixtures and for the likelihood's own parameters."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.expectations import (
    ClosedForm,
    GaussHermite,
    MonteCarlo,
    ProductSampling,
    WideSampler,
    expectations,
)
from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Categorical,
    ConditionalMean,
    Gaussian,
    LogProb,
    NegativeBinomialExp,
    PoissonExp,
    StudentT,
)
from directgp.losses import Gibbs, Integrals, LogLoss
from directgp.marginals import Marginals, single

_REPEATS = 4000
_GRID = np.linspace(-15.0, 15.0, 6001)


def _mixture(components, repeats):
    """The same mixture in every one of `repeats` rows, so rows are independent repetitions."""
    mean, variance, weight = (jnp.asarray(column) for column in zip(*components, strict=True))
    shape = (len(components), repeats, 1)
    spread = [jnp.broadcast_to(column[:, None, None], shape) for column in (mean, variance)]
    return Marginals(*spread, jnp.log(weight / jnp.sum(weight)))


@eqx.filter_jit
def _value(expectation, likelihood, y, marginals, key):
    return expectation.mixture_log_mean_exp(LogProb(likelihood), y, marginals, key)


@eqx.filter_jit
def _gradients(expectation, likelihood, y, marginals, key):
    def total(moments):
        q = Marginals(*moments, marginals.log_weights)
        return jnp.sum(expectation.mixture_log_mean_exp(LogProb(likelihood), y, q, key))

    return jax.grad(total)((marginals.mean, marginals.variance))


def _assert_unbiased(samples, truth, axis):
    samples = np.asarray(samples)
    error = samples.mean(axis) - np.asarray(truth)
    standard = samples.std(axis) / np.sqrt(samples.shape[axis])
    assert np.all(np.abs(error) < 4.5 * standard + 1e-9), (error, standard)


ONE = [(0.4, 1.5, 1.0)]
THREE = [(-1.0, 0.5, 0.5), (0.3, 1.5, 0.2), (2.0, 0.8, 0.3)]


@pytest.mark.parametrize(
    ("likelihood", "y", "components", "control_variates"),
    [
        (BernoulliLogit(), 1.0, THREE, False),
        pytest.param(PoissonExp(), 7.0, ONE, False, marks=pytest.mark.slow),
        pytest.param(StudentT(0.5, 3.0), 3.0, THREE, False, marks=pytest.mark.slow),
        (PoissonExp(), 7.0, THREE, True),
        pytest.param(StudentT(0.5, 3.0), 3.0, ONE, True, marks=pytest.mark.slow),
    ],
)
def test_gradients_for_q_are_unbiased(
    likelihood, y, components, control_variates, exact_log_evidence
):
    marginals = _mixture(components, _REPEATS)
    expectation = ProductSampling(3, control_variates=control_variates)
    labels = jnp.full(_REPEATS, y)
    estimates = _gradients(expectation, likelihood, labels, marginals, jax.random.key(0))

    def evidence(moments):
        q = Marginals(*moments, marginals.log_weights)
        return exact_log_evidence(likelihood, labels[:1], q, _GRID)[0]

    truth = jax.jit(jax.grad(evidence))((marginals.mean[:, :1], marginals.variance[:, :1]))
    for estimate, right in zip(estimates, truth, strict=True):
        _assert_unbiased(estimate[..., 0], right[:, 0, 0], axis=1)


def test_probit_gradient_is_that_of_the_closed_form():
    marginals = _mixture([(-2.0, 0.7, 1.0)], _REPEATS)
    y = jnp.ones(_REPEATS)
    key = jax.random.key(3)
    estimates = _gradients(ProductSampling(5), BernoulliProbit(), y, marginals, key)
    truth = _gradients(ClosedForm(), BernoulliProbit(), y, marginals, key)
    for estimate, right in zip(estimates, truth, strict=True):
        _assert_unbiased(estimate[0, :, 0], right[0, 0, 0], axis=0)


@pytest.mark.parametrize(
    ("likelihood", "y"),
    [
        pytest.param(StudentT(0.5, 3.0), 2.0, marks=pytest.mark.slow),
        (Gaussian(0.3), 1.0),
        pytest.param(NegativeBinomialExp(0.5), 6.0, marks=pytest.mark.slow),
    ],
    ids=lambda value: type(value).__name__,
)
def test_gradients_for_likelihood_and_weights_are_unbiased(likelihood, y, exact_log_evidence):
    marginals = _mixture(THREE, 50)
    labels = jnp.full(50, y)
    learned, fixed = eqx.partition(likelihood, eqx.is_inexact_array)

    def surrogate(parameters, key):
        own, log_weights = parameters
        q = Marginals(marginals.mean, marginals.variance, log_weights)
        integrand = LogProb(eqx.combine(own, fixed))
        return jnp.mean(ProductSampling(4).mixture_log_mean_exp(integrand, labels, q, key))

    def evidence(parameters):
        own, log_weights = parameters
        q = Marginals(marginals.mean[:, :1], marginals.variance[:, :1], log_weights)
        return exact_log_evidence(eqx.combine(own, fixed), labels[:1], q, _GRID)[0]

    parameters = (learned, marginals.log_weights)
    keys = jax.random.split(jax.random.key(4), 100)
    estimates = jax.jit(lambda ks: jax.lax.map(lambda k: jax.grad(surrogate)(parameters, k), ks))(
        keys
    )
    truth = jax.jit(jax.grad(evidence))(parameters)
    for estimate, right in zip(jax.tree.leaves(estimates), jax.tree.leaves(truth), strict=True):
        _assert_unbiased(estimate, right, axis=0)


@pytest.mark.slow
def test_control_variates_take_noise_away():
    y = jnp.full(500, 9.0)
    narrow = single(jnp.full((500, 1), 1.8), jnp.full((500, 1), 0.02))
    key = jax.random.key(0)
    plain = _gradients(ProductSampling(2), PoissonExp(), y, narrow, key)
    quiet = _gradients(ProductSampling(2, control_variates=True), PoissonExp(), y, narrow, key)
    for noisy, still in zip(plain, quiet, strict=True):
        assert np.std(still) < 0.1 * np.std(noisy)
    gaussian = _gradients(ProductSampling(1, control_variates=True), Gaussian(0.3), y, narrow, key)
    truth = _gradients(ClosedForm(), Gaussian(0.3), y, narrow, key)
    for still, right in zip(gaussian, truth, strict=True):
        np.testing.assert_allclose(still, right, rtol=1e-9)


@pytest.mark.slow
def test_value_comes_from_the_reporting_expectation():
    q = single(jnp.asarray([[0.3], [2.0]]), jnp.asarray([[1.0], [0.5]]))
    y, key = jnp.asarray([1.0, 0.0]), jax.random.key(0)
    probit, logit = BernoulliProbit(), BernoulliLogit()
    np.testing.assert_allclose(
        _value(ProductSampling(2), probit, y, q, key), _value(ClosedForm(), probit, y, q, key)
    )
    reporting = GaussHermite(50)
    np.testing.assert_allclose(
        _value(ProductSampling(2, reporting=reporting), logit, y, q, key),
        _value(reporting, logit, y, q, key),
    )
    sampled = ProductSampling(2, reporting=MonteCarlo(5))
    assert np.all(np.isfinite(_value(sampled, probit, y, q, key)))


@pytest.mark.slow
def test_paper_sampler_gives_the_same_estimator():
    marginals = _mixture(ONE, 2000)
    y = jnp.ones(2000)
    key = jax.random.key(5)
    papers = ProductSampling(3, sampler=WideSampler())
    estimates = _gradients(papers, BernoulliProbit(), y, marginals, key)
    truth = _gradients(ClosedForm(), BernoulliProbit(), y, marginals, key)
    for estimate, right in zip(estimates, truth, strict=True):
        _assert_unbiased(estimate[0, :, 0], right[0, 0, 0], axis=0)


@pytest.mark.slow
def test_component_by_component_agrees_in_value():
    marginals = _mixture(THREE[:2], 4)
    y, key = jnp.ones(4), jax.random.key(0)
    parts = eqx.filter_jit(ProductSampling(2).log_mean_exp)(
        LogProb(BernoulliProbit()), y, marginals.mean, marginals.variance, key
    )
    whole = _value(ClosedForm(), BernoulliProbit(), y, marginals, key)
    np.testing.assert_allclose(marginals.log_average_exp(parts), whole, rtol=1e-12)


def test_same_key_same_gradient():
    marginals = _mixture(ONE, 4)
    first, again, other = (
        _gradients(ProductSampling(2), BernoulliProbit(), jnp.ones(4), marginals, key)[0]
        for key in (jax.random.key(0), jax.random.key(0), jax.random.key(1))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_what_it_cannot_do_is_an_error_that_names_the_alternative():
    q = single(jnp.zeros((2, 1)), jnp.ones((2, 1)))
    y, key = jnp.ones(2), jax.random.key(0)
    integrals = Integrals(y, q, ProductSampling(2), key)
    with pytest.raises(ValueError, match="use GaussHermite"):
        Gibbs(LogLoss())(BernoulliProbit(), integrals)
    with pytest.raises(ValueError, match="not ConditionalMean; use"):
        integrals.log_mean_exp(ConditionalMean(BernoulliProbit()))
    with pytest.raises(ValueError, match="needs a random key"):
        Integrals(y, q, ProductSampling(2), None).log_mean_exp(LogProb(BernoulliProbit()))
    with pytest.raises(ValueError, match="at least 1 sample"):
        ProductSampling(0)
    several = Integrals(y, single(jnp.zeros((2, 3)), jnp.ones((2, 3))), ProductSampling(2), key)
    with pytest.raises(ValueError, match="use MonteCarlo"):
        several.log_mean_exp(LogProb(Categorical(3)))


def test_it_is_registered():
    assert expectations.create("product-sampling", 4).samples == 4
