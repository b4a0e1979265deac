"""Predictive distributions: closed forms against numerical integration, extremes, identities."""

import inspect
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from directgp.predictive import GaussianMixture, Predictive, check_rows


def random_mixture(components=3, rows=8, seed=0, scale=1.0, weights_per_row=True):
    generator = np.random.default_rng(seed)
    logits = generator.normal(size=(components, rows) if weights_per_row else components)
    return GaussianMixture(
        scale * generator.normal(size=(components, rows)),
        (scale * generator.uniform(0.2, 2.0, size=(components, rows))) ** 2,
        logits - np.log(np.sum(np.exp(logits), axis=0)),
    )


def gaussian(mean, variance):
    return GaussianMixture(np.array([[mean]]), np.array([[variance]]), np.zeros(1))


class OnlyCdf(Predictive):
    """The least a subclass must write, to test what the base class makes of it."""

    def __init__(self, distribution, rows):
        self.distribution, self.rows = distribution, rows

    @property
    def mean(self):
        return np.full(self.rows, self.distribution.mean())

    @property
    def variance(self):
        return np.full(self.rows, self.distribution.var())

    def log_prob(self, y):
        y = check_rows(y, self.rows)
        discrete = isinstance(self.distribution.dist, stats.rv_discrete)
        return self.distribution.logpmf(y) if discrete else self.distribution.logpdf(y)

    def cdf(self, y):
        return self.distribution.cdf(check_rows(y, self.rows))

    def sample(self, num_samples, seed):
        return self.distribution.rvs((num_samples, self.rows), random_state=seed)

    def __len__(self):
        return self.rows

    def _take(self, rows):
        return OnlyCdf(self.distribution, rows.size)


# Log scales from 1e-12 to 1e12, and weights down to e^-700.
scales = st.floats(-12, 12).map(lambda exponent: 10.0**exponent)
signed = st.tuples(st.sampled_from([-1.0, 1.0]), scales).map(lambda pair: pair[0] * pair[1])


@st.composite
def extreme_mixtures(draw):
    size = draw(st.integers(1, 4))
    vectors = [
        draw(st.lists(one, min_size=size, max_size=size))
        for one in (st.one_of(st.just(0.0), signed), scales, st.floats(-700, 0))
    ]
    means, stds, logits = (np.array(vector)[:, None] for vector in vectors)
    return GaussianMixture(means, stds**2, logits - np.logaddexp.reduce(logits, axis=0))


# Moments, density, cdf


def test_moments_equal_numerical_integration():
    p = random_mixture(components=4, rows=3)
    for n in range(3):
        row = p[n]

        def moment(g, row=row):
            return integrate.quad(
                lambda t: g(t) * np.exp(row.log_prob(t)[0]), -20, 20, epsabs=1e-12, limit=200
            )[0]

        mean = moment(lambda t: t)
        assert moment(lambda t: 1.0) == pytest.approx(1, abs=1e-9)
        assert mean == pytest.approx(row.mean[0], abs=1e-9)
        assert moment(lambda t, mean=mean: (t - mean) ** 2) == pytest.approx(
            row.variance[0], rel=1e-9
        )
    np.testing.assert_allclose(p.std, np.sqrt(p.variance))


def test_variance_keeps_its_digits_far_from_zero():
    p = GaussianMixture(np.full((3, 1), 1e12), np.full((3, 1), 1e-24), np.log([0.2, 0.3, 0.5]))
    assert p.mean[0] == 1e12
    assert p.variance[0] == pytest.approx(1e-24, rel=1e-12)


@pytest.mark.parametrize("y", [-1e3, -40.0, 0.0, 3.0, 1e3])
def test_log_prob_in_far_tails(y):
    assert gaussian(0.0, 1.0).log_prob(y)[0] == pytest.approx(
        -0.5 * y**2 - 0.5 * np.log(2 * np.pi), rel=1e-15
    )
    mixture = GaussianMixture(np.zeros((2, 1)), np.array([[1.0], [4.0]]), np.log([0.5, 0.5]))
    expected = np.logaddexp(*(np.log(0.5) + stats.norm.logpdf(y, 0, s) for s in (1.0, 2.0)))
    assert mixture.log_prob(y)[0] == pytest.approx(expected, rel=1e-14)


