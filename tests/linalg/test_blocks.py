"""Sums in blocks equal sums in one piece: values, gradients, padding, weights and keys."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import directgp.linalg.blocks as blocks_module
from directgp import objective as objective_module
from directgp.divergences import KL, WhitenedGaussian
from directgp.expectations import ClosedForm, MonteCarlo
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian
from directgp.linalg.blocks import blocked_sum, num_blocks, to_blocks
from directgp.losses import Direct, LogLoss
from directgp.models import SparseGP
from directgp.objective import Batch, Objective


@pytest.mark.parametrize("num_rows,block", [(1, 1), (1, 4), (7, 3), (8, 4), (9, 4), (3, 60)])
def test_blocks_hold_all_rows_and_zeros(num_rows, block):
    X, y = np.random.default_rng(0).normal(size=(num_rows, 2)), np.arange(1.0, num_rows + 1)
    X_blocks, y_blocks = to_blocks((jnp.asarray(X), jnp.asarray(y)), block)
    count = num_blocks(num_rows, block)
    rows = X_blocks.shape[1]
    assert X_blocks.shape == (count, rows, 2) and rows <= block
    assert num_rows <= count * rows < num_rows + count  # less than a row of padding a block
    np.testing.assert_array_equal(X_blocks.reshape(-1, 2)[:num_rows], X)
    assert not X_blocks.reshape(-1, 2)[num_rows:].any()
    assert not y_blocks.ravel()[num_rows:].any()


def test_a_blocked_sum_and_its_gradient_are_exact(rng):
    rows = jnp.asarray(rng.normal(size=(23, 3)))
    parameters = {"w": jnp.asarray(rng.normal(size=3)), "name": "fixed", "k": jnp.asarray(2)}

    def function(parameters, block):
        X, weight = block
        return jnp.sum(weight * jnp.tanh(X @ parameters["w"]) ** parameters["k"])

    def plain(w):
        return function(parameters | {"w": w}, (rows, jnp.ones(23)))

    def blocked(w):
        blocks = to_blocks((rows, jnp.ones(23)), 5)
        return 3.0 * blocked_sum(function, parameters | {"w": w}, blocks)

    value, gradient = jax.jit(jax.value_and_grad(plain))(parameters["w"])
    value_b, gradient_b = jax.jit(jax.value_and_grad(blocked))(parameters["w"])
    np.testing.assert_allclose(value_b, 3.0 * value, rtol=1e-13)
    np.testing.assert_allclose(gradient_b, 3.0 * gradient, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(blocked)(parameters["w"]), 3.0 * value, rtol=1e-13)


@pytest.fixture
def problem(rng):
    mean, scale = jnp.asarray(rng.normal(size=(1, 4))), 0.5 * jnp.eye(4)[None]
    model = SparseGP(
        RBF(lengthscale=[1.0, 2.0]), jnp.asarray(rng.normal(size=(4, 2))),
        WhitenedGaussian.from_moments(mean, scale),
    )  # fmt: skip
    weight = rng.uniform(size=22)
    weight[[0, 7, 21]] = 0.0
    batch = Batch(
        jnp.asarray(rng.normal(size=(22, 2))), jnp.asarray(rng.normal(size=22)), jnp.asarray(weight)
    )
    return (model, Gaussian(0.1)), batch


def value_and_gradient(expectation, parts, batch, key=None):
    objective = Objective(Direct(LogLoss()), KL(), expectation)

    @eqx.filter_jit
    @eqx.filter_value_and_grad
    def value(parts):
        return objective(*parts, batch, beta=jnp.asarray(0.7), num_data=jnp.asarray(50.0), key=key)[
            0
        ]

    result, gradient = value(parts)
    return float(result), jax.tree.leaves(gradient)


def test_the_objective_in_blocks_equals_the_objective(problem, monkeypatch):
    value, gradient = value_and_gradient(ClosedForm(), *problem)
    in_blocks(monkeypatch, 5)
    value_b, gradient_b = value_and_gradient(ClosedForm(), *problem)
    assert value_b == pytest.approx(value, rel=1e-12)
    for one, other in zip(gradient, gradient_b, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


def in_blocks(monkeypatch, block):
    monkeypatch.setattr(objective_module, "rows_a_block", lambda components: block)


def test_each_block_draws_its_own_samples(problem, monkeypatch):
    parts, batch = problem
    equal = jax.tree.map(lambda column: jnp.broadcast_to(column[1], column.shape), batch)
    in_blocks(monkeypatch, 11)
    key = jax.random.key(3)
    drawn = []

    def keep(function, parameters, blocks):
        jax.debug.callback(drawn.append, jax.random.key_data(blocks[1]))
        return blocked_sum(function, parameters, blocks)

    monkeypatch.setattr(blocks_module, "blocked_sum", keep)
    value_and_gradient(MonteCarlo(2), parts, equal, key)
    jax.effects_barrier()
    assert len(drawn[0]) == 2 and not np.array_equal(*drawn[0])


def test_a_row_of_weight_two_counts_twice_and_of_weight_zero_not_at_all(problem):
    parts, batch = problem
    rows = np.array([1, 1, 2, 3, 4])
    repeated = Batch(batch.X[rows], batch.y[rows], jnp.ones(5))
    weighted = Batch(batch.X[:5], batch.y[:5], jnp.asarray([0.0, 2.0, 1.0, 1.0, 1.0]))
    value, gradient = value_and_gradient(ClosedForm(), parts, repeated)
    value_w, gradient_w = value_and_gradient(ClosedForm(), parts, weighted)
    assert value_w == pytest.approx(value, rel=1e-12)
    for one, other in zip(gradient, gradient_w, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)
