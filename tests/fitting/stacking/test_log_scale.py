"""The local scale of errors is found where there is one, and stays near 1 where there is none."""

import numpy as np
from scipy import integrate, stats

from directgp.exact.folds_left_out import FoldsLeftOut
from directgp.exact.matern_linear import MaternLinear
from directgp.exact.regression import conditioned
from directgp.fitting.stacking.log_scale import _MEAN_LOG_SQUARE, LogScale, _log_squares
from directgp.fitting.stacking.regression import _errors_without


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


def test_neither_a_row_nor_what_it_does_to_its_neighbours_decides_on_its_scale(rng):
    X, one = np.linspace(-1.7, 1.7, 80)[:, None], np.ones(80)
    kernel = MaternLinear(np.array([-1.0, 0.0, -1.0]))
    y = np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=80)

    def scales(y):
        gp = conditioned(X, y, one, kernel, -4.0)
        errors = (y - gp.left_out.mean) / np.sqrt(gp.left_out.variance)
        logs, level = _log_squares(errors, one)
        scale = LogScale(conditioned(X, logs, one, kernel, 0.0), level)
        return scale.left_out[40], scale.held_out(_errors_without(errors, gp), 0)[40]

    usual, usual_aside = scales(y)
    spoilt, spoilt_aside = scales(np.where(np.arange(80) == 40, y + 5.0, y))
    assert spoilt > usual + 0.5
    np.testing.assert_allclose(spoilt_aside, usual_aside, rtol=1e-6)


def test_scales_without_a_fold_are_those_of_the_other_rows(rng):
    X, z, one = rng.normal(size=(60, 2)), rng.normal(size=60), np.ones(60)
    scale = LogScale.fit(X, z, one, 0)
    fold = np.random.default_rng(3).permutation(60) % 5
    aside = fold == 1
    logs, level = _log_squares(z[~aside], one[~aside])
    gp = scale.gp
    less = conditioned(X[~aside], logs, one[~aside], gp.kernel, gp.log_noise)
    mean = np.clip(less.predict(X[aside])[0], logs.min(), logs.max())
    expected = 0.5 * (mean * np.pi / np.sqrt(2) + level)
    found = scale.held_out(lambda aside: z[~aside], 3)
    np.testing.assert_allclose(found[aside], expected, rtol=1e-6)
    assert len(FoldsLeftOut.of(gp).others(aside).mean) == np.sum(~aside)


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
