"""Deep models: one layer is a sparse GP, layers compose as written, rows are independent."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from directgp.divergences import KL, PerLayer, Renyi, WhitenedGaussian
from directgp.expectations import ClosedForm
from directgp.kernels import RBF, Matern52
from directgp.likelihoods import Gaussian
from directgp.losses import Direct, LogLoss
from directgp.models import Independent, LinearMean, SparseGP, ZeroMean, deep_gp, deep_sigma_points
from directgp.objective import Batch, Objective
from directgp.parameters import split_trainable, unwrap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(6, 3))
KEY = jax.random.key(3)


def layer(inputs, outputs, seed=0, mean_field=True, size=4, linear=True, spread=0.5):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=(outputs, size))
    if mean_field:
        scale = spread * np.exp(0.3 * rng.normal(size=(outputs, size)))
    else:
        scale = 0.2 * np.tril(rng.normal(size=(outputs, size, size)), -1) + spread * np.eye(size)
    return SparseGP(
        RBF(0.7, np.linspace(0.8, 1.3, inputs)),
        jnp.asarray(rng.normal(size=(size, inputs))),
        WhitenedGaussian.from_moments(jnp.asarray(mean), jnp.asarray(scale)),
        LinearMean(rng.normal(size=(inputs, outputs))) if linear else ZeroMean(),
    )


def two_layers(mean_field=True):
    return layer(3, 2, 1, mean_field), layer(2, 1, 2, mean_field, linear=False)


@eqx.filter_jit
def marginals(model, X, key=None):
    return model.condition().marginals(X, key)


def gaussian_at(model, X):
    q = marginals(model, jnp.asarray(X))
    return np.asarray(q.mean[0]), np.asarray(q.variance[0])


@pytest.mark.parametrize("make", [deep_gp, lambda layers: deep_sigma_points(layers, ())])
def test_one_layer_is_the_sparse_gp(make):
    only = layer(3, 2, 1)
    q = marginals(make((only,)), jnp.asarray(X))
    mean, variance = gaussian_at(only, X)
    np.testing.assert_array_equal(q.mean, mean[None])
    np.testing.assert_array_equal(q.variance, variance[None])
    np.testing.assert_array_equal(q.log_weights, [0.0])


@pytest.mark.parametrize("skip", [False, True])
def test_three_layers_are_composed_site_by_site(skip):
    extra = 3 if skip else 0
    layers = (layer(3, 2, 1), layer(2 + extra, 2, 2), layer(2 + extra, 1, 3, linear=False))
    model = deep_sigma_points(layers, (2, 2), sites=3, skip=skip)
    model = eqx.tree_at(lambda m: m.propagation.logits, model, jnp.asarray([0.3, -0.2, 0.9]))
    q = marginals(model, jnp.asarray(X))
    weights = np.exp([0.3, -0.2, 0.9])
    np.testing.assert_allclose(np.exp(q.log_weights), weights / weights.sum(), rtol=1e-12)
    for site in range(3):
        inputs = X
        for index in range(2):
            mean, variance = gaussian_at(layers[index], inputs)
            hidden = mean + np.asarray(model.propagation.points[index])[site] * np.sqrt(variance)
            inputs = np.concatenate([hidden, X], axis=1) if skip else hidden
        mean, variance = gaussian_at(layers[2], inputs)
        np.testing.assert_allclose(q.mean[site], mean, rtol=1e-9)
        np.testing.assert_allclose(q.variance[site], variance, rtol=1e-8)


def test_one_sigma_point_at_zero_plugs_the_mean_in():
    layers = two_layers()
    q = marginals(deep_sigma_points(layers, (2,), sites=1), jnp.asarray(X))
    mean, variance = gaussian_at(layers[1], gaussian_at(layers[0], X)[0])
    np.testing.assert_allclose(q.mean[0], mean, rtol=1e-10)
    np.testing.assert_allclose(q.variance[0], variance, rtol=1e-10)


def test_samples_agree_with_fine_quadrature():
    layers = (layer(3, 1, 1), layer(1, 1, 2, linear=False))
    rows = jnp.asarray(X[:2])

    def first_two(q):
        mean = q.average(q.mean[..., 0])
        return mean, q.average(q.variance[..., 0] + q.mean[..., 0] ** 2) - mean**2

    fine = deep_sigma_points(layers, (1,), sites=40, quadrature="gauss-hermite")
    expected = first_two(marginals(fine, rows))
    sampled = marginals(deep_gp(layers, samples=20_000), rows, KEY)
    for got, right in zip(first_two(sampled), expected, strict=True):
        np.testing.assert_allclose(got, right, atol=0.03)


def test_a_deep_gp_predicts_the_same_in_any_company():
    model = deep_gp(two_layers(), samples=2, predict_samples=7).for_prediction()
    together = marginals(model, jnp.asarray(X), KEY)
    assert together.mean.shape == (7, 6, 1)
    for chosen in ([4], [5, 0, 3]):
        part = marginals(model, jnp.asarray(X[chosen]), KEY)
        np.testing.assert_allclose(part.mean, together.mean[:, chosen], atol=1e-12)
        np.testing.assert_allclose(part.variance, together.variance[:, chosen], atol=1e-12)


def test_a_deep_gp_trains_with_noise_for_every_row():
    model = deep_gp(two_layers(), samples=2)
    same_row = jnp.tile(jnp.asarray(X[:1]), (5, 1))
    means = np.asarray(marginals(model, same_row, KEY).mean)
    assert len(np.unique(means)) == 10
    with pytest.raises(ValueError, match="pass key="):
        marginals(model, same_row)


def test_independent_outputs_are_their_parts():
    parts = (layer(3, 1, 1), layer(3, 1, 5))
    both = Independent(parts)
    mean, variance = gaussian_at(both, X)
    for column, part in enumerate(parts):
        own_mean, own_variance = gaussian_at(part, X)
        np.testing.assert_array_equal(mean[:, [column]], own_mean)
        np.testing.assert_array_equal(variance[:, [column]], own_variance)
    total = sum(KL()(part.posterior) for part in parts)
    assert len(both.posteriors) == 1
    np.testing.assert_allclose(KL()(both.posteriors[0]), total, rtol=1e-12)
    with pytest.raises(ValueError, match="equally many inducing inputs"):
        _ = Independent((layer(3, 1, 1), layer(3, 1, 1, size=5))).posteriors


def objective_value(model, beta=1.0, divergence=None, precision="float64"):
    objective = Objective(Direct(LogLoss()), divergence or KL(), ClosedForm(), precision)
    batch = Batch(jnp.asarray(X), jnp.asarray(np.sin(X[:, 0])), jnp.ones(6))
    return objective(
        model, Gaussian(), batch, beta=jnp.asarray(beta), num_data=jnp.asarray(6.0), key=KEY
    )


def test_every_layer_is_held_by_its_own_divergence_and_weight():
    model = deep_sigma_points(two_layers(), (2,), sites=2)
    first, second = model.posteriors
    _, parts = objective_value(model, [0.5, 2.0])
    np.testing.assert_allclose(parts.penalty, 0.5 * KL()(first) + 2.0 * KL()(second), rtol=1e-12)
    _, parts = objective_value(model, 3.0, PerLayer((KL(), Renyi(0.4))))
    expected = 3.0 * (KL()(first) + Renyi(0.4)(second))
    np.testing.assert_allclose(parts.penalty, expected, rtol=1e-12)


@pytest.mark.parametrize("mean_field", [False, True])
def test_gradient_against_finite_differences(mean_field):
    model = deep_sigma_points(two_layers(mean_field), (2,), sites=2)
    learned, fixed = split_trainable(model)
    flat, unflatten = ravel_pytree(learned)

    def value(flat):
        return objective_value(eqx.combine(unflatten(flat), fixed))[0]

    exact = jax.jit(jax.grad(value))(flat)
    rng, step = np.random.default_rng(1), 1e-6
    directions = jnp.asarray(rng.normal(size=(8, len(flat))))
    difference = jax.jit(lambda d: (value(flat + step * d) - value(flat - step * d)) / (2 * step))
    numeric = jax.lax.map(difference, directions)
    np.testing.assert_allclose(directions @ exact, numeric, rtol=1e-5, atol=1e-6)


def test_mixed_precision_is_close():
    model = deep_sigma_points(two_layers(), (2,), sites=2)
    learned, fixed = split_trainable(model)

    def value(learned, precision):
        return objective_value(eqx.combine(learned, fixed), precision=precision)[0]

    both = [
        jax.jit(jax.value_and_grad(lambda leaves, p=p: value(leaves, p)))(learned)
        for p in ("float64", "mixed")
    ]
    np.testing.assert_allclose(both[1][0], both[0][0], rtol=1e-4)
    for left, right in zip(jax.tree.leaves(both[1][1]), jax.tree.leaves(both[0][1]), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(left, right, rtol=1e-2, atol=1e-3 * np.abs(right).max())


def test_a_linear_mean_passes_the_input_on():
    model = SparseGP(
        Matern52(1.0, 1.0),
        jnp.zeros((1, 3)),
        WhitenedGaussian.prior(1, 3, True, 1e-3),
        LinearMean(np.eye(3)),
    )
    mean, _ = gaussian_at(model, X)
    np.testing.assert_allclose(mean, X, atol=1e-12)
    np.testing.assert_array_equal(unwrap(model.mean_function.bias), np.zeros(3))
