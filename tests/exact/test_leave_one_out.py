"""Leave-one-out in closed form is a refit without the row; losses are integrals of densities."""

import numpy as np
import pytest
from scipy import integrate, stats

from directgp.exact.leave_one_out import (
    leave_one_out,
    losses,
    pinball_loss,
    total_and_cotangent,
    usual_pinball_loss,
)

LOSSES = {name: losses.lookup(name) for name in losses} | {"one level": pinball_loss([0.8])}


def covariance(rng, rows=6):
    factor = rng.normal(size=(rows, rows))
    return factor @ factor.T + np.diag(rng.uniform(0.2, 1.0, rows))


def test_it_is_a_refit_without_the_row(rng):
    K, y = covariance(rng), rng.normal(size=6)
    inverse = np.linalg.inv(K)
    found = leave_one_out(y, inverse, inverse @ y)
    for row in range(6):
        others = np.arange(6) != row
        gain = np.linalg.solve(K[np.ix_(others, others)], K[others, row])
        np.testing.assert_allclose(found.mean[row], gain @ y[others], rtol=1e-8)
        np.testing.assert_allclose(found.variance[row], K[row, row] - gain @ K[others, row])


def test_the_log_loss_is_the_log_density(rng):
    error, deviation = rng.normal(size=5), rng.uniform(0.3, 2.0, 5)
    value, _, _ = losses.lookup("log")(error, deviation)
    np.testing.assert_allclose(value, -stats.norm.logpdf(error, scale=deviation))


def test_the_square_loss_is_half_the_squared_error(rng):
    error = rng.normal(size=5)
    value, _, _ = losses.lookup("square")(error, np.ones(5))
    np.testing.assert_allclose(value, 0.5 * error**2)


@pytest.mark.parametrize(("error", "deviation"), [(0.0, 1.0), (1.3, 0.4), (-2.0, 3.0)])
def test_crps_is_the_integral_of_squared_differences_of_distributions(error, deviation):
    def below(t):
        return stats.norm.cdf(t, scale=deviation) ** 2

    def above(t):
        return stats.norm.sf(t, scale=deviation) ** 2

    expected = integrate.quad(below, -np.inf, error)[0] + integrate.quad(above, error, np.inf)[0]
    value, _, _ = losses.lookup("crps")(np.array([error]), np.array([deviation]))
    np.testing.assert_allclose(value, expected, rtol=1e-7)


def test_pinball_by_its_definition(rng):
    error, deviation = rng.normal(size=9), rng.uniform(0.3, 2.0, 9)
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    each = []
    for level in levels:
        beyond = error - stats.norm.ppf(level, scale=deviation)
        each.append(np.maximum(level * beyond, (level - 1) * beyond))
    value, _, _ = usual_pinball_loss(error, deviation)
    np.testing.assert_allclose(value, np.mean(each, axis=0), rtol=1e-12)
    alone, _, _ = pinball_loss([0.25])(error, deviation)
    np.testing.assert_allclose(alone, each[1], rtol=1e-12)


def test_twice_the_mean_pinball_loss_over_all_levels_is_crps():
    error, deviation = np.array([0.7, -0.2]), np.array([1.1, 0.5])
    levels = ((np.arange(4000) + 0.5) / 4000).tolist()
    value, _, _ = pinball_loss(levels)(error, deviation)
    crps, _, _ = losses.lookup("crps")(error, deviation)
    np.testing.assert_allclose(2 * value, crps, rtol=1e-3)


@pytest.mark.parametrize("name", LOSSES)
def test_derivatives_of_rows(name, rng):
    loss, step = LOSSES[name], 1e-6
    error, deviation = rng.normal(size=20), rng.uniform(0.3, 2.0, 20)
    _, by_error, by_deviation = loss(error, deviation)
    moved = loss(error + step, deviation)[0] - loss(error - step, deviation)[0]
    np.testing.assert_allclose(by_error, moved / (2 * step), rtol=1e-5, atol=1e-8)
    moved = loss(error, deviation + step)[0] - loss(error, deviation - step)[0]
    np.testing.assert_allclose(by_deviation, moved / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", LOSSES)
def test_the_derivative_in_the_covariance(name, rng):
    loss, K, y = LOSSES[name], covariance(rng), rng.normal(size=6)
    weight = rng.uniform(0.5, 2.0, 6)

    def total(matrix):
        inverse = np.linalg.inv(matrix)
        return total_and_cotangent(loss, weight, inverse, inverse @ y)

    value, cotangent = total(K)
    left = leave_one_out(y, np.linalg.inv(K), np.linalg.solve(K, y))
    by_hand = loss(y - left.mean, np.sqrt(left.variance))[0]
    np.testing.assert_allclose(value, weight @ by_hand, rtol=1e-9)
    np.testing.assert_allclose(cotangent, cotangent.T, rtol=1e-8, atol=1e-12)
    step = 1e-6
    for i, j in ((0, 0), (3, 3), (0, 2), (4, 1)):
        move = np.zeros((6, 6))
        move[i, j] = move[j, i] = step
        slope = (total(K + move)[0] - total(K - move)[0]) / (2 * step)
        expected = cotangent[i, j] * (1.0 if i == j else 2.0)
        np.testing.assert_allclose(expected, slope, rtol=1e-4, atol=1e-6)
