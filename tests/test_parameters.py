"""Parameters: constrained where they are used, and learned only where they are meant to be."""

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
    part,
    positive,
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
