"""Padding changes shapes and nothing else."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import directgp as dg
from directgp.divergences import WhitenedGaussian
from directgp.kernels import RBF, Linear, OnColumns
from directgp.likelihoods import Gaussian
from directgp.models import DecoupledGP, SparseGP
from directgp.models.means import ConstantMean, LinearMean
from directgp.parameters import frozen, unwrap
from directgp.training.loop import GP
from directgp.training.padding import padded_columns, padded_rows, with_columns
from tests.flat import flat


def sparse(kernel, columns, latents=1, **options):
    return SparseGP(kernel, jnp.ones((4, columns)), WhitenedGaussian.prior(4, latents), **options)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(1.0, [0.5, 2.0, 1.5, 0.7]),
        frozen(RBF(1.0, [0.5, 2.0, 1.5, 0.7])),
        Linear([1.0, 2.0, 3.0, 4.0]),
    ],
    ids=["RBF", "frozen RBF", "Linear"],
)
def test_added_columns_of_zeros_change_no_value_and_can_be_taken_away(kernel, rng):
    """The 4 inducing inputs, means and scales have an axis as long as there are columns."""
    gp = GP(sparse(kernel, 4, 4, mean_function=ConstantMean(np.ones(4))), Gaussian(0.1))
    wide = with_columns(gp, 4, 16)
    assert wide.model.inducing.shape == (4, 16)
    assert {np.shape(leaf) for leaf in jax.tree.leaves(wide.model.kernel)} == {(), (16,)}
    unchanged = [(m.posterior, m.mean_function) for m in (gp.model, wide.model)]
    for one, other in zip(*map(jax.tree.leaves, unchanged), strict=True):
        np.testing.assert_array_equal(one, other)
    X = jnp.asarray(rng.normal(size=(5, 4)))
    padded = jnp.pad(X, ((0, 0), (0, 12)))
    q, known = wide.model.condition().marginals(padded), gp.model.condition().marginals(X)
    np.testing.assert_allclose(q.variance, known.variance, rtol=1e-12)
    for one, other in zip(*map(jax.tree.leaves, (gp, with_columns(wide, 16, 4))), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_number_that_is_not_for_a_column_stays_as_it_is():
    """With one column, an axis of length 1 need not be that of the columns."""
    gp = GP(sparse(Linear([2.0], bias=[3.0]), 1), Gaussian(0.1))
    kernel = unwrap(with_columns(gp, 1, 16).model.kernel)
    assert kernel.variance.shape == (16,) and kernel.bias.shape == (1,)


def test_models_say_whether_they_may_be_padded():
    base = sparse(RBF(), 2)
    assert base.ignores_zero_columns
    assert not sparse(RBF() + Linear(), 2).ignores_zero_columns
    assert not sparse(OnColumns(RBF(), (0,)), 2).ignores_zero_columns
    assert not sparse(RBF(), 2, mean_function=LinearMean(np.ones((2, 1)))).ignores_zero_columns
    extra = jnp.ones((3, 2)), jnp.ones((1, 3))
    assert not DecoupledGP(base, *extra).ignores_zero_columns


@pytest.mark.parametrize("count", [2, 100, 128, 129, 256, 257, 353, 500, 513, 999, 1000])
def test_padded_rows_hold_all_rows_and_waste_little(count):
    size = padded_rows(count)
    assert size >= count and (count <= 256 or size <= 1.25 * count)
    assert padded_rows(size) == size


@pytest.mark.parametrize("count", [1, 4, 16, 17, 32, 33, 500])
def test_padded_columns_hold_all_columns(count):
    assert padded_columns(count) >= count and padded_columns(
        padded_columns(count)
    ) == padded_columns(count)


@pytest.mark.parametrize(
    "options", [{"beta": 0.5, "validation": 0.2}, {"loss": "direct-square", "beta": 1.0}], ids=str
)
def test_a_fit_is_the_same_with_and_without(options, rng, monkeypatch):
    X = rng.normal(size=(40, 3))
    y, weight = np.sin(X[:, 0]), rng.uniform(0.5, 2.0, size=40)
    settings = {
        "max_steps": 100,
        "num_inducing": 10,
        "sample_weight": weight,
        "beta": 0.5,
        **options,
    }
    with_padding = dg.fit(X, y, **flat(**settings))
    fitting = importlib.import_module("directgp.fitting.fit")  # where `fit` is a function too
    monkeypatch.setattr(fitting, "in_shared_size", lambda ready: ready)
    without = dg.fit(X, y, **flat(**settings))
    assert with_padding.gp.model.inducing.shape == without.gp.model.inducing.shape == (10, 3)
    for name in ("mean", "std"):
        np.testing.assert_allclose(
            getattr(with_padding.predict(X), name), getattr(without.predict(X), name), rtol=1e-6
        )
    np.testing.assert_allclose(
        with_padding.history["objective"], without.history["objective"], rtol=1e-8
    )
