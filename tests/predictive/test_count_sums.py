"""Sums over whole numbers and cdfs of counts: against brute force, and how much work they take."""

import numpy as np
import pytest

from directgp.likelihoods import (
    NegativeBinomialExp,
    NegativeBinomialSoftplus,
    PoissonExp,
    PoissonSoftplus,
)
from directgp.predictive import counts
from directgp.predictive.count_cdf import mean_cdf, stirling_error
from directgp.predictive.count_sums import sum_over_counts

FAMILIES = [
    PoissonExp(),
    PoissonSoftplus(),
    NegativeBinomialExp(0.01),
    NegativeBinomialExp(0.5),
    NegativeBinomialExp(5.0),
    NegativeBinomialSoftplus(0.5),
]


def predict(likelihood, mean, std):
    mean, variance = np.asarray(mean, float), np.asarray(std, float) ** 2
    shape = (*mean.shape, 1)
    return likelihood.predictive(
        mean.reshape(shape), variance.reshape(shape), np.full(len(mean), -np.log(len(mean)))
    )


@pytest.mark.parametrize("degree", [0, 1, 5, 31])
@pytest.mark.parametrize(("first", "stop"), [(0, 1), (3, 15), (0, 17), (100, 612), (7, 60_007)])
def test_polynomials_are_summed_exactly(degree, first, stop):
    """One rule of 16 nodes: 32 coefficients, whatever the number of terms."""
    centre, half = 0.5 * (first + stop - 1), 0.5 * (stop - first)

    def function(runs, k):
        return (0.5 * ((k - centre) / half + 1.0)) ** degree

    k = np.arange(first, stop, dtype=float)
    found = sum_over_counts(
        function, np.array([float(first)]), np.array([float(stop)]), np.array([1e40])
    )
    assert found[0] == pytest.approx(function(None, k).sum(), rel=1e-11)


def test_steps_are_found_and_split():
    """Two steps of very different widths in one run: no node falls into the first."""
    places = np.array([7.0, 98_700.0])

    def function(runs, k):
        return 0.5 * sum(
            1 / (1 + np.exp(-np.clip((k - c) / w, -500, 500)))
            for c, w in zip(places, (0.8, 1000.0), strict=True)
        )

    found = sum_over_counts(function, np.zeros(1), np.full(1, 2e5), np.full(1, 1e3))
    assert found[0] == pytest.approx(function(None, np.arange(200_000.0)).sum(), rel=1e-9)


def test_an_empty_run_is_zero():
    found = sum_over_counts(
        lambda runs, k: np.ones_like(k), np.ones(2), np.array([1.0, 4.0]), np.ones(2)
    )
    np.testing.assert_array_equal(found, [0.0, 3.0])


@pytest.mark.parametrize("likelihood", FAMILIES)
def test_cdfs_equal_dense_quadrature(likelihood):
    """At any rate, spread of f and count; a rule with one fixed range of f lost digits here."""
    generator = np.random.default_rng(0)
    mean, std = generator.uniform(-4, 9, 60), 10 ** generator.uniform(-4, 0.5, 60)
    p = predict(likelihood, mean[None], std[None])
    k = np.minimum(p.sample(1, seed=0)[0], 1e7)
    x = np.linspace(-10, 10, 40_001)
    weights = np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum()
    f = mean[:, None] + std[:, None] * x
    np.testing.assert_allclose(p.cdf(k), p.family.cdf(k[:, None], f) @ weights, atol=1e-9)
    np.testing.assert_allclose(p.survival(k), p.family.survival(k[:, None], f) @ weights, atol=1e-9)


@pytest.mark.parametrize("likelihood", FAMILIES)
def test_threshold_densities_are_derivatives_of_the_cdf(likelihood):
    family = predict(likelihood, [[0.0]], [[1.0]]).family
    k, x = np.array([0.0, 3.0, 80.0])[:, None], np.array([-0.3, 0.0, 0.2])
    ends = (family.cdf(k, family.latent((k + 1) * np.exp(x + h))) for h in (1e-5, -1e-5))
    upper, lower = ends
    density = np.exp(family.threshold_log_density(k, x))
    np.testing.assert_allclose(density, (lower - upper) / 2e-5, rtol=1e-6)
    curve = family.threshold_log_density(k[:, 0], np.full(3, 1e-3), relative=True)
    np.testing.assert_allclose(family.threshold_std(k[:, 0]), np.sqrt(-0.5e-6 / curve), rtol=1e-3)


@pytest.mark.parametrize("likelihood", FAMILIES)
@pytest.mark.parametrize(
    ("mean", "std"), [([[0.5]], [[0.4]]), ([[5.0]], [[0.3]]), ([[1.0], [6.0]], [[0.2], [0.01]])]
)
def test_scores_equal_brute_force(likelihood, mean, std):
    p = predict(likelihood, mean, std)
    k = np.arange(float(p.quantile(1 - 1e-9)[0]) + 1.0)
    if k.size > 40_000:  # the dispersion of 5 has a long tail, whose squares are below 1e-12
        k = np.arange(40_000.0)
    cdf = p[np.zeros(k.size, dtype=int)].cdf(k)
    for y in (0.0, p.median[0], p.quantile(0.99)[0]):
        exact = np.sum((cdf - (y <= k)) ** 2)
        assert p.crps(y)[0] == pytest.approx(exact, rel=1e-8)
    for level in (0.01, 0.3, 0.5, 0.95, 0.999):
        assert p.quantile(level)[0] == np.searchsorted(cdf, level)
    lower, upper = p.interval(0.9)
    assert (lower[0], upper[0]) == tuple(np.searchsorted(cdf, [0.05, 0.95]))


@pytest.mark.parametrize("likelihood", [PoissonExp(), NegativeBinomialExp(0.5)])
def test_the_work_does_not_grow_with_the_count(likelihood, monkeypatch):
    evaluations = []

    def counted(family, k, mean, std):
        evaluations.append(k.size)
        return mean_cdf(family, k, mean, std)

    monkeypatch.setattr(counts, "mean_cdf", counted)
    work = []
    for mean in (5.0, 9.0, 13.0):
        evaluations.clear()
        p = predict(likelihood, [[mean]], [[0.3]])
        p.crps(p.median)
        work.append(sum(evaluations))
    assert max(work) < 1.5 * min(work) and max(work) < 400


def test_far_tails_keep_their_digits():
    p = predict(PoissonExp(), [[3.0, 3.0]], [[0.3, 0.0]])
    f = 3.0 + 0.3 * np.linspace(-12, 12, 100_001)
    weights = np.exp(-0.5 * ((f - 3.0) / 0.3) ** 2)
    for y in (0.0, 150.0):
        below = weights @ p.family.cdf(np.full(f.size, y), f) / weights.sum()
        above = weights @ p.family.survival(np.full(f.size, y), f) / weights.sum()
        assert p.cdf(y)[0] == pytest.approx(below, rel=1e-8)
        assert p.survival(y)[0] == pytest.approx(above, rel=1e-8)
    assert p.survival(150.0)[0] < 1e-7


def test_stirling_error_is_that_of_log_gamma():
    exact = {1.0: 1.0 - 0.9189385332046727, 0.5: 0.5 - 0.5 * np.log(2.0), 1e3: 8.33333305556e-5}
    np.testing.assert_allclose(
        stirling_error(np.array(list(exact))), list(exact.values()), rtol=1e-9
    )
