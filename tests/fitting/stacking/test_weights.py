"""Weights of members are those that a grid or SciPy finds."""

import numpy as np
import pytest
from scipy.optimize import minimize

from directgp.fitting.stacking.weights import (
    crps_weights,
    log_loss_weights,
    mean_distance,
    quadratic_weights,
    square_loss_weights,
)
from directgp.predictive import GaussianMixture


def on_grid(points=101):
    """All weights of three members in steps of 1 %."""
    one, two = np.meshgrid(np.linspace(0, 1, points), np.linspace(0, 1, points))
    weights = np.stack([one.ravel(), two.ravel()], axis=1)
    weights = weights[weights.sum(axis=1) <= 1 + 1e-12]
    return np.column_stack([weights, np.maximum(1 - weights.sum(axis=1), 0.0)])


def by_scipy(objective, members):
    found = minimize(
        objective,
        np.full(members, 1 / members),
        method="SLSQP",
        bounds=[(0, 1)] * members,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return found.x


def members(rng, rows=60):
    """Means and deviations [K N] of three members, of which none is best everywhere."""
    y = rng.normal(size=rows)
    errors = np.array([0.5, 0.8, 0.6])[:, None] * rng.normal(size=(3, rows))
    return y, y + errors, np.array([0.5, 0.9, 0.3])[:, None] * np.ones((3, rows))


def log_densities(y, mean, deviation):
    z = (y - mean) / deviation
    return (-0.5 * z**2 - np.log(deviation) - 0.5 * np.log(2 * np.pi)).T


def test_weights_for_the_log_loss_are_those_of_a_grid(rng):
    y, mean, deviation = members(rng)
    logs, row_weight = log_densities(y, mean, deviation), rng.uniform(0.5, 2.0, 60)
    grid = on_grid()
    inside = grid[np.all(grid > 0, axis=1)]
    # With half a row for every member before any was seen.
    score = np.log(np.exp(logs) @ inside.T).T @ row_weight + 0.5 * np.log(inside).sum(axis=1)
    found = log_loss_weights(logs, row_weight)
    np.testing.assert_allclose(found, inside[np.argmax(score)], atol=0.011)
    np.testing.assert_allclose(found.sum(), 1.0)


def test_equal_members_share_and_a_bad_one_gets_little(rng):
    logs = np.tile(rng.normal(size=(40, 1)), (1, 3))
    np.testing.assert_allclose(log_loss_weights(logs, np.ones(40)), 1 / 3)
    logs[:, 2] -= 1e4  # so improbable that its density is 0
    found = log_loss_weights(logs, np.ones(40))
    np.testing.assert_allclose(found[:2], found[0])
    assert 0 < found[2] < 0.02


def test_row_weights_are_copies_of_rows(rng):
    y, mean, deviation = members(rng)
    logs, twice = log_densities(y, mean, deviation), np.repeat(np.arange(60), 2)
    np.testing.assert_allclose(
        log_loss_weights(logs, np.full(60, 2.0)),
        log_loss_weights(logs[twice], np.ones(120)),
        atol=1e-8,
    )


@pytest.mark.parametrize("seed", range(4))
def test_square_loss_weights_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    y, mean, _ = members(rng)
    row_weight = rng.uniform(0.5, 2.0, 60)
    found = square_loss_weights(mean.T, y, row_weight)

    def objective(w):
        return row_weight @ (y - w @ mean) ** 2 / row_weight.sum()

    np.testing.assert_allclose(found, by_scipy(objective, 3), atol=1e-4)
    assert np.all(found >= 0) and abs(found.sum() - 1) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_crps_weights_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    y, mean, deviation = members(rng)
    # The first member has two components, the others one.
    mean, deviation = np.vstack([mean[:1] - 0.2, mean]), np.vstack([deviation[:1], deviation])
    inner, owner = np.array([0.25, 0.75, 1.0, 1.0]), np.array([0, 0, 1, 2])
    row_weight = rng.uniform(0.5, 2.0, 60)
    found = crps_weights(mean, deviation, inner, owner, y, row_weight)

    def objective(w):
        with np.errstate(divide="ignore"):
            logs = np.log(np.maximum(w, 0)[owner] * inner)
        return row_weight @ GaussianMixture(mean, deviation**2, logs).crps(y) / row_weight.sum()

    np.testing.assert_allclose(found, by_scipy(objective, 3), atol=2e-3)
    assert objective(found) <= objective(by_scipy(objective, 3)) + 1e-9


def test_a_member_without_merit_gets_nothing(rng):
    y = rng.normal(size=50)
    mean = np.stack([y + 0.1 * rng.normal(size=50), y + 50.0])
    assert square_loss_weights(mean.T, y, np.ones(50)).tolist() == [1.0, 0.0]
    deviation = np.full((2, 50), 0.1)
    found = crps_weights(mean, deviation, np.ones(2), np.arange(2), y, np.ones(50))
    assert found.tolist() == [1.0, 0.0]


def test_a_quadratic_with_a_known_minimum():
    # ½ Σ a_k w_k² has its minimum at weights ∝ 1/a_k.
    found = quadratic_weights(np.zeros(3), np.diag([1.0, 2.0, 4.0]))
    np.testing.assert_allclose(found, np.array([4, 2, 1]) / 7, atol=1e-8)
    np.testing.assert_allclose(quadratic_weights(np.zeros(2), np.zeros((2, 2))), 0.5)


def test_the_mean_distance_by_sampling(rng):
    z = rng.normal(size=200_000)
    found = mean_distance(np.array([0.0, 0.7, -3.0]), np.array([1.0, 0.5, 2.0]))
    expected = [np.mean(np.abs(m + s * z)) for m, s in ((0.0, 1.0), (0.7, 0.5), (-3.0, 2.0))]
    np.testing.assert_allclose(found, expected, rtol=0.01)
