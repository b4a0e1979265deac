"""Parameters: constrained where they are used, and learned only where they are meant to be."""

import logging
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp.errors import DirectGPError
from directgp.parameters import (
    declared,
    float64,
    frozen,
    is_learned,
    lent,
    lower_triangular,
    on_device,
    part,
    positive,
    random_key,
    split_trainable,
    thawed,
    unwrap,
    with_value,
)


@pytest.mark.parametrize("minimum", [0.0, 1.0])
def test_positive_numbers_stay_above_their_minimum(minimum):
    parameter = positive([1.5, 20.0], minimum)
    np.testing.assert_allclose(unwrap(parameter), [1.5, 20.0], rtol=1e-14)
    moved, rest = split_trainable(parameter)
    lower = eqx.combine(jax.tree.map(lambda raw: raw - 100.0, moved), rest)
    assert np.all(unwrap(lower) >= minimum)
    np.testing.assert_allclose(unwrap(with_value(parameter, 3.0)), 3.0, rtol=1e-14)
    with pytest.raises(DirectGPError, match=f"above {minimum}"):
        positive(minimum, minimum)


def test_triangles_keep_their_diagonal_positive(rng):
    matrix = np.tril(rng.normal(size=(2, 3, 3)), -1) + np.diag([0.5, 1.0, 2.0])
    parameter = lower_triangular(jnp.asarray(matrix))
    np.testing.assert_allclose(unwrap(parameter), matrix, rtol=1e-14)
    traced = jax.jit(lambda value: unwrap(lower_triangular(value)))(jnp.asarray(matrix))
    np.testing.assert_allclose(traced, matrix, rtol=1e-12, atol=1e-15)
    with pytest.raises(DirectGPError, match="positive diagonal"):
        lower_triangular(jnp.asarray(-matrix))


def test_what_is_frozen_stays_so_and_what_is_lent_comes_back():
    learned, kept = positive(1.0), frozen(positive(2.0))
    assert is_learned(learned) and not is_learned(kept)
    away = lent((learned, kept))
    assert not is_learned(away)
    back = thawed(away)
    assert is_learned(back[0]) and not is_learned(back[1])
    moved, rest = split_trainable(back)
    np.testing.assert_allclose(unwrap(eqx.combine(moved, rest)[0]), 1.0)


class _Inner(eqx.Module):
    scale: Any = part(rate="fast", columns=True)


class _Outer(eqx.Module):
    parts: tuple[_Inner, ...] = part(rate="by part")


def test_fields_say_what_training_has_to_know():
    tree = _Outer((_Inner(jnp.ones(2)),))
    ((path, _),) = jax.tree_util.tree_flatten_with_path(tree)[0]
    outer, inner = declared(tree, path)
    assert outer["rate"] == "by part" and inner == {"rate": "fast", "columns": True}


def test_double_precision_whatever_the_caller_has():
    @float64
    def one():
        return jnp.ones(())

    with jax.enable_x64(False):
        assert one().dtype == jnp.float64 and jnp.ones(()).dtype == jnp.float32


def compiled(work: Callable[[], Any]) -> list[str]:
    """The names of the programs that JAX compiles while some work is done."""
    jax.clear_caches()
    found: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said = record.getMessage()
            if said.startswith("Compiling "):
                found.append(said.split()[1])

    logger, listener = logging.getLogger("jax._src.interpreters.pxla"), Listener()
    logger.addHandler(listener)
    try:
        with jax.log_compiles(True):
            work()
    finally:
        logger.removeHandler(listener)
    return found


@pytest.mark.parametrize("value", [3, 0.5, np.arange(7.0), [[1.0, 2.0]], np.float32(2.0)])
def test_numbers_of_the_host_become_arrays_of_jax(value):
    found, known = on_device(value), jnp.asarray(value)
    assert isinstance(found, jax.Array)
    assert found.dtype == known.dtype and np.array_equal(found, known)


def test_arrays_on_the_device_are_copies():
    numbers = np.zeros(4096)
    found = on_device(numbers)
    numbers[:] = 1.0
    assert not np.any(found)


def test_arrays_of_jax_stay_what_they_are():
    given = jnp.arange(3.0)
    assert on_device(given) is given
    assert on_device(given, np.float32).dtype == jnp.float32
    assert jax.jit(lambda x: on_device(x) + on_device(np.ones(3)))(given).tolist() == [1, 2, 3]


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 1, 2**32 + 5, -1])
@pytest.mark.parametrize("double", [True, False])
def test_keys_are_those_of_jax(seed, double):
    with jax.enable_x64(double):
        if not double and seed >= 2**32:
            return  # which JAX itself refuses
        found, known = random_key(seed), jax.random.key(seed)
    assert found.dtype == known.dtype
    assert np.array_equal(jax.random.key_data(found), jax.random.key_data(known))


def test_keys_of_another_kind_are_those_of_jax():
    with jax.default_prng_impl("rbg"):
        assert random_key(3).dtype == jax.random.key(3).dtype


def test_parameters_and_keys_are_made_without_compiling():
    def work():
        on_device(np.ones((3, 5)))
        random_key(11)
        positive(np.full(5, 0.7))
        lower_triangular(np.eye(6))

    assert compiled(work) == []
    assert "jit(stage)" in compiled(lambda: jnp.asarray(np.ones((3, 5))))
