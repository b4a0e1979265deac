"""Calibration: a member's deviations become those of its out-of-fold errors."""

import numpy as np
import pytest
from scipy import stats

from directgp.exact.regression import exact_regression
from directgp.fitting.stacking.log_scale import LogScale
from directgp.fitting.stacking.member import (
    ByGP,
    ByMean,
    ByTrees,
    ByTreesAndGP,
    Member,
    OutOfFold,
    calibrated,
)
from directgp.fitting.stacking.residual_shape import ResidualShape
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.tables import Standardiser

ZERO, ONE = np.zeros(1), np.zeros(1, np.int64)
STUMP = TreeEnsemble(np.array([0.5]), ONE, ONE, ZERO, ONE, ONE, np.array([0.25]))
"""A tree of a single leaf: 0.75 everywhere."""


def calibrate(error, deviation, scale=None, weight=None):
    rows = len(error)
    seen = OutOfFold(np.zeros(rows), np.full(rows, deviation))
    weight = np.ones(rows) if weight is None else weight
    return calibrated("trees", ByTrees(STUMP, deviation), seen, scale, error, weight), seen


@pytest.mark.parametrize("wrong", [0.1, 1.0, 20.0])
def test_deviations_that_are_wrong_by_a_factor_are_mended(wrong, rng):
    error = 0.3 * rng.normal(size=400)
    member, seen = calibrate(error, 0.3 * wrong)
    z = np.append(error / (0.3 * wrong), np.ones(3))  # and 3 rows as far off as it says
    _, _, size = stats.t.fit(z, fdf=4, floc=0)
    np.testing.assert_allclose(member.factor, size, rtol=1e-3)
    mean, deviation, weight = member.out_of_fold(seen)
    variance = weight @ (deviation**2 + mean**2) - (weight @ mean) ** 2
    np.testing.assert_allclose(np.sqrt(variance), 0.3, rtol=0.2)


def test_few_errors_are_little_evidence():
    error = np.array([5.0, -3.0, 4.0, 2.0])
    member, _ = calibrate(error, 1.0)
    _, _, size = stats.t.fit(np.append(error, np.ones(3)), fdf=4, floc=0)
    np.testing.assert_allclose(member.factor, size, rtol=1e-3)
    z = np.array([0.0, 1.0, 4.0])
    np.testing.assert_allclose(member.shape.log_density(z), stats.t(4).logpdf(z), atol=0.1)


def test_errors_of_0_with_a_weight_beyond_all_others_have_a_size_above_0():
    weight = np.where(np.arange(16) == 3, 1e12, 1.0)
    member, seen = calibrate(np.zeros(16), 3e-4, weight=weight)
    _, deviation, _ = member.out_of_fold(seen)
    assert np.isfinite(member.factor) and deviation.min() > 0.0


def test_an_outlier_moves_neither_the_mean_nor_the_spread_of_the_others(rng):
    error = np.append(rng.normal(size=60), 1e4)
    member, seen = calibrate(error, 1.0)
    mean, deviation, weight = member.out_of_fold(seen)
    assert abs(weight @ mean[:, 0]) < 0.5
    assert 0.5 < np.sort(deviation[:, 0])[1] < 2.0


def test_a_plain_member_has_the_same_tails_for_many_rows(rng):
    error = 1.0 / rng.normal(size=400)
    seen = OutOfFold(np.zeros(400), np.ones(400))
    own = calibrated("mean", ByMean(0.0, 1.0), seen, None, error, np.ones(400), plain=True)
    z = np.array([0.0, 1.0, 3.0])
    np.testing.assert_allclose(own.shape.log_density(z), stats.t(30).logpdf(z), atol=0.01)
    mean, deviation, _ = own.predict(np.zeros((2, 1)))
    assert np.all(mean == 0.0) and np.all(deviation[:, 0] == deviation[:, 1])
    assert own.hyperparameters(["x"], Standardiser(ZERO, ZERO + 1), 5.0) == {}