def test_cdf_survival_and_their_logs():
    p = random_mixture()
    y = np.linspace(-3, 3, len(p))
    np.testing.assert_allclose(p.cdf(y) + p.survival(y), 1, rtol=1e-14)
    np.testing.assert_allclose(np.log(p.cdf(y)), p.log_cdf(y), rtol=1e-12)
    np.testing.assert_allclose(np.log(p.survival(y)), p.log_survival(y), rtol=1e-12)
    np.testing.assert_allclose(p.cdf(1.0), p.cdf(np.ones(len(p))))
    assert gaussian(0.0, 1.0).survival(20.0)[0] == pytest.approx(stats.norm.sf(20), rel=1e-12)
    assert gaussian(0.0, 1.0).log_cdf(-1e3)[0] == pytest.approx(stats.norm.logcdf(-1e3), rel=1e-13)
    np.testing.assert_allclose(p.cdf(np.inf), 1, rtol=1e-15)
    assert np.all(p.cdf(-np.inf) == 0)
    assert np.all(p.log_prob(np.inf) == -np.inf)


# Quantiles


def test_one_component_quantile_is_exact():
    p = gaussian(3.0, 4.0)
    levels = np.array([1e-300, 1e-9, 0.05, 0.5, 0.975, 1 - 1e-12])
    np.testing.assert_allclose(
        p.quantile(levels)[0], 3 + 2 * stats.norm.ppf(levels), rtol=1e-14, atol=0
    )


def test_mixture_quantile_inverts_the_cdf():
    p = random_mixture(components=5, rows=50)
    levels = np.array([1e-300, 1e-12, 1e-3, 0.05, 0.3, 0.5, 0.7, 0.95, 1 - 1e-3, 1 - 1e-12])
    quantiles = p.quantile(levels)
    assert quantiles.shape == (50, 10)
    for level, column in zip(levels, quantiles.T, strict=True):
        if level <= 0.5:
            np.testing.assert_allclose(p.log_cdf(column), np.log(level), rtol=1e-12)
        else:
            np.testing.assert_allclose(p.survival(column), 1 - level, rtol=1e-11)
    assert np.all(np.diff(quantiles, axis=1) > 0)


def test_mixture_quantile_against_numerical_integration():
    p = random_mixture(components=3, rows=4)
    for n, upper in enumerate(p.quantile(0.8)):
        mass = integrate.quad(
            lambda t, n=n: np.exp(p[n].log_prob(t)[0]), -np.inf, upper, epsabs=1e-12
        )[0]
        assert mass == pytest.approx(0.8, abs=1e-9)


@settings(max_examples=150)
@given(extreme_mixtures(), st.floats(1e-12, 1 - 1e-12))
def test_quantile_at_extreme_scales(p, level):
    quantile = p.quantile(level)
    assert np.isfinite(quantile[0])
    # A float next to the answer on either side brackets the level, whatever the conditioning.
    slack = 1e-12 * np.abs(quantile) + 1e-300
    assert p.cdf(quantile - slack)[0] <= level + 1e-9 * min(level, 1 - level) + 1e-15
    assert p.survival(quantile + slack)[0] <= 1 - level + 1e-9 * min(level, 1 - level) + 1e-15


def test_median_and_interval():
    p = random_mixture()
    lower, upper = p.interval(0.8)
    np.testing.assert_allclose(p.cdf(lower), 0.1, rtol=1e-12)
    np.testing.assert_allclose(p.survival(upper), 0.1, rtol=1e-12)
    np.testing.assert_allclose(p.cdf(p.median), 0.5, rtol=1e-12)
    assert np.all((lower < p.median) & (p.median < upper))


# CRPS


def crps_by_quadrature(p, y):
    """∫ (F − 1[y ≤ t])² dt for one row, split where the cdf bends."""
    edges = np.unique(np.concatenate([p.quantile([1e-14, 0.01, 0.5, 0.99, 1 - 1e-14])[0], [y]]))
    total = 0.0
    for left, right in itertools.pairwise(edges):
        side = p.cdf if right <= y else p.survival
        total += integrate.quad(
            lambda t, side=side: side(t)[0] ** 2, left, right, epsabs=0, epsrel=1e-10, limit=500
        )[0]
    return total


@pytest.mark.parametrize("components", [1, 2, 5])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_mixture_crps_equals_numerical_integration(components, scale):
    p = random_mixture(components=components, rows=4, scale=scale)
    y = scale * np.array([-30.0, -0.5, 0.3, 4.0])
    expected = [crps_by_quadrature(p[n], y[n]) for n in range(4)]
    np.testing.assert_allclose(p.crps(y), expected, rtol=1e-8)


