"""Robust losses against numerical integration, their limits, and what they are for."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from directgp.expectations import ClosedForm, GaussHermite, MonteCarlo, choose_expectation
from directgp.likelihoods import (
    BernoulliLogit,
    BernoulliProbit,
    Categorical,
    Gaussian,
    NegativeBinomialExp,
    PoissonExp,
    PoissonSoftplus,
    StudentT,
)
from directgp.losses import BetaLoss, Direct, GammaLoss, Gibbs, Integrals, LogLoss, losses
from directgp.marginals import Marginals

Y = np.array([-0.4, 0.3, 6.0])
NOISE = 0.3


def mixture(components=2, latents=1, seed=0, rows=3):
    rng = np.random.default_rng(seed)
    weights = rng.uniform(0.5, 1.0, components)
    return Marginals(
        jnp.asarray(rng.normal(size=(components, rows, latents))),
        jnp.asarray(rng.uniform(0.2, 1.0, size=(components, rows, latents))),
        jnp.asarray(np.log(weights / weights.sum())),
    )


def evaluate(loss, likelihood, q, y=Y, expectation=None, key=None):
    how = expectation or choose_expectation(loss.needs, likelihood)
    return np.asarray(_evaluate(loss, likelihood, Integrals(jnp.asarray(y), q, how, key)))


@eqx.filter_jit
def _evaluate(loss, likelihood, integrals):
    return loss(likelihood, integrals)


@eqx.filter_jit
def _log_prob(likelihood, y, f):
    return likelihood.log_prob(jnp.asarray(y), jnp.asarray(f))


@eqx.filter_jit
def _log_power_integral(likelihood, f, power):
    return likelihood.log_power_integral(f, power)


def by_hand(score, log_density, integral):
    """The formulas of the module, written with densities instead of logarithms."""
    c = score.power - 1.0
    density = np.exp(log_density)
    if isinstance(score, BetaLoss):
        return (1 - density**c) / c + (integral - 1) / score.power
    return score.power / c * (1 - density**c / integral ** (c / score.power))


SCORES = [BetaLoss(1.3), GammaLoss(1.3)]


@pytest.mark.parametrize("score", SCORES)
def test_gibbs_for_gaussians_is_the_integral_over_f_and_y(score):
    q = mixture()
    power = score.power
    integral = integrate.quad(lambda y: stats.norm.pdf(y, 0, NOISE**0.5) ** power, -9, 9)[0]
    expected = np.zeros(3)
    for s in range(2):
        for n in range(3):
            f = stats.norm(float(q.mean[s, n, 0]), float(q.variance[s, n, 0]) ** 0.5)

            def value(x, f=f, n=n):
                log_density = stats.norm.logpdf(Y[n], x, NOISE**0.5)
                return f.pdf(x) * by_hand(score, log_density, integral)

            expected[n] += np.exp(q.log_weights[s]) * integrate.quad(value, -12, 12, limit=200)[0]
    closed = evaluate(Gibbs(score), Gaussian(NOISE), q, expectation=ClosedForm())
    np.testing.assert_allclose(closed, expected, rtol=1e-7)
    nodes = evaluate(Gibbs(score), Gaussian(NOISE), q, expectation=GaussHermite(60))
    np.testing.assert_allclose(nodes[:2], expected[:2], rtol=1e-5)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("components", [1, 3])
def test_direct_for_gaussians_scores_the_predictive_density(score, components):
    q = mixture(components)

    def density(y, n):
        spread = np.sqrt(q.variance[:, n, 0] + NOISE)
        return np.sum(np.exp(q.log_weights) * stats.norm.pdf(y, q.mean[:, n, 0], spread))

    expected = [
        by_hand(
            score,
            np.log(density(Y[n], n)),
            integrate.quad(lambda y, n=n: density(y, n) ** score.power, -15, 15, limit=200)[0],
        )
        for n in range(3)
    ]
    np.testing.assert_allclose(evaluate(Direct(score), Gaussian(NOISE), q), expected, rtol=2e-5)


def mixture_of_widths(variance, mean=(0.0, 0.0), weights=(0.5, 0.5)):
    shape = (len(variance), 1, 1)
    parts = (jnp.asarray(part).reshape(shape) for part in (mean, variance))
    return Marginals(*parts, jnp.log(jnp.asarray(weights)))


@pytest.mark.parametrize("score,expected", [(GammaLoss(1.3), 0.93633), (BetaLoss(2.0), 0.54512)])
def test_a_narrow_component_in_a_wide_one_is_not_missed(score, expected):
    variance, noise = np.array([1e-4, 4.0]), 0.01

    def density(y):
        return np.mean(stats.norm.pdf(y, 0.0, np.sqrt(variance + noise)))

    parts = np.array([0.0, 0.1, 0.3, 1.0, 3.0, 20.0])
    integral = 2 * sum(
        integrate.quad(lambda y: density(y) ** score.power, *ends)[0]
        for ends in itertools.pairwise(parts)
    )
    assert by_hand(score, np.log(density(0.2)), integral) == pytest.approx(expected, abs=1e-5)
    for order in ([0, 1], [1, 0]):
        got = evaluate(Direct(score), Gaussian(noise), mixture_of_widths(variance[order]), [0.2])
        np.testing.assert_allclose(got, expected, atol=2e-5)


def test_the_gradient_for_unequal_widths_is_that_of_finite_differences():
    @jax.jit
    @jax.value_and_grad
    def total(numbers):
        noise, shift, *logs = numbers
        likelihood = Gaussian.with_own_noise(noise)
        weights = jax.nn.log_softmax(jnp.stack([0.3, shift, logs[2]]))
        means = jnp.stack([0.0, shift, 9.0])
        q = mixture_of_widths(jnp.exp(jnp.stack(logs)), means, jnp.exp(weights))
        integrals = Integrals(jnp.asarray([0.2]), q, ClosedForm(), None)
        return Direct(GammaLoss(1.2))(likelihood, integrals)[0]

    # The third component lies far from the others, where their shares are 0 and 1.
    here, step = jnp.asarray([0.01, 0.1, -9.0, 1.0, -3.0]), 1e-5
    numeric = [(total(here + e)[0] - total(here - e)[0]) / (2 * step) for e in step * np.eye(5)]
    np.testing.assert_allclose(total(here)[1], numeric, rtol=1e-3, atol=1e-6)


def test_unequal_widths_with_heavy_tails_are_integrated_too():
    likelihood, q = StudentT(0.05, 4.0), mixture_of_widths([1e-4, 4.0])
    u = np.linspace(-14.0, 14.0, 4001)
    y = 0.05 * np.sinh(u)
    parts = (np.asarray(part).repeat(len(u), axis=1) for part in (q.mean, q.variance))
    density = np.exp(likelihood.predictive(*parts, np.asarray(q.log_weights)).log_prob(y))
    at = np.interp(0.2, y, density)
    score = BetaLoss(1.5)
    integral = np.trapezoid(density**score.power * 0.05 * np.cosh(u), u)
    got = evaluate(Direct(score), likelihood, q, [0.2])
    np.testing.assert_allclose(got, by_hand(score, np.log(at), integral), rtol=3e-4)


@pytest.mark.parametrize(
    "scale,df,error", [(0.5, 1.1, 5e-4), (0.3, 4.0, 1e-4), (0.05, 4.0, 1e-4), (0.5, 300.0, 1e-4)]
)
def test_direct_for_student_t_scores_the_predictive_density(scale, df, error):
    q, likelihood = mixture(), StudentT(scale, df)
    u = np.linspace(-16.0, 16.0, 1601)  # y = sinh u goes as far as any tail
    mean, variance = (np.asarray(part).repeat(len(u), axis=1) for part in (q.mean, q.variance))
    everywhere = likelihood.predictive(mean, variance, np.asarray(q.log_weights))
    density = np.exp(everywhere.log_prob(np.tile(np.sinh(u), 3))).reshape(3, -1)
    parts = (q.mean, q.variance, q.log_weights)
    here = likelihood.predictive(*(np.asarray(part) for part in parts))
    for score in (BetaLoss(1.1), GammaLoss(1.3)):
        integral = np.trapezoid(density**score.power * np.cosh(u), u)
        expected = by_hand(score, here.log_prob(Y), integral)
        np.testing.assert_allclose(evaluate(Direct(score), likelihood, q), expected, rtol=error)


def test_the_direct_gradient_for_student_t_is_that_of_finite_differences():
    q = mixture()

    @jax.jit
    @jax.value_and_grad
    def total(numbers):
        scale, df, shift, factor = numbers
        likelihood = eqx.tree_at(lambda own: (own.scale, own.df), StudentT(), (scale, df))
        at = Marginals(q.mean + shift, factor * q.variance, q.log_weights)
        integrals = Integrals(jnp.asarray(Y), at, ClosedForm(), None)
        return jnp.sum(Direct(BetaLoss(1.2))(likelihood, integrals))

    here, step = jnp.asarray([0.4, 3.0, 0.1, 1.0]), 1e-5
    numeric = [(total(here + e)[0] - total(here - e)[0]) / (2 * step) for e in step * np.eye(4)]
    np.testing.assert_allclose(total(here)[1], numeric, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("likelihood", [StudentT(0.4, 5.0), BernoulliLogit(), Categorical(3)])
def test_the_integral_of_a_power_is_numerical_integration(likelihood):
    f, power = jnp.asarray([[0.3, -0.2, 0.9][: likelihood.num_latents]]), 1.4

    def density(y):
        return np.exp(np.asarray(_log_prob(likelihood, np.asarray([y], float), f)))[0] ** power

    if likelihood.outcomes is None:
        expected = 2 * integrate.quad(density, 0.3, 60.0, limit=200)[0]
    else:
        expected = sum(density(y) for y in likelihood.outcomes)
    got = np.exp(_log_power_integral(likelihood, f, power))[0]
    np.testing.assert_allclose(got, expected, rtol=1e-5)


@pytest.mark.parametrize("score", SCORES)
def test_direct_for_classes_scores_the_class_probabilities(score):
    q = mixture()
    likelihood, y = BernoulliProbit(), np.array([0.0, 1.0, 1.0])
    one = np.exp(-evaluate(Direct(LogLoss()), likelihood, q, np.ones(3), expectation=ClosedForm()))
    integral = one**score.power + (1 - one) ** score.power
    expected = by_hand(score, np.log(np.where(y == 1, one, 1 - one)), integral)
    np.testing.assert_allclose(evaluate(Direct(score), likelihood, q, y), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", [Gibbs, Direct])
@pytest.mark.parametrize("family", [BetaLoss, GammaLoss])
def test_power_to_one_is_the_log_loss(kind, family):
    q = mixture()
    reference = evaluate(kind(LogLoss()), Gaussian(NOISE), q)
    errors = [
        np.abs(evaluate(kind(family(1.0 + c)), Gaussian(NOISE), q) - reference).max()
        for c in (1e-4, 1e-5)
    ]
    assert errors[1] < 0.03
    assert errors[1] < 0.2 * errors[0]


@pytest.mark.parametrize("score", SCORES)
def test_without_variance_gibbs_is_direct(score):
    q = mixture(1)
    q = Marginals(q.mean, 1e-12 * q.variance, q.log_weights)
    for likelihood in (Gaussian(NOISE), BernoulliLogit()):
        y = np.array([0.0, 1.0, 1.0])
        gibbs = evaluate(Gibbs(score), likelihood, q, y)
        np.testing.assert_allclose(gibbs, evaluate(Direct(score), likelihood, q, y), rtol=1e-5)


@pytest.mark.parametrize("score", SCORES)
def test_the_right_noise_is_where_the_loss_is_least(score):
    """The printed sign of γ's integral would put the minimum at σ² = (1 − 2c²)/(1 + 2c)."""
    draws = stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    rows = len(draws)
    q = Marginals(jnp.zeros((1, rows, 1)), jnp.full((1, rows, 1), 1e-12), jnp.zeros(1))
    noises = np.array([0.7, 0.85, 1.0, 1.15, 1.3])
    values = [evaluate(Gibbs(score), Gaussian(noise), q, draws).mean() for noise in noises]
    assert np.argmin(values) == 2


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("kind", [Gibbs, Direct])
def test_an_outlier_hardly_pulls(kind, score):
    def pull(loss, y):
        def value(mean):
            q = Marginals(mean.reshape(1, 1, 1), jnp.full((1, 1, 1), 0.1), jnp.zeros(1))
            how = choose_expectation(loss.needs, Gaussian(NOISE))
            return loss(Gaussian(NOISE), Integrals(jnp.asarray([y]), q, how, None))[0]

        return abs(float(jax.jit(jax.grad(value))(jnp.asarray(0.0))))

    assert pull(kind(score), 8.0) < 1e-3
    assert pull(kind(score), 0.5) > 0.1
    assert pull(kind(LogLoss()), 8.0) > 10.0


