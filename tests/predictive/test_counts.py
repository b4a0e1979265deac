"""Predictive counts: against dense sums and integrals, from 0 to 1e5."""

import numpy as np
import pytest
from scipy import special, stats

from directgp.likelihoods import (
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
)
from directgp.predictive import GaussianMixture
from directgp.predictive.quadrature import log_mean_exp, mean_of_step
from directgp.predictive.roots import smallest_count


def predict(likelihood, mean, variance):
    mean, variance = np.atleast_1d(mean).astype(float), np.atleast_1d(variance).astype(float)
    return likelihood.predictive(mean[None, :, None], variance[None, :, None], np.zeros(1))


def dense_log_mass(log_pmf, y, mean, variance):
    std = np.sqrt(variance)
    f = np.linspace(mean - 12 * std, mean + 12 * std, 400_001)
    terms = log_pmf(y, f) + stats.norm.logpdf(f, mean, std)
    return special.logsumexp(terms) + np.log(24 * std / 400_000)


FAMILIES = [
    (PoissonExp(), lambda y, f: stats.poisson.logpmf(y, np.exp(f))),
    (PoissonSoftplus(), lambda y, f: stats.poisson.logpmf(y, np.logaddexp(f, 0))),
    (NegativeBinomialExp(0.5), lambda y, f: stats.nbinom.logpmf(y, 2, 2 / (2 + np.exp(f)))),
    (
        NegativeBinomialSoftplus(0.5),
        lambda y, f: stats.nbinom.logpmf(y, 2, 2 / (2 + np.logaddexp(f, 0))),
    ),
]


@pytest.mark.parametrize(("likelihood", "log_pmf"), FAMILIES)
@pytest.mark.parametrize(
    ("y", "mean", "variance"),
    [(0, 0.0, 0.01), (0, 3.0, 4.0), (0, 0.0, 100.0), (3, -5.0, 1.0), (5, 1.0, 2.0), (9, 40.0, 100)],
)
def test_masses_equal_dense_quadrature(likelihood, log_pmf, y, mean, variance):
    found = predict(likelihood, mean, variance).log_prob(y)
    assert found[0] == pytest.approx(dense_log_mass(log_pmf, y, mean, variance), abs=1e-8)


@pytest.mark.parametrize("index", [0, 2])
@pytest.mark.parametrize(("mean", "variance"), [(11.0, 4.0), (11.5, 0.01), (6.0, 1.0)])
def test_huge_counts_are_not_lost_between_nodes(index, mean, variance):
    likelihood, log_pmf = FAMILIES[index]
    y = np.rint(np.exp(mean + 0.7 * np.sqrt(variance)))
    p = predict(likelihood, mean, variance)
    assert p.log_prob(y)[0] == pytest.approx(dense_log_mass(log_pmf, y, mean, variance), abs=1e-7)
    # The density of log y is nearly the Gaussian of f: no comb.
    around = predict(likelihood, np.full(50, mean), np.full(50, variance))
    masses = np.exp(around.log_prob(np.rint(y * np.linspace(0.99, 1.01, 50))))
    assert np.all(np.abs(np.diff(masses)) < 0.2 * masses.max())


def test_without_latent_variance_they_are_scipys():
    rate = np.array([0.02, 3.0, 250.0, 1e5])
    p = predict(PoissonExp(), np.log(rate), np.zeros(4))
    y = stats.poisson.ppf(0.8, rate)
    np.testing.assert_allclose(p.log_prob(y), stats.poisson.logpmf(y, rate), rtol=1e-9)
    np.testing.assert_allclose(p.cdf(y), stats.poisson.cdf(y, rate), rtol=1e-10)
    np.testing.assert_allclose(p.survival(y), stats.poisson.sf(y, rate), rtol=1e-9)
    np.testing.assert_array_equal(p.quantile(0.975), stats.poisson.ppf(0.975, rate))
    np.testing.assert_allclose(p.mean, rate, rtol=1e-12)
    np.testing.assert_allclose(p.variance, rate, rtol=1e-12)


def test_the_mean_integrates_over_f_and_is_never_plugged_in():
    p = predict(PoissonExp(), 1.0, 0.8)
    assert p.mean[0] == pytest.approx(np.exp(1.4))
    assert p.variance[0] == pytest.approx(np.exp(1.4) + np.expm1(0.8) * np.exp(2.8))
    assert np.exp(p.log_prob(3)[0]) < 0.9 * stats.poisson.pmf(3, np.exp(1.0))


def exact_crps(p, y):
    top = max(p.quantile(1 - 1e-13)[0], y) + 1
    k = np.arange(top)
    cdf = p[np.zeros(k.size, dtype=int)].cdf(k)
    return np.sum((cdf - (y <= k)) ** 2)