def test_general_crps_equals_closed_form():
    p = random_mixture(components=3, rows=40)
    y = np.linspace(-6, 6, 40)
    np.testing.assert_allclose(Predictive.crps(p, y), p.crps(y), rtol=1e-5)
    one = random_mixture(components=1, rows=40)
    np.testing.assert_allclose(Predictive.crps(one, 1e6 * y), one.crps(1e6 * y), rtol=1e-12)


@settings(max_examples=150)
@given(extreme_mixtures(), signed)
def test_crps_at_extreme_scales(p, y):
    score = p.crps(y)[0]
    assert np.isfinite(score) and score >= 0
    # CRPS is at most E|Y − y|, and E|Y − y| is at most √E(Y − y)².
    assert score <= np.hypot(p.std[0], p.mean[0] - y) * (1 + 1e-12)


def test_everything_is_finite_without_warnings_at_extremes():
    p = GaussianMixture(
        np.array([[1e12, 0.0], [-1e12, 1e-12]]),
        np.array([[1e-24, 1e24], [1e24, 1e-24]]),
        np.array([[-700.0, 0.0], [0.0, -np.inf]]),
    )
    with np.errstate(all="raise", under="ignore"):
        values = [p.mean, p.variance, p.crps(0.0), p.cdf(0.0), p.quantile([0.01, 0.99])]
    assert all(np.all(np.isfinite(value)) for value in values)
    assert np.all(p.log_prob(1e12) < 0)


# Point masses and weights of zero


def test_point_mass():
    p = gaussian(2.0, 0.0)
    assert p.log_prob(2.0)[0] == np.inf and p.log_prob(2.1)[0] == -np.inf
    assert [p.cdf(y)[0] for y in (1.9, 2.0, 2.1)] == [0, 1, 1]
    assert [p.survival(y)[0] for y in (1.9, 2.0, 2.1)] == [1, 0, 0]
    assert p.crps(5.0)[0] == 3 and p.quantile(0.3)[0] == 2 and p.variance[0] == 0


def test_point_masses_in_a_mixture():
    p = GaussianMixture(
        np.array([[0.0], [1.0], [2.0]]), np.array([[0.0], [0.0], [1.0]]), np.log([0.25, 0.25, 0.5])
    )
    assert p.quantile([0.1, 0.2, 0.26, 0.4, 0.55])[0].tolist() == [0, 0, 0, 1, 1]
    assert p.cdf(p.quantile(0.3))[0] == pytest.approx(0.3, rel=1e-14)
    assert p.crps(0.7)[0] == pytest.approx(crps_by_quadrature(p, 0.7), rel=1e-6)
    assert p.log_prob(1.0)[0] == np.inf and np.isfinite(p.log_prob(1.5)[0])


def test_spike_narrower_than_the_spacing_of_floats():
    p = GaussianMixture(np.array([[1e12], [0.0]]), np.array([[1e-24], [1.0]]), np.log([0.5, 0.5]))
    np.testing.assert_allclose(
        p.quantile([0.1, 0.4, 0.6, 0.9])[0],
        [stats.norm.ppf(0.2), stats.norm.ppf(0.8), 1e12, 1e12],
        rtol=1e-12,
    )


def test_component_of_weight_zero_changes_nothing():
    one = random_mixture(components=2, rows=5, weights_per_row=False)
    ghost = GaussianMixture(
        np.vstack([one.means, np.zeros((1, 5))]),
        np.vstack([one.variances, np.zeros((1, 5))]),
        np.append(one.log_weights[:, 0], -np.inf),
    )
    y = np.zeros(5)
    for call in (
        lambda p: p.mean,
        lambda p: p.variance,
        lambda p: p.log_prob(y),
        lambda p: p.cdf(y),
        lambda p: p.crps(y),
        lambda p: p.quantile([0.01, 0.5, 0.9]),
    ):
        np.testing.assert_allclose(call(ghost), call(one), rtol=1e-12)
    draws = ghost.sample(1000, seed=0)
    assert not np.any(draws == 0)


# Units, rows, samples


@pytest.mark.parametrize(("scale", "shift"), [(2.5, -1.0), (-3.0, 10.0), (1e-6, 1.0), (1e6, 0.0)])
def test_affine_change_of_units(scale, shift):
    p = random_mixture()
    moved = p.affine(scale, shift)
    y = np.linspace(-2, 2, len(p))
    rtol = 1e-9
    np.testing.assert_allclose(moved.mean, scale * p.mean + shift, rtol=rtol)
    np.testing.assert_allclose(moved.std, abs(scale) * p.std, rtol=rtol)
    there = scale * y + shift
    np.testing.assert_allclose(moved.log_prob(there), p.log_prob(y) - np.log(abs(scale)), rtol=rtol)
    np.testing.assert_allclose(moved.crps(there), abs(scale) * p.crps(y), rtol=rtol)
    level = 0.2 if scale > 0 else 0.8
    np.testing.assert_allclose(moved.quantile(0.2), scale * p.quantile(level) + shift, rtol=rtol)
    there_and_back = moved.affine(1 / scale, -shift / scale)
    np.testing.assert_allclose(there_and_back.means, p.means, rtol=1e-8)