@pytest.mark.parametrize("score", SCORES)
def test_values_and_gradients_are_finite_far_out(score):
    y = jnp.asarray([1e8, -1e8, 0.0])
    for loss in (Gibbs(score), Direct(score)):

        def total(shift, loss=loss):
            q = mixture()
            q = Marginals(q.mean + shift, q.variance, q.log_weights)
            return jnp.sum(loss(Gaussian(1e-4), Integrals(y, q, ClosedForm(), None)))

        value, slope = jax.jit(jax.value_and_grad(total))(jnp.asarray(0.0))
        assert np.isfinite(value)
        assert np.isfinite(slope)


def test_several_latents_are_sampled():
    q, y = mixture(2, 3), np.array([0.0, 2.0, 1.0])
    key = jax.random.key(0)
    for loss in (Gibbs(GammaLoss(1.2)), Direct(BetaLoss(1.2))):
        values = evaluate(loss, Categorical(3), q, y, MonteCarlo(4000), key)
        again = evaluate(loss, Categorical(3), q, y, MonteCarlo(4000), jax.random.key(1))
        np.testing.assert_allclose(values, again, atol=0.05)


def test_what_is_not_known_is_an_error_in_words():
    with pytest.raises(ValueError, match=r"power of GammaLoss must be > 1, got 0.9; use 1.03"):
        GammaLoss(0.9)


