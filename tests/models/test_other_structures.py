"""Decoupled, multi-output and feature models against the formulas of their docstrings."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.divergences import KL, PerLayer, WeightedKL, WhitenedGaussian
from directgp.expectations import ClosedForm
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian, GaussianOutputs
from directgp.losses import Direct, GammaLoss, Gibbs, Integrals, LogLoss
from directgp.marginals import Marginals
from directgp.models import MLP, DecoupledGP, MultiOutput, OnFeatures, SparseGP, deep_gp
from directgp.models.sparse_gp import JITTER
from directgp.objective import Objective
from directgp.parameters import unwrap

RNG = np.random.default_rng(0)
X = RNG.normal(size=(7, 2))


def sparse(latents=1, inputs=2, size=4):
    rng = np.random.default_rng(1)
    posterior = WhitenedGaussian.from_moments(
        jnp.asarray(rng.normal(size=(latents, size))),
        jnp.asarray(np.exp(0.3 * rng.normal(size=(latents, size)))),
    )
    return SparseGP(RBF(1.3, 0.9), jnp.asarray(rng.normal(size=(size, inputs))), posterior)


def at(model, X):
    q = _marginals(model, jnp.asarray(X))
    return np.asarray(q.mean[0]), np.asarray(q.variance[0])


@eqx.filter_jit
def _marginals(model, X):
    return model.condition().marginals(X)


def test_extra_inducing_inputs_add_an_independent_process_to_the_mean():
    base = sparse(2)
    extra, weights = RNG.normal(size=(3, 2)), RNG.normal(size=(2, 3))
    model = DecoupledGP(base, jnp.asarray(extra), jnp.asarray(weights))
    k, Z = base.kernel.matrix, unwrap(base.inducing)
    K = np.asarray(k(Z, Z)) + 1.3 * JITTER * np.eye(4)

    def left(A, B):
        across = np.asarray(k(jnp.asarray(A), Z)) @ np.linalg.solve(K, k(Z, jnp.asarray(B)))
        return np.asarray(k(jnp.asarray(A), jnp.asarray(B))) - across

    factor = np.linalg.cholesky(left(extra, extra) + 1.3 * JITTER * np.eye(3))
    added = left(X, extra) @ np.linalg.solve(factor.T, weights.T)
    mean, variance = at(model, X)
    base_mean, base_variance = at(base, X)
    np.testing.assert_allclose(mean, base_mean + added, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(variance, base_variance)
    penalty = sum(KL()(posterior) for posterior in model.posteriors)
    np.testing.assert_allclose(penalty, KL()(base.posterior) + 0.5 * np.sum(weights**2))


def test_a_decoupled_gp_is_one_layer_of_a_divergence():
    base = sparse(2)
    model = DecoupledGP(base, jnp.asarray(X[:3]), jnp.ones((2, 3)))
    each = KL()(base.posterior) + 3.0
    objective = Objective(Gibbs(LogLoss()), PerLayer((WeightedKL(0.5),)), ClosedForm())
    np.testing.assert_allclose(objective.penalty(model, jnp.asarray(3.0)), 6.0 * each)
    mixed = MultiOutput(model, jnp.ones((2, 2)), jnp.arange(2.0))
    mlp = OnFeatures(MLP.start(X, (4, 2), 0), model)
    for other in (mixed, mlp):
        np.testing.assert_allclose(objective.penalty(other, jnp.asarray([3.0])), 6.0 * each)
    deep = deep_gp((base, model))
    by_layer = Objective(Gibbs(LogLoss()), PerLayer((KL(), WeightedKL(0.5))), ClosedForm())
    total = by_layer.penalty(deep, jnp.asarray([1.0, 10.0]))
    np.testing.assert_allclose(total, KL()(base.posterior) + 20.0 * each)
    with pytest.raises(ValueError, match="PerLayer has 2 divergences for a model of 1 layers"):
        by_layer.penalty(model, jnp.asarray(1.0))


def test_extra_inputs_that_say_nothing_new_change_nothing():
    base = sparse()
    same = DecoupledGP(base, base.inducing, jnp.ones((1, 4)))
    np.testing.assert_allclose(at(same, X)[0], at(base, X)[0], atol=0.02)


def test_outputs_mix_the_latent_functions():
    base, mixing = sparse(3), RNG.normal(size=(2, 3))
    levels = jnp.asarray([-0.7, 1.2])
    number = np.array([0, 1, 1, 0, 0, 1, 0])
    rows = np.concatenate([X, np.asarray(levels)[number][:, None]], axis=1)
    model = MultiOutput(base, jnp.asarray(mixing), levels, with_number=True)
    mean, variance = at(model, rows)
    latent_mean, latent_variance = at(base, X)
    np.testing.assert_allclose(mean[:, 0], np.sum(mixing[number] * latent_mean, axis=1))
    np.testing.assert_allclose(
        variance[:, 0], np.sum(mixing[number] ** 2 * latent_variance, axis=1)
    )
    np.testing.assert_array_equal(mean[:, 1], number)
    np.testing.assert_array_equal(variance[:, 1], 0.0)


@pytest.mark.parametrize("loss", [Gibbs(LogLoss()), Direct(LogLoss()), Gibbs(GammaLoss(1.2))])
def test_every_output_has_its_own_noise(loss):
    noises = np.array([0.2, 0.9])
    likelihood = eqx.tree_at(lambda g: g.noise, GaussianOutputs(2), jnp.asarray(noises))
    rng = np.random.default_rng(3)
    y = jnp.asarray(rng.normal(size=4))
    mean, variance = rng.normal(size=(2, 4, 1)), rng.uniform(0.1, 1.0, size=(2, 4, 1))
    number = np.array([0, 1, 1, 0])
    numbers = np.broadcast_to(number[None, :, None].astype(float), mean.shape)
    log_weights = jnp.log(jnp.asarray([0.3, 0.7]))
    q = Marginals(
        jnp.asarray(np.concatenate([mean, numbers], axis=-1)),
        jnp.asarray(np.concatenate([variance, 0 * variance], axis=-1)),
        log_weights,
    )
    got = loss(likelihood, Integrals(y, q, ClosedForm(), None))
    for row, own in enumerate(number):
        part = Marginals(jnp.asarray(mean[:, [row]]), jnp.asarray(variance[:, [row]]), log_weights)
        alone = Integrals(y[row][None], part, ClosedForm(), None)
        np.testing.assert_allclose(got[row], loss(Gaussian(noises[own]), alone)[0], rtol=1e-10)
    predicted = likelihood.predictive(*(np.asarray(part) for part in jax.tree.leaves(q)))
    np.testing.assert_allclose(
        -np.asarray(predicted.log_prob(np.asarray(y))),
        Direct(LogLoss())(likelihood, Integrals(y, q, ClosedForm(), None)),
        rtol=1e-10,
    )


def test_a_network_comes_before_the_model():
    network = MLP.start(X, (5, 3), seed=0)
    features = np.asarray(network(jnp.asarray(X)))
    np.testing.assert_allclose(features.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.std(axis=0), 1.0, rtol=1e-12)
    (first, second), (bias, last_bias) = network.weights, network.biases
    by_hand = np.maximum(X @ np.asarray(first) + np.asarray(bias), 0) @ second + last_bias
    np.testing.assert_allclose(features, by_hand, rtol=1e-12)
    behind = sparse(1, inputs=3)
    for got, right in zip(at(OnFeatures(network, behind), X), at(behind, features), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-12)

    def total(network):
        q = OnFeatures(network, behind).condition().marginals(jnp.asarray(X))
        return jnp.sum(q.mean) + jnp.sum(q.variance)

    gradient = jax.jit(jax.grad(total))(network)
    assert all(np.any(np.asarray(leaf) != 0) for leaf in jax.tree.leaves(gradient)[:2])
    with pytest.raises(ValueError, match="needs widths ≥ 1"):
        MLP.start(X, (), seed=0)
