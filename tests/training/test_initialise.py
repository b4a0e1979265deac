"""Where training starts: distinct inducing inputs, and length-scales in the units of the rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from directgp.training.initialise import default_num_inducing, inducing_inputs, typical_distance


@given(st.integers(1, 10**9))
def test_the_default_number_fits_the_rows(n):
    assert 1 <= default_num_inducing(n) <= min(n, 500)


@given(
    num_rows=st.integers(1, 80), number=st.integers(1, 30), levels=st.integers(1, 40),
    seed=st.integers(0, 3),
)  # fmt: skip
def test_inducing_inputs_are_distinct_and_within_the_rows(num_rows, number, levels, seed):
    # Warnings are errors: k-means must not complain about repeated rows either.
    X = np.random.default_rng(seed).integers(levels, size=(num_rows, 2)).astype(float)
    Z = inducing_inputs(X, number, seed)
    distinct = len(np.unique(X, axis=0))
    assert Z.shape == (min(number, distinct), 2)
    assert len(np.unique(Z, axis=0)) == len(Z)
    np.testing.assert_allclose(Z, np.clip(Z, X.min(axis=0), X.max(axis=0)), atol=1e-9)


def test_few_rows_are_all_used():
    X = np.array([[2.0], [1.0], [2.0], [5.0]])
    np.testing.assert_array_equal(inducing_inputs(X, 10, 0), [[1.0], [2.0], [5.0]])


def test_clusters_are_found_and_the_seed_decides(rng):
    centres = np.array([[0.0, 0.0], [50.0, 0.0], [0.0, 50.0]])
    X = np.concatenate([centre + rng.normal(size=(500, 2)) for centre in centres])
    Z = inducing_inputs(X, 40, 0)
    np.testing.assert_array_equal(Z, inducing_inputs(X, 40, 0))
    assert not np.array_equal(Z, inducing_inputs(X, 40, 1))
    nearest = np.argmin(((Z[:, None] - centres) ** 2).sum(axis=-1), axis=1)
    assert (np.bincount(nearest, minlength=3) >= 8).all()


def test_many_rows_are_sampled(rng):
    X = rng.normal(size=(5000, 1))
    assert inducing_inputs(X, 4, 0).shape == (4, 1)


def test_no_inducing_points_is_an_error():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        inducing_inputs(np.ones((3, 1)), 0, 0)


def test_the_typical_distance_is_in_the_units_of_the_rows(rng):
    X = rng.normal(size=(500, 8))
    distance = typical_distance(X, 0)
    assert distance == pytest.approx(4.0, rel=0.1)  # √(2·8) for standard normal rows
    assert typical_distance(1e6 * X, 0) == pytest.approx(1e6 * distance)
    assert typical_distance(np.ones((10, 3)), 0) == 1.0
    assert typical_distance(np.ones((1, 3)), 0) == 1.0


def test_an_outlier_does_not_make_the_typical_distance_vanish(rng):
    X = np.r_[1e-9 * rng.normal(size=(50, 2)), [[1.0, 1.0]]]
    assert 1e-3 <= typical_distance(X, 0) < 1.0


def test_outliers_and_rounding_errors_do_not_decide_the_typical_distance(rng):
    X = np.r_[rng.normal(size=(200, 2)), [[1e8, 0.0]]]
    assert 1.0 < typical_distance(X, 0) < 2.0
    assert typical_distance(1e-15 * rng.normal(size=(50, 2)), 0) == 1.0


def test_rows_too_close_for_k_means_give_fewer_centres(rng):
    X = np.r_[1e-12 * rng.normal(size=(50, 2)) + 0.3, [[1e3, 1e3]]]
    Z = inducing_inputs(X, 10, 0)
    assert 2 <= len(np.unique(Z, axis=0)) == len(Z) <= 10