@pytest.mark.parametrize("weights_per_row", [True, False])
def test_rows_do_not_depend_on_their_batch(weights_per_row):
    p = random_mixture(components=4, rows=9, weights_per_row=weights_per_row)
    y = np.linspace(-2, 2, 9)
    for rows in (slice(2, 5), np.array([7, 0, 7]), y > 0, [3], [], -1):
        part = p[rows]
        index = np.atleast_1d(np.arange(9)[np.array(rows, int) if isinstance(rows, list) else rows])
        chosen = y[index]
        assert len(part) == index.size
        for call in (
            lambda q, _: q.mean,
            lambda q, _: q.variance,
            lambda q, y: q.log_prob(y),
            lambda q, y: q.cdf(y),
            lambda q, y: q.crps(y),
            lambda q, _: q.quantile([0.05, 0.5, 0.95]),
        ):
            np.testing.assert_allclose(call(part, chosen), call(p, y)[index], rtol=1e-13)


def test_iteration_and_index_errors():
    p = random_mixture(rows=3)
    assert [len(row) for row in p] == [1, 1, 1]
    with pytest.raises(IndexError):
        p[3]
    with pytest.raises(IndexError, match="1-d"):
        p[np.zeros((2, 2), int)]


def test_samples_follow_the_cdf():
    p = random_mixture(components=3, rows=2)
    draws = p.sample(4000, seed=1)
    assert draws.shape == (4000, 2)
    for n in range(2):
        row = p[n]
        result = stats.kstest(
            draws[:, n], lambda t, row=row: row[np.zeros(t.size, int)].cdf(np.asarray(t))
        )
        assert result.pvalue > 1e-3
    assert abs(np.corrcoef(draws.T)[0, 1]) < 0.06


def test_samples_are_reproducible():
    p = random_mixture()
    np.testing.assert_array_equal(p.sample(10, seed=3), p.sample(10, seed=3))
    assert not np.array_equal(p.sample(10, seed=3), p.sample(10, seed=4))
    assert p.sample(0, seed=0).shape == (0, len(p))
    with pytest.raises(ValueError, match="num_samples"):
        p.sample(-1, seed=0)


def test_no_rows():
    p = random_mixture()[:0]
    assert len(p) == 0 and repr(p) == "GaussianMixture for 0 rows"
    empty = np.zeros(0)
    assert p.mean.shape == p.crps(empty).shape == p.log_prob(empty).shape == (0,)
    assert p.quantile([0.1, 0.9]).shape == (0, 2) and p.quantile([]).shape == (0, 0)


def test_repr_says_something():
    assert repr(gaussian(3.0, 4.0)) == "GaussianMixture for 1 row: mean 3, std 2"
    assert repr(random_mixture(rows=20)).startswith("GaussianMixture for 20 rows: mean ")


def test_parameters_are_read_only_copies():
    means = np.zeros((1, 2))
    p = GaussianMixture(means, np.ones((1, 2)), np.zeros(1))
    means[:] = 5
    assert p.mean.tolist() == [0, 0]
    with pytest.raises(ValueError, match="read-only"):
        p.means[0, 0] = 1


# The base class, for later likelihoods


@pytest.mark.parametrize(
    "distribution", [stats.norm(2, 3), stats.t(3, -1, 0.1), stats.gamma(2.5, scale=1e-9)]
)
def test_base_class_quantiles_of_continuous_distributions(distribution):
    p = OnlyCdf(distribution, 3)
    levels = [1e-9, 0.05, 0.5, 0.99]
    np.testing.assert_allclose(p.quantile(levels)[1], distribution.ppf(levels), rtol=1e-11)
    assert repr(p).startswith("OnlyCdf for 3 rows")
    assert p.survival(0.0).shape == (3,)


