"""Sigma-point rules: exactness, mirrored points, how many components, and how they grow."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.models.sigma_point import Grid, rules
from directgp.parameters import split_trainable, unwrap

MEAN, DEVIATION = jnp.zeros((1, 1, 2)), jnp.ones((1, 1, 2))


def points_of(rule, mean=MEAN, deviation=DEVIATION, layer=0):
    """The inputs that a rule makes of standard normal outputs, and their weights."""
    return np.asarray(rule(layer, mean, deviation, None))[:, 0], np.exp(rule.log_weights)


def test_gauss_hermite_integrates_polynomials_exactly():
    points, weights = points_of(rules.create("gauss-hermite", 3, (2,), 0))
    np.testing.assert_allclose(sorted(set(points[:, 0].round(12))), [-(3**0.5), 0, 3**0.5])
    moments = {0: 1.0, 1: 0.0, 2: 1.0, 3: 0.0, 4: 3.0, 5: 0.0}
    for a, first in moments.items():
        for b, second in moments.items():
            value = weights @ (points[:, 0] ** a * points[:, 1] ** b)
            np.testing.assert_allclose(value, first * second, atol=1e-12)


def test_gauss_hermite_learns_nothing_and_the_others_do():
    learned = {
        name: sum(leaf.size for leaf in jax.tree.leaves(split_trainable(rule)[0]))
        for name in rules
        for rule in [rules.create(name, 3, (2,), 0)]
    }
    # Points: S × W, half of them free in QR2; weights: S^W for grids, S for QR3.
    assert learned == {"gauss-hermite": 0, "qr1": 6 + 9, "qr2": 2 + 9, "qr3": 6 + 3}


@pytest.mark.parametrize("sites", [2, 3, 4, 5])
def test_qr2_is_qr1_with_mirrored_points(sites):
    symmetric = rules.create("qr2", sites, (2,), 0)
    rng = np.random.default_rng(sites)
    half = jnp.asarray(rng.normal(size=(sites // 2, 2)))
    logits = jnp.asarray(rng.normal(size=sites**2))
    symmetric = eqx.tree_at(lambda r: (r.points, r.logits), symmetric, ((half,), logits))
    middle = np.zeros((sites % 2, 2))
    mirrored = np.concatenate([half, middle, -np.asarray(half)[::-1]])
    plain = Grid((jnp.asarray(mirrored),), logits)
    for left, right in zip(points_of(symmetric), points_of(plain), strict=True):
        np.testing.assert_array_equal(left, right)


def test_qr3_starts_standardised_and_keeps_the_number_of_components():
    rule = rules.create("qr3", 8, (3, 2), 0)
    for points in rule.points:
        np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose((points**2).mean(axis=0), 1.0, rtol=1e-12)
    first = rule(0, jnp.zeros((1, 5, 3)), jnp.ones((1, 5, 3)), None)
    second = rule(1, jnp.zeros((8, 5, 2)), jnp.ones((8, 5, 2)), None)
    assert first.shape == (8, 5, 3)
    np.testing.assert_array_equal(second[:, 0], rule.points[1])
    assert unwrap(rule.log_weights).shape == (8,)


def test_grids_grow_layer_by_layer_in_the_order_of_their_weights():
    rule = rules.create("gauss-hermite", 2, (1, 2), 0)
    assert rule.log_weights.shape == (8,)
    first = rule(0, jnp.zeros((1, 1, 1)), jnp.ones((1, 1, 1)), None)
    second = rule(1, jnp.tile(first, (1, 1, 2)), jnp.ones((2, 1, 2)), None)
    expected = [[a + b, a + c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    np.testing.assert_allclose(second[:, 0], expected, atol=1e-12)


def test_refusals_say_what_to_do():
    with pytest.raises(ValueError, match="make 6561 components, more than 2000; use quadrature="):
        rules.create("qr1", 3, (8,), 0)
    with pytest.raises(ValueError, match="at least 1 site, got 0"):
        rules.create("qr3", 0, (2,), 0)
    with pytest.raises(ValueError, match="unknown quadrature 'qr9'"):
        rules.create("qr9", 3, (2,), 0)