@pytest.mark.parametrize("likelihood", [PoissonExp(), NegativeBinomialExp(0.3)])
@pytest.mark.parametrize(("mean", "variance"), [(0.5, 0.2), (3.0, 0.2), (5.0, 0.1), (6.0, 1e-4)])
def test_crps_equals_the_sum_over_all_counts(likelihood, mean, variance):
    p = predict(likelihood, mean, variance)
    for y in (0.0, p.median[0], p.quantile(0.99)[0], 3 * p.quantile(0.999)[0]):
        assert p.crps(y)[0] == pytest.approx(exact_crps(p, y), rel=2e-6)


def test_crps_of_separate_humps_and_of_counts_around_1e5():
    two = PoissonExp().predictive(
        np.array([[[2.0]], [[11.5]]]), np.full((2, 1, 1), 1e-4), np.log([0.5, 0.5])
    )
    each = [predict(PoissonExp(), mean, 1e-4) for mean in (2.0, 11.5)]
    gaussians = GaussianMixture(
        np.array([p.mean for p in each]), np.array([p.variance for p in each]), np.log([0.5, 0.5])
    )
    for y in (7.0, 5e4, 98_700.0):
        assert two.crps(y)[0] == pytest.approx(gaussians.crps(y)[0], rel=2e-4)


def test_impossible_counts_have_no_mass():
    p = predict(PoissonExp(), [0.0, 0.0, 0.0, 0.0], np.ones(4))
    y = np.array([-1.0, 0.5, np.inf, -np.inf])
    assert np.all(p.log_prob(y) == -np.inf)
    np.testing.assert_allclose(p.cdf(y), [0, np.exp(p.log_prob(0)[0]), 1, 0], rtol=1e-9)
    assert np.array_equal(np.isinf(p.crps(y)), [False, False, True, True])


def test_rates_beyond_all_floats_give_infinite_moments_without_warnings():
    p = predict(PoissonExp(), [300.0, 800.0], [1.0, 1.0])
    assert np.isinf(p.variance[1]) and np.isinf(p.mean[1])
    assert np.isinf(p.median[1]) and np.isinf(p.crps(0)).all()
    assert p.cdf(p.median)[0] >= 0.5 > p.cdf(np.nextafter(p.median, 0.0))[0]
    assert np.all(p.log_prob(0) < -1e3)
    assert np.all(np.isfinite(p.sample(3, seed=0)))


def test_quantiles_of_any_guess_are_the_smallest_count():
    target = np.array([0.0, 1.0, 5.0, 1000.0, 123_456_789.0])
    for guess in (0.0, 3.0, 1e6, 1e15):
        found = smallest_count(
            lambda rows, k: k >= target[rows], np.full(5, guess), np.full(5, 1.0)
        )
        np.testing.assert_array_equal(found, target)
    never = smallest_count(lambda rows, k: np.zeros(k.size, bool), np.zeros(1), np.ones(1))
    assert np.isinf(never[0])


def test_log_mean_exp_follows_a_spike_far_outside_the_gaussian():
    """f ~ N(0, 1) and a Gaussian factor of width 1e-4 at 30: the answer is known."""
    centre, width = np.array([30.0, -3.0, 0.0, -500.0]), np.array([1e-4, 0.5, 1e3, 2.0])
    found = log_mean_exp(
        lambda rows, f: stats.norm.logpdf(f, centre[rows], width[rows]), np.zeros(4), np.ones(4)
    )
    expected = stats.norm.logpdf(centre, 0.0, np.sqrt(1 + width**2))
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_mean_of_step_is_a_probability():
    """E[1[f < c]] smoothed by a Gaussian of width w is Φ((c − m)/√(v + w²))."""
    centre, width = np.array([0.0, 2.0, -1.0, 0.3]), np.array([1e-6, 0.3, 5.0, 1.0])
    mean, std = np.array([0.5, 0.0, 1.0, 0.3]), np.array([1.0, 2.0, 0.1, 0.0])

    def falling(rows, f):
        return special.ndtr((centre[rows] - f) / width[rows])

    edges = centre - 8 * width, centre + 8 * width
    found = mean_of_step(falling, *edges, mean, std, True)
    expected = special.ndtr((centre - mean) / np.sqrt(std**2 + width**2))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    rising = mean_of_step(lambda rows, f: 1 - falling(rows, f), *edges, mean, std, False)
    np.testing.assert_allclose(rising, 1 - expected, atol=1e-10)


@pytest.mark.parametrize("log_rate", [37.0, 60.0, 290.0])
def test_quantiles_beyond_whole_floats_are_those_of_the_distribution(log_rate):
    likelihood = NegativeBinomialExp(0.5)
    p, usual = (predict(likelihood, [centre], [0.5]) for centre in (log_rate, 30.0))
    levels = (0.05, 0.5, 0.95)
    scaled = p.quantile(levels) / np.exp(log_rate)
    np.testing.assert_allclose(scaled, usual.quantile(levels) / np.exp(30.0), rtol=1e-6)
