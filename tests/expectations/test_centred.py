"""Quadrature centred on the product q(f) p(y | f): right where plain nodes are far away."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from directgp.expectations import (
    CentredQuadrature,
    GaussHermite,
    MonteCarlo,
    choose_expectation,
)
from directgp.likelihoods import (
    BernoulliLogit,
    Categorical,
    ConditionalMean,
    LogProb,
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
)
from directgp.losses import Direct, Gibbs, LogLoss

CASES = [
    (PoissonExp(), 500.0, 0.0, 1.0, 1e-7),
    (PoissonExp(), 1000.0, -2.0, 0.25, 1e-7),
    (PoissonExp(), 0.0, 8.0, 0.1, 1e-7),
    (PoissonSoftplus(), 100.0, 2.0, 0.3, 1e-7),
    (NegativeBinomialExp(), 50.0, -8.0, 0.1, 1e-7),
    (BernoulliLogit(), 1.0, -8.0, 1.0, 1e-7),
    (BernoulliLogit(), 0.0, 1.0, 9.0, 1e-4),
]


def centred(likelihood, y, mean, variance, points=20):
    y, mean, variance = jnp.asarray([y]), jnp.full((1, 1, 1), mean), jnp.full((1, 1, 1), variance)
    how, integrand = CentredQuadrature(points), LogProb(likelihood)
    return log_mean_exp(how, integrand, y, mean, variance)


@eqx.filter_jit
def log_mean_exp(how, integrand, y, mean, variance):
    return how.log_mean_exp(integrand, y, mean, variance, None)[0, 0]


@pytest.mark.parametrize(("likelihood", "y", "mean", "variance", "tolerance"), CASES)
def test_it_equals_a_dense_sum(likelihood, y, mean, variance, tolerance):
    spread = np.sqrt(variance)
    f = np.linspace(mean - 14 * spread - 3, max(mean + 14 * spread, 12.0), 200_001)
    log_prob = np.asarray(
        eqx.filter_jit(type(likelihood).log_prob)(
            likelihood, jnp.asarray(np.full(f.shape, y)), jnp.asarray(f[:, None])
        )
    )
    exact = logsumexp(log_prob + norm.logpdf(f, mean, spread)) + np.log(f[1] - f[0])
    assert float(centred(likelihood, y, mean, variance)) == pytest.approx(exact, abs=tolerance)


def test_plain_nodes_miss_a_large_count_that_it_finds():
    y, mean, variance = jnp.asarray([500.0]), jnp.zeros((1, 1, 1)), jnp.ones((1, 1, 1))
    plain = log_mean_exp(GaussHermite(20), LogProb(PoissonExp()), y, mean, variance)
    assert abs(float(plain) - float(centred(PoissonExp(), 500.0, 0.0, 1.0))) > 1.0


@pytest.mark.parametrize(("likelihood", "y", "mean", "variance", "tolerance"), CASES[:5])
def test_its_gradient_is_that_of_its_value(likelihood, y, mean, variance, tolerance):
    for argument in (2, 3):
        at = [likelihood, y, mean, variance]
        slope = float(jax.grad(centred, argnums=argument)(*at))
        step = 1e-5 * max(1.0, abs(at[argument]))
        up, down = at.copy(), at.copy()
        up[argument] += step
        down[argument] -= step
        numeric = (float(centred(*up)) - float(centred(*down))) / (2 * step)
        assert slope == pytest.approx(numeric, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("dispersion", [0.5, 5.0])
def test_two_centres_serve_a_likelihood_that_is_not_log_concave(dispersion):
    """Counts from 0 to 100000, near q and far from it; the predictive integrates adaptively."""
    likelihood = NegativeBinomialSoftplus(dispersion)
    cases = list(itertools.product((0.0, 20.0, 500.0, 1e5), (-8.0, 3.0, 30.0), (0.01, 1.0, 25.0)))
    y, mean, variance = (np.array(column) for column in zip(*cases, strict=True))
    q = mean[None, :, None], variance[None, :, None]
    integrate = eqx.filter_jit(CentredQuadrature().log_mean_exp)
    moments = jnp.asarray(q[0]), jnp.asarray(q[1])
    found = integrate(LogProb(likelihood), jnp.asarray(y), *moments, None)[0]
    exact = likelihood.predictive(*q, np.zeros(1)).log_prob(y)
    np.testing.assert_allclose(np.asarray(found), exact, atol=5e-3)


def test_it_is_chosen_for_direct_log_loss_of_one_latent_value():
    needs = Direct(LogLoss()).needs
    assert isinstance(choose_expectation(needs, PoissonExp()), CentredQuadrature)
    assert isinstance(choose_expectation(needs, NegativeBinomialSoftplus()), CentredQuadrature)
    assert isinstance(choose_expectation(needs, Categorical(3)), MonteCarlo)
    assert isinstance(choose_expectation(Gibbs(LogLoss()).needs, BernoulliLogit()), GaussHermite)


def test_it_refuses_what_it_cannot_centre():
    zero = jnp.zeros((1, 1, 1))
    for integrand in (LogProb(Categorical(3)), ConditionalMean(PoissonExp())):
        with pytest.raises(ValueError, match="one latent value"):
            CentredQuadrature().log_mean_exp(integrand, jnp.zeros(1), zero, zero + 1, None)