def test_they_are_found_by_name():
    for name, kind, family in (
        ("gibbs-robust-beta", Gibbs, BetaLoss),
        ("direct-robust-gamma", Direct, GammaLoss),
    ):
        loss = losses.create(name)
        assert isinstance(loss, kind)
        assert isinstance(loss.score, family)


COUNTS = [PoissonExp(), PoissonSoftplus(), NegativeBinomialExp(0.5), NegativeBinomialExp(3.0)]


@pytest.mark.parametrize("likelihood", COUNTS)
@pytest.mark.parametrize("rate", [0.05, 3.0, 400.0])
def test_the_sum_of_a_power_over_counts_is_the_plain_sum(likelihood, rate):
    f, power = likelihood.rate.latent(jnp.asarray([[rate]])), 1.3
    y = np.arange(60000.0)
    log_mass = np.asarray(_log_prob(likelihood, y, np.broadcast_to(f, (len(y), 1))))
    expected = float(np.sum(np.exp(power * log_mass)))
    got = np.exp(_log_power_integral(likelihood, f, power))[0]
    np.testing.assert_allclose(got, expected, rtol=2e-4)


@pytest.mark.parametrize("likelihood", [PoissonExp(), NegativeBinomialExp(0.5)])
@pytest.mark.parametrize("score", SCORES)
def test_direct_for_counts_scores_the_predictive_masses(likelihood, score):
    q = mixture_of_widths([1e-3, 0.5], mean=(3.0, 0.5), weights=(0.3, 0.7))
    y = np.array([4.0])
    every = np.arange(3000.0)
    parts = (np.asarray(part).repeat(len(every), axis=1) for part in (q.mean, q.variance))
    log_mass = likelihood.predictive(*parts, np.asarray(q.log_weights)).log_prob(every)
    expected = by_hand(score, log_mass[4], np.sum(np.exp(score.power * log_mass)))
    np.testing.assert_allclose(evaluate(Direct(score), likelihood, q, y), expected, rtol=2e-4)


def test_counts_of_a_million_cost_no_more_and_stay_finite():
    for likelihood in (PoissonExp(), NegativeBinomialExp(0.5)):
        q = mixture_of_widths([0.2], mean=(np.log(1e6),), weights=(1.0,))
        for loss in (Gibbs(GammaLoss(1.1)), Direct(BetaLoss(1.1))):

            def total(shift, loss=loss, q=q, likelihood=likelihood):
                how = choose_expectation(loss.needs, likelihood)
                at = Marginals(q.mean + shift, q.variance, q.log_weights)
                return loss(likelihood, Integrals(jnp.asarray([1e6]), at, how, None))[0]

            value, slope = jax.jit(jax.value_and_grad(total))(jnp.asarray(0.3))
            assert np.isfinite(value)
            assert np.isfinite(slope)
            if isinstance(loss, Direct):
                assert slope > 0  # towards the count
