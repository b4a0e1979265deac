"""Predictive Student-t's: against scipy and numerical integration, far out and at any noise."""

import numpy as np
import pytest
from scipy import integrate, stats

from directgp.predictive import GaussianMixture, Predictive, StudentTMixture


def single(mean, variance, scale, df):
    return StudentTMixture(np.array([[mean]]), np.array([[variance]]), np.zeros(1), scale, df)


def mixture(scale=0.4, df=4.0, components=3, rows=4):
    generator = np.random.default_rng(0)
    shape = (components, rows)
    weights = np.log(generator.dirichlet(np.ones(components)))
    return StudentTMixture(
        generator.normal(size=shape), generator.uniform(0, 2, shape), weights, scale, df
    )


@pytest.mark.parametrize("df", [1.2, 2.0, 4.0, 30.0, 500.0])
def test_without_latent_variance_it_is_scipys(df):
    p = single(1.0, 0.0, 0.3, df)
    t = stats.t(df, loc=1.0, scale=0.3)
    for y in (1.0, 1.4, -4.0, 300.0):
        assert p.log_prob(y)[0] == pytest.approx(t.logpdf(y), abs=1e-8)
        assert p.cdf(y)[0] == pytest.approx(t.cdf(y), rel=1e-6)
    assert p.survival(5.0)[0] == pytest.approx(t.sf(5.0), rel=1e-7)
    assert p.quantile(0.99)[0] == pytest.approx(t.ppf(0.99), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 3.0])
def test_density_equals_the_convolution_at_any_noise(scale):
    """Noise much narrower than the latent uncertainty: nodes over f would leave a comb."""
    p = single(0.5, 1.0, scale, 3.0)
    for y in (0.5, 0.77, 3.0):
        reference, _ = integrate.quad(
            lambda f, y=y: stats.norm.pdf(f, 0.5) * stats.t.pdf((y - f) / scale, 3.0) / scale,
            -9, 10, points=[y, y - 5 * scale, y + 5 * scale], limit=500, epsabs=1e-13,
        )  # fmt: skip
        assert np.exp(p.log_prob(y)[0]) == pytest.approx(reference, rel=1e-7)


def test_variance_is_infinite_where_it_is():
    assert np.isinf(single(0.0, 1.0, 1.0, 2.0).variance[0])
    assert single(0.0, 1.0, 1.0, 3.0).variance[0] == pytest.approx(4.0)
    assert single(2.0, 1.0, 1.0, 1.5).mean[0] == 2.0


def test_many_degrees_of_freedom_are_a_gaussian():
    p = mixture(df=3000.0)
    gaussian = GaussianMixture(p.means, p.variances + 0.16, np.broadcast_to(
        p._log_weights, p.means.shape))  # fmt: skip
    y = np.array([-1.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(p.log_prob(y), gaussian.log_prob(y), atol=2e-3)
    np.testing.assert_allclose(p.crps(y), gaussian.crps(y), rtol=2e-3)


@pytest.mark.parametrize("df", [1.3, 40.0])
def test_crps_equals_the_integral_of_the_cdf(df):
    p, y = mixture(df=df, components=2), np.array([-3.0, 0.0, 1.0, 30.0])
    np.testing.assert_allclose(p.crps(y), Predictive.crps(p, y), rtol=1e-6)
    assert np.isinf(p.crps(np.inf)).all()


def test_units_can_be_changed():
    p, y = mixture(), np.array([-1.0, 0.0, 1.0, 2.0])
    for scale in (3.0, -2.0):
        q = p.affine(scale, 7.0)
        np.testing.assert_allclose(q.mean, scale * p.mean + 7.0)
        np.testing.assert_allclose(q.std, abs(scale) * p.std)
        changed = q.log_prob(scale * y + 7.0)
        np.testing.assert_allclose(changed, p.log_prob(y) - np.log(abs(scale)), rtol=1e-10)
        np.testing.assert_allclose(q.crps(scale * y + 7.0), abs(scale) * p.crps(y), rtol=1e-10)


@pytest.mark.parametrize(("scale", "df"), [(0.0, 3.0), (np.nan, 3.0), (1.0, 1.0), (1.0, np.inf)])
def test_wrong_noise_is_refused(scale, df):
    with pytest.raises(ValueError, match="must be"):
        single(0.0, 1.0, scale, df)


@pytest.mark.parametrize("df", [1e3, 1e4, 1e6, 1e9, 1e13])
def test_any_number_of_degrees_of_freedom_takes_the_same_memory(df):
    p, t = single(1.0, 0.0, 0.3, df), stats.t(df)
    assert p._log_precisions.size < 1020
    for z in (0.0, 3.0, 40.0, 1500.0):
        expected = t.logpdf(z) - np.log(0.3)
        assert p.log_prob(1.0 + 0.3 * z)[0] == pytest.approx(expected, rel=1e-7)
    assert p.survival(1.0 + 0.3 * 6)[0] == pytest.approx(t.sf(6), rel=1e-6)
    wide = single(1.0, 0.5, 0.3, df)
    gaussian = GaussianMixture(wide.means, wide.variances + 0.09, np.zeros((1, 1)))
    for y in (1.0, 3.0):
        assert wide.crps(y)[0] == pytest.approx(gaussian.crps(y)[0], rel=0.2 / df + 1e-9)
