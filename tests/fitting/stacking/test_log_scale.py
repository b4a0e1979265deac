"""The local scale of errors is found where there is one, and stays near 1 where there is none."""

import numpy as np
from scipy import integrate, stats

from directgp.fitting.stacking.log_scale import _MEAN_LOG_SQUARE, LogScale


def test_the_mean_log_square_of_a_gaussian():
    found = integrate.quad(lambda z: 2 * stats.norm.pdf(z) * np.log(z**2), 0, np.inf)[0]
    np.testing.assert_allclose(found, _MEAN_LOG_SQUARE, rtol=1e-7)


def test_it_finds_where_errors_are_large(rng):
    X = rng.uniform(-1.7, 1.7, (400, 2))
    truth = 0.8 * X[:, 0]
    found = LogScale.fit(X, np.exp(truth) * rng.normal(size=400), np.ones(400), 0)
    assert np.corrcoef(found.left_out, truth)[0, 1] > 0.9
    new = np.array([[-1.5, 0.0], [0.0, 0.0], [1.5, 0.0]])
    np.testing.assert_allclose(found.predict(new), [-1.2, 0.0, 1.2], atol=0.4)


def test_errors_of_one_size_have_one_scale(rng):
    X = rng.normal(size=(300, 2))
    found = LogScale.fit(X, 3.0 * rng.normal(size=300), np.ones(300), 0)
    np.testing.assert_allclose(found.left_out.mean(), np.log(3.0), atol=0.15)
    assert np.std(found.left_out) < 0.2


def test_a_row_does_not_decide_on_its_own_scale(rng):
    X = np.linspace(-1.7, 1.7, 80)[:, None]
    z = rng.normal(size=80)
    usual = LogScale.fit(X, z, np.ones(80), 0)
    z[40] = 1e3
    spoilt = LogScale.fit(X, z, np.ones(80), 0)
    assert abs(spoilt.left_out[40] - usual.left_out[40]) < 0.5


def test_far_away_it_stays_near_what_was_seen(rng):
    X = rng.uniform(-1.7, 1.7, (100, 1))
    found = LogScale.fit(X, np.exp(X[:, 0]) * rng.normal(size=100), np.ones(100), 0)
    far = found.predict(np.array([[-30.0], [30.0]]))
    assert far[0] >= found.left_out.min() - 1.0 and far[1] <= found.left_out.max() + 1.0


def test_errors_that_are_0_give_finite_scales(rng):
    X = rng.normal(size=(60, 2))
    for z in (np.zeros(60), np.where(np.arange(60) < 30, 0.0, 1.0), np.full(60, 1e150)):
        found = LogScale.fit(X, z, np.ones(60), 0)
        assert np.all(np.isfinite(found.predict(X))) and np.all(np.isfinite(found.left_out))