def test_base_class_crps_with_heavy_tails():
    distribution = stats.t(3)
    y = np.array([-50.0, 0.2, 1e4])

    def integrand(t, n):
        return (distribution.cdf(t) if t < y[n] else distribution.sf(t)) ** 2

    expected = [
        sum(
            integrate.quad(integrand, *limits, args=(n,), epsabs=0, epsrel=1e-11, limit=500)[0]
            for limits in ((-np.inf, y[n]), (y[n], np.inf))
        )
        for n in range(2)
    ]
    p = OnlyCdf(distribution, 3)
    np.testing.assert_allclose(p.crps(y)[:2], expected, rtol=1e-7)
    assert p.crps(y)[2] == pytest.approx(1e4, rel=1e-3)
    assert np.all(p.crps(np.inf) == np.inf)


def test_base_class_quantiles_of_counts_are_whole_numbers():
    distribution = stats.poisson(7.3)
    p = OnlyCdf(distribution, 2)
    levels = [1e-6, 0.1, 0.5, 0.9, 0.999]
    np.testing.assert_array_equal(p.quantile(levels)[0], distribution.ppf(levels))


def test_base_class_says_what_it_cannot_do():
    with pytest.raises(TypeError, match="OnlyCdf has no affine"):
        OnlyCdf(stats.norm(), 1).affine(2.0, 0.0)
    with pytest.raises(TypeError):
        Predictive()
    assert inspect.isabstract(Predictive) and not inspect.isabstract(GaussianMixture)


# Errors


@pytest.mark.parametrize(
    ("means", "variances", "log_weights", "message"),
    [
        (np.zeros(3), np.ones(3), np.zeros(1), r"means must be \[S N\]"),
        (np.zeros((0, 3)), np.ones((0, 3)), np.zeros(0), r"means must be \[S N\]"),
        (np.zeros((1, 3)), np.ones((1, 1)), np.zeros(1), "shape of means"),
        (np.zeros((2, 3)), np.ones((2, 3)), np.zeros(3), "log_weights must be"),
        (np.zeros((2, 3)), np.ones((2, 3)), np.zeros(2), "sum to 1 at each row, got a sum of 2"),
        (np.zeros((1, 3)), np.ones((1, 3)), np.full(1, np.nan), "sum to 1"),
        (np.zeros((1, 3)), np.ones((1, 3)), np.full(1, -np.inf), "sum to 1"),
        (np.full((1, 3), np.nan), np.ones((1, 3)), np.zeros(1), "means must be finite, got nan"),
        (np.zeros((1, 3)), -np.ones((1, 3)), np.zeros(1), "≥ 0, got -1.0"),
        (np.zeros((1, 3)), np.full((1, 3), np.inf), np.zeros(1), "variances must be finite"),
    ],
)
def test_bad_parameters(means, variances, log_weights, message):
    with pytest.raises(ValueError, match=message) as caught:
        GaussianMixture(means, variances, log_weights)
    assert "\n" not in str(caught.value)


def test_float32_weights_are_normalised():
    weights = np.log(np.full(7, 1 / 7, dtype=np.float32))
    p = GaussianMixture(np.zeros((7, 1)), np.ones((7, 1)), weights)
    assert np.sum(np.exp(p.log_weights)) == pytest.approx(1, abs=1e-15)


@pytest.mark.parametrize("method", ["log_prob", "cdf", "survival", "log_cdf", "crps"])
def test_y_is_never_broadcast(method):
    call = getattr(random_mixture(rows=3), method)
    for y in (np.zeros((3, 1)), np.zeros((1, 3)), np.zeros(4), np.zeros(1)):
        with pytest.raises(ValueError, match=r"y must have shape \(3,\)"):
            call(y)
    with pytest.raises(ValueError, match="NaN at 1 rows, first 2"):
        call(np.array([0.0, 1.0, np.nan]))
    with pytest.raises(TypeError, match="numbers"):
        call(np.array(["a", "b", "c"]))
    assert call(np.array([0, 1, 2])).shape == call([0, 1, 2]).shape == (3,)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 95.0, np.nan, [0.5, 1.0]])
def test_levels_lie_between_zero_and_one(level):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        random_mixture().quantile(level)
    if np.ndim(level) == 0:
        with pytest.raises(ValueError, match="coverage of an interval"):
            random_mixture().interval(level)


@pytest.mark.parametrize(
    ("scale", "shift"), [(0.0, 1.0), (np.nan, 0.0), (1.0, np.inf), (-1e200, 0.0)]
)
def test_bad_units(scale, shift):
    with pytest.raises(ValueError, match="scale must be below 1e"):
        random_mixture().affine(scale, shift)
    with pytest.raises(ValueError, match="1-d"):
        random_mixture().quantile(np.full((2, 2), 0.5))
