"""Distributions of transformed variables: exact densities, and integrals against the density."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad

from directgp.predictive import GaussianMixture, LogWarp, Warped

WARP = LogWarp(0.5, 40.0)


@pytest.fixture
def base():
    means = np.log([[3.0, 30.0, 0.7], [6.0, 60.0, 0.4]])
    deviations = np.array([[0.2, 0.3, 0.5], [0.5, 0.8, 1.0]])
    return GaussianMixture(means, deviations**2, np.log([0.7, 0.3]))


def density(found, row, y):
    return float(np.exp(found[row].log_prob(y)[0]))


@pytest.mark.parametrize("y", [-30.0, 0.0, 0.5, 0.51, 7.0, 40.0, 41.0, 300.0])
def test_forward_and_backward_are_inverse_and_the_slope_is_the_derivative(y):
    at = np.array([y])
    np.testing.assert_allclose(WARP.backward(WARP.forward(at)), at, rtol=1e-12, atol=1e-12)
    step = 1e-6
    slope = (WARP.forward(at + step) - WARP.forward(at - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(WARP.log_slope(at)), slope, rtol=1e-5)


@pytest.mark.parametrize("row", [0, 1, 2])
def test_the_density_integrates_to_one_and_gives_mean_variance_and_crps(base, row):
    found = Warped(base, WARP)
    edges = [-60.0, 0.0, 0.5, 2.0, 5.0, 15.0, 40.0, 80.0, 300.0]

    def integral(function):
        pairs = itertools.pairwise(edges)
        return sum(quad(function, a, b, epsabs=1e-10, limit=200)[0] for a, b in pairs)

    assert integral(lambda y: density(found, row, y)) == pytest.approx(1.0, abs=1e-6)
    mean = integral(lambda y: y * density(found, row, y))
    assert found.mean[row] == pytest.approx(mean, rel=1e-3)
    variance = integral(lambda y: (y - mean) ** 2 * density(found, row, y))
    assert found.variance[row] == pytest.approx(variance, rel=1e-2)
    target = 6.0
    score = integral(lambda y: (found[row].cdf(y)[0] - (y >= target)) ** 2)
    assert found[row].crps(target)[0] == pytest.approx(score, rel=2e-3)


def test_inside_its_bounds_it_is_the_log_normal_distribution():
    base = GaussianMixture(np.zeros((1, 1)), np.full((1, 1), 0.09), np.zeros(1))
    found = Warped(base, LogWarp(1e-6, 1e6))
    assert found.mean[0] == pytest.approx(np.exp(0.045), rel=1e-9)
    assert found.variance[0] == pytest.approx(np.exp(0.09) * (np.exp(0.09) - 1), rel=1e-7)
    y = 1.7
    density = np.exp(-0.5 * (np.log(y) / 0.3) ** 2) / (y * 0.3 * np.sqrt(2 * np.pi))
    assert np.exp(found.log_prob(y)[0]) == pytest.approx(density, rel=1e-12)


def test_quantiles_invert_the_cdf_and_samples_follow_it(base):
    found = Warped(base, WARP)
    for level in (0.001, 0.3, 0.5, 0.95):
        np.testing.assert_allclose(found.cdf(found.quantile(level)), level, rtol=1e-9)
    np.testing.assert_allclose(found.cdf(5.0) + found.survival(5.0), 1.0, rtol=1e-12)
    draws = found.sample(20_000, seed=0)
    np.testing.assert_allclose(np.mean(draws < 5.0, axis=0), found.cdf(5.0), atol=0.012)


def test_rows_can_be_taken(base):
    found = Warped(base, WARP)
    np.testing.assert_array_equal(found[[2, 0]].mean, found.mean[[2, 0]])
    assert len(found[1]) == 1 and repr(found[1]).startswith("Warped for 1 row")
