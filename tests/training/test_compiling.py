"""Compiled quickly or thoroughly: the same numbers, and a choice that no clock takes part in."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import fit
from directgp.divergences import WhitenedGaussian
from directgp.fitting.specs import Decoupled, Deep, Sparse, Training
from directgp.kernels import RBF
from directgp.likelihoods import Gaussian
from directgp.models import SparseGP
from directgp.training import budget, compiling
from directgp.training.budget import is_long
from directgp.training.compiling import compiled_at_once, compiled_quickly, quick_options
from directgp.training.loop import GP, Settings, run


@pytest.fixture
def fresh_options():
    quick_options.cache_clear()
    yield
    quick_options.cache_clear()


def test_this_xla_knows_the_options():
    assert {level: quick_options(level) for level in (0, 1)} == compiling._OPTIONS


def test_an_xla_that_does_not_know_them_is_not_told(fresh_options, monkeypatch):
    monkeypatch.setitem(compiling._OPTIONS, 1, {"xla_cpu_no_such_option": True})
    assert quick_options() == {}
    assert float(compiled_quickly(lambda x: 2.0 * x)(jnp.asarray(3.0))) == 6.0


def test_an_accelerator_is_not_told(fresh_options, monkeypatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert quick_options() == {}


def test_words_are_static_and_arrays_are_not():
    traced = []

    @compiled_quickly
    def power(x, name):
        traced.append(name)
        return x**2 if name == "square" else x**3

    numbers = [
        float(power(jnp.asarray(x), name)) for x in (2.0, 3.0) for name in ("square", "cube")
    ]
    assert numbers == [4.0, 8.0, 9.0, 27.0]
    assert traced == ["square", "cube"]


def test_both_ways_give_the_same_numbers(ridge):
    quick = Settings(60, None, chunk=20)
    one, other = (
        run(ridge.gp, ridge.objective, ridge.data, settings, beta=1.0)
        for settings in (quick, replace(quick, thorough=True))
    )
    np.testing.assert_allclose(one.gp.model, other.gp.model, rtol=1e-10)


def test_long_is_what_has_many_products():
    def gp(size):
        return GP(SparseGP(RBF(), jnp.zeros((size, 1)), WhitenedGaussian.prior(size)), Gaussian())

    settings = Settings(2000, 1000)
    assert not is_long(gp(200), settings, 10**6, 1.0)
    assert is_long(gp(200), settings, 10**6, 3.0)
    assert is_long(gp(500), settings, 10**6, 1.0)
    assert not is_long(gp(500), settings, 50, 1.0)  # a batch has no more rows than there are
    assert is_long(gp(200), replace(settings, batch_size=None), 10**5, 1.0)


def test_products_are_counted_once_for_all_outputs_and_only_where_they_are_made(rng):
    X, y = rng.normal(size=(600, 3)), rng.normal(size=600)

    def flops(spec):
        same = replace(spec, kernel="rbf", num_inducing=50)
        return budget._products(GP(same.initial_model(X, y, Gaussian(), 0), Gaussian()), 1000)

    one = 2.0 * 1000 * 50**2
    assert flops(Sparse()) == 3 * one
    assert flops(Sparse(mean_field=True)) == 3 * one
    assert flops(Decoupled(mean_inducing=200)) == 3 * one, "the mean's own have none"
    for width in (1, 3):  # the first layer sees the rows, the second its 8 sites
        assert flops(Deep(width=width)) == 3 * one * (1 + 8)


def test_a_fit_says_which(rng, monkeypatch):
    class Seen(Exception):
        pass

    def stop(*args, thorough, **rest):
        raise Seen(thorough)

    monkeypatch.setattr("directgp.training.loop.run_chunk", stop)
    X = rng.normal(size=(50, 1))
    for steps, expected in ((100, False), (10**6, True)):
        with pytest.raises(Seen, match=str(expected)):
            fit(
                X,
                X[:, 0],
                beta=1.0,
                model=Sparse(num_inducing=5),
                training=Training(max_steps=steps),
            )


def test_programs_are_forgotten_once_they_are_many(monkeypatch):
    forgotten = []
    monkeypatch.setattr(compiling, "MOST_PROGRAMS", 3)
    monkeypatch.setattr(compiling, "_programs", compiling._Programs())
    monkeypatch.setattr(jax, "clear_caches", lambda: forgotten.append(None))
    twice = compiled_at_once(lambda x: 2.0 * x)
    for size in (1, 2, 3, 3, 3):  # three programs; the fourth and fifth call are of the third
        assert np.array_equal(twice(jnp.ones(size)), np.full(size, 2.0))
    assert len(forgotten) == 1
    for size in (4, 5, 6):
        twice(jnp.ones(size))
    assert len(forgotten) == 1
    twice(jnp.ones(6))
    assert len(forgotten) == 2


def test_what_was_forgotten_is_made_again(monkeypatch):
    monkeypatch.setattr(compiling, "MOST_PROGRAMS", 1)
    monkeypatch.setattr(compiling, "_programs", compiling._Programs())
    traced = []

    def half(x):
        traced.append(x.shape)
        return 0.5 * x

    program = compiled_at_once(half)
    for size in (2, 3, 2):
        assert np.array_equal(program(jnp.ones(size)), np.full(size, 0.5))
    assert traced == [(2,), (3,), (2,)]
