"""Standardising: exact at any scale and shift, harmless for constant columns and far rows."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from directgp.tables import Standardiser, jax_memory, scaling


@given(exponent=st.integers(-250, 250), seed=st.integers(0, 20), sign=st.sampled_from([-1, 1]))
def test_any_scale_gives_the_same_standardised_values(exponent, seed, sign):
    values = np.random.default_rng(seed).normal(size=(30, 2)) + 0.5
    plain = Standardiser.fit(values).forward(values)
    factor = sign * 10.0**exponent
    scaled = Standardiser.fit(values * factor).forward(values * factor)
    np.testing.assert_allclose(scaled, sign * plain, rtol=1e-9, atol=1e-12)


def test_mean_zero_and_deviation_one(rng):
    values = rng.normal(3.0, [[1e-8, 1.0, 1e8]], size=(200, 3))
    scaled = Standardiser.fit(values).forward(values)
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0, rtol=1e-9)


@pytest.mark.parametrize("shift", [1e6, 1e9, 1e12])
def test_a_large_constant_part_does_not_hurt(rng, shift):
    values = shift + rng.normal(size=(200_000, 1))
    scaled = Standardiser.fit(values).forward(values)
    assert abs(scaled.mean()) < 1e-3 and abs(scaled.std() - 1.0) < 1e-3


@pytest.mark.parametrize("constant", [0.0, 0.1, -7.3, 1e12, 1e300, 1e-300])
def test_a_constant_column_gets_scale_one(constant):
    standardiser = Standardiser.fit(np.full((100_000, 2), constant))
    np.testing.assert_array_equal(standardiser.scale, 1.0)
    np.testing.assert_array_equal(standardiser.forward(np.full((1, 2), constant)), 0.0)


@pytest.mark.parametrize("constant", [0.1, -7.3, 1e9, 1e-9, 1e300, -1e-300, 0.0])
def test_a_constant_target_has_its_own_size_as_scale(constant):
    values = np.full((100_000, 1), constant)
    standardiser = Standardiser.of_targets(values)
    expected = np.clip(abs(constant), 1e-139, 1e139) if constant else 1.0
    np.testing.assert_allclose(standardiser.scale, expected, rtol=1e-12)
    np.testing.assert_array_equal(standardiser.forward(values[:2]), 0.0)
    running = scaling.RunningScale(values[:50])
    running.add(values)
    np.testing.assert_allclose(running.standardiser(targets=True).scale, expected, rtol=1e-12)


def test_targets_that_vary_are_scaled_as_usual(rng):
    values = rng.normal(3.0, 2.0, size=(50, 2))
    ours, usual = Standardiser.of_targets(values), Standardiser.fit(values)
    np.testing.assert_array_equal(ours.scale, usual.scale)
    np.testing.assert_array_equal(ours.shift, usual.shift)


def test_rounding_errors_are_not_information():
    values = np.array([[0.3], [0.1 + 0.2], [0.3]])
    assert Standardiser.fit(values).scale[0] == 1.0
    assert Standardiser.of_targets(values).scale[0] == pytest.approx(0.3)


def test_far_rows_stay_finite_when_squared():
    standardiser = Standardiser.fit(np.array([[0.0, 1e-200], [1.0, 2e-200]]))
    far = standardiser.forward(np.array([[1.7e308, -1.7e308]]))
    assert np.isfinite(far.astype(np.float32) ** 2).all() and (np.abs(far) > 1e9).all()


def test_pieces_are_one_table(rng, monkeypatch):
    values, weight = rng.normal(5.0, 3.0, size=(50, 2)), rng.uniform(0.1, 2.0, size=50)
    shares = weight / weight.sum()
    mean = shares @ values
    monkeypatch.setattr(scaling, "_PIECE", 7)
    ours = Standardiser.fit(values, weight)
    np.testing.assert_allclose(ours.shift, mean, rtol=1e-12)
    np.testing.assert_allclose(ours.scale, np.sqrt(shares @ (values - mean) ** 2), rtol=1e-12)


def test_scaled_rows_are_taken_over_without_a_copy(rng):
    values = rng.normal(size=(1001, 3))
    scaled = Standardiser.fit(values).forward(values)
    with jax.enable_x64(True):
        assert jax.device_put(scaled).unsafe_buffer_pointer() == scaled.ctypes.data


def test_rows_are_scaled_in_place_where_asked(rng):
    values = rng.normal(size=(20, 3))
    standardiser, copy = Standardiser.fit(values), values.copy()
    expected = standardiser.forward(values)
    np.testing.assert_array_equal(values, copy)
    assert standardiser.forward(values, out=values) is values
    np.testing.assert_array_equal(values, expected)


def test_the_number_of_blas_threads_makes_no_difference(rng):
    values, weight = rng.normal(size=(9000, 90)), rng.uniform(size=9000)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            found.append(Standardiser.fit(values, weight))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_column_too_small_to_scale_gets_scale_one():
    values = np.array([[5e-324], [-5e-324], [5e-324]])
    assert Standardiser.fit(values, np.array([1.0, 0.3, 0.5])).scale[0] > 0


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_are_taken_from_any_layout(rng, order, monkeypatch):
    monkeypatch.setattr(jax_memory, "_PIECE", 3)
    table, rows = (
        np.asarray(rng.normal(size=(20, 3)), order=order),
        np.array([4, 4, 19, 0, 7, 2, 3]),
    )
    np.testing.assert_array_equal(jax_memory.take_rows(table, rows), table[rows])


@pytest.mark.parametrize("far", [1e3, 1e4, -1e8, 1e300])
@pytest.mark.parametrize("count", [30, 500])
def test_an_outlier_does_not_decide_the_scale_of_inputs(rng, far, count):
    values = rng.normal(3.0, 2.0, size=(count, 3))
    values[7, 1] = far
    ours, usual = Standardiser.of_inputs(values), Standardiser.fit(values)
    assert ours.shift[1] == pytest.approx(3.0, abs=1.0) and ours.scale[1] == pytest.approx(2, 0.4)
    np.testing.assert_array_equal(ours.scale[[0, 2]], usual.scale[[0, 2]])
    np.testing.assert_array_equal(ours.shift[[0, 2]], usual.shift[[0, 2]])


def test_inputs_that_are_skewed_or_mostly_one_value_are_scaled_as_usual(rng):
    values = np.stack(
        [np.exp(2 * rng.normal(size=500)), rng.normal(size=500), rng.uniform(size=500) < 0.01],
        axis=1,
    )
    ours, usual = Standardiser.of_inputs(values), Standardiser.fit(values)
    np.testing.assert_array_equal(ours.scale, usual.scale)
    np.testing.assert_array_equal(ours.shift, usual.shift)


def test_far_inputs_are_as_far_as_a_kernel_can_tell():
    standardiser = Standardiser(np.array([1.0]), np.array([2.0]))
    far = standardiser.forward_inputs(np.array([[1.7e308], [-1e9], [5.0]]))
    np.testing.assert_array_equal(far, [[1000.0], [-1000.0], [2.0]])


def test_a_tenth_of_the_rows_is_a_part_of_the_data(rng):
    """Balances of both signs: most are small, a few in a hundred are not, and all are true."""
    values = rng.normal(size=(1000, 1))
    values[:80] = rng.uniform(1e4, 1e6, size=(80, 1)) * rng.choice([-1, 1], size=(80, 1))
    np.testing.assert_array_equal(
        Standardiser.of_inputs(values).scale, Standardiser.fit(values).scale
    )


def test_weights_are_copies_beside_outliers_too(rng):
    values = np.r_[rng.normal(size=(300, 1)), [[1e6]]]
    weight = np.r_[rng.integers(1, 4, size=300), 1].astype(float)
    copies = np.repeat(values, weight.astype(int), axis=0)
    ours, theirs = Standardiser.of_inputs(values, weight), Standardiser.of_inputs(copies)
    # A quantile on the border between two rows may fall on either side of it.
    np.testing.assert_allclose(ours.scale, theirs.scale, rtol=0.02)
    np.testing.assert_allclose(ours.shift, theirs.shift, atol=0.02)
    assert ours.scale[0] < 2


def test_light_rows_do_not_make_outliers_of_heavy_ones(rng):
    values = np.r_[rng.normal(-50, 1, size=(950, 1)), rng.normal(50, 1, size=(50, 1))]
    weight = np.r_[np.ones(950), np.full(50, 1000.0)]
    np.testing.assert_array_equal(
        Standardiser.of_inputs(values, weight).shift, Standardiser.fit(values, weight).shift
    )


def test_the_hour_of_the_day_does_not_decide(rng, monkeypatch):
    """Every n-th row of an hourly table is at midnight; the scale is that of the day."""
    monkeypatch.setattr(scaling, "_SAMPLE", 100)
    hours = np.arange(2400) % 24
    sun = 800 * np.clip(np.sin(np.pi * (hours - 6) / 12), 0, None) + 0.1 * rng.normal(size=2400)
    sun[77] = -9999999.0
    assert 100 < Standardiser.of_inputs(sun[:, None]).scale[0] < 1000


def test_columns_at_the_end_of_the_numbers_are_safe():
    values = 1.7e308 * np.linspace(-1, 1, 50)[:, None]
    assert np.isfinite(Standardiser.of_inputs(values).scale).all()