def test_a_local_scale_is_believed_where_it_helps_only(rng):
    X = rng.uniform(-1.7, 1.7, (300, 1))
    for local, strength in ((np.exp(X[:, 0]), 0.5), (np.ones(300), 0.0)):
        error = local * rng.normal(size=300)
        scale = LogScale.fit(X, error, np.ones(300), 0)
        member, seen = calibrate(error, 1.0, scale)
        plain, _ = calibrate(error, 1.0)
        if strength:
            assert member.strength >= strength and member.scale is scale
            deviation = member.predict(np.array([[-1.5], [1.5]])).deviation
            assert np.all(deviation[:, 1] > 3 * deviation[:, 0])
        else:
            assert np.std(np.log(member.out_of_fold(seen).deviation[0])) < 0.25
        assert plain.scale is None and plain.strength == 0.0


def test_a_row_of_weight_2_is_a_row_given_twice(rng):
    error = rng.normal(size=40)
    weight = np.where(error > 0, 2.0, 1.0)
    merged, _ = calibrate(error, 1.0, weight=weight)
    whole, _ = calibrate(np.concatenate([error, error[error > 0]]), 1.0)
    np.testing.assert_allclose(merged.factor, whole.factor)
    np.testing.assert_allclose(merged.shape.deviation, whole.shape.deviation, rtol=1e-6)


def test_components_are_the_shape_of_errors_around_the_mean():
    shape = ResidualShape(np.array([0.2, 0.8]), np.array([-1.0, 0.5]), np.array([2.0, 0.5]))
    member = Member("trees", ByTrees(STUMP, 3.0), None, 0.0, 2.0, shape)
    mean, deviation, weight = member.predict(np.zeros((2, 1)))
    np.testing.assert_allclose(mean[:, 0], [0.75 - 6.0, 0.75 + 3.0])
    np.testing.assert_allclose(deviation[:, 1], [12.0, 3.0])
    np.testing.assert_allclose(weight, [0.2, 0.8])


def test_the_gp_of_the_trees_errors_sees_their_prediction(rng):
    X = rng.normal(size=(20, 1))
    inputs = np.column_stack([X, np.full(20, (0.75 - 0.25) / 2.0)])
    gp = exact_regression(inputs, rng.normal(size=20), max_steps=3)
    mean, deviation = ByTreesAndGP(STUMP, 0.25, 2.0, 0.5, gp).predict(X)
    expected, variance = gp.predict(inputs)
    np.testing.assert_allclose(mean, 0.75 + 0.5 * expected)
    np.testing.assert_allclose(deviation, 0.5 * np.sqrt(variance))


def test_hyperparameters_are_in_the_units_of_the_data(rng):
    X = rng.normal(size=(20, 2))
    gp = exact_regression(X, X[:, 0], max_steps=3)
    inputs = Standardiser(np.zeros(2), np.array([10.0, 0.1]))
    noise = np.exp(0.5 * gp.log_noise)
    member = Member("exact GP", ByGP(gp), None, 0.0, 1.0, ResidualShape.gaussian())
    said = member.hyperparameters(["a", "b"], inputs, 5.0)
    lengthscales = np.exp(gp.kernel.log_parameters[:2])
    np.testing.assert_allclose(said["lengthscale"]["a"], 10 * lengthscales[0])
    np.testing.assert_allclose(said["lengthscale"]["b"], 0.1 * lengthscales[1])
    np.testing.assert_allclose(said["noise_std"], 5.0 * noise)
    errors = ByTreesAndGP(STUMP, 0.0, 1.0, 0.2, gp)  # its targets are errors / 0.2
    rest = Member("trees + GP", errors, None, 0.0, 1.0, ResidualShape.gaussian())
    np.testing.assert_allclose(
        rest.hyperparameters(["a"], Standardiser(ZERO, ZERO + 1), 5.0)["noise_std"], noise
    )
    trees = Member("trees", ByTrees(STUMP, 1.0), None, 0.0, 1.0, ResidualShape.gaussian())
    assert trees.hyperparameters(["a", "b"], inputs, 5.0) == {"trees": 1}
