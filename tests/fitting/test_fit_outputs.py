"""What `fit_outputs` gives to `fit`: scales, weights and noise of every output; nothing trains."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from directgp import Gaussian, GaussianOutputs, StudentT, fit_outputs
from directgp.likelihoods import for_outputs
from directgp.parameters import frozen, split_trainable, unwrap
from tests.flat import flat

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = np.stack([RNG.normal(size=40), 100.0 + 20.0 * RNG.normal(size=40)], axis=1)
Y[::3, 1] = np.nan


class Given(Exception):
    """The arguments of `fit`."""


def given(monkeypatch, *args, **options):
    def record(X, y, **kwargs):
        raise Given({"X": X, "y": y, **kwargs})

    monkeypatch.setattr("directgp.fitting.fit_outputs.fit", record)
    with pytest.raises(Given) as caught:
        fit_outputs(*args, **flat(**options))
    return caught.value.args[0]


def test_weights_are_repetitions_in_the_scales_too(monkeypatch):
    weight = np.tile([1.0, 2.0, 0.0, 3.0], 10)
    weighted = given(monkeypatch, X, Y, sample_weight=weight, beta=1.0)
    repeated = np.repeat(np.arange(40), weight.astype(int))
    plain = given(monkeypatch, X[repeated], Y[repeated], beta=1.0)
    for part in ("X", "y"):
        expected = np.repeat(weighted[part], weighted["sample_weight"].astype(int), axis=0)
        np.testing.assert_allclose(plain[part], expected, rtol=1e-10)
    assert plain["sample_weight"].tolist() == [1.0] * len(plain["y"])


def test_held_out_rows_keep_their_weights_and_those_of_none_are_not_among_them(monkeypatch):
    weight = np.where(np.arange(40) % 2, 0.0, np.arange(40) + 1.0)
    options = given(monkeypatch, X, Y, sample_weight=weight, validation=0.3)
    held = options["validation"]
    assert held.weight.min() > 0 and options["sample_weight"].min() > 0
    number = held.weight.astype(int) - 1
    np.testing.assert_array_equal(held.X[:, :2], X[number])
    assert not set(held.weight) & set(options["sample_weight"])
    pair = given(monkeypatch, X, Y, validation=(X[:5], Y[:5], np.arange(5.0)))["validation"]
    assert pair.weight.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]  # whole rows
    assert np.isnan(pair.y).tolist() == [[False, row % 3 == 0] for row in range(5)]


def test_an_output_of_rounding_errors_keeps_its_scale(monkeypatch):
    """The deviation of 0.1, 0.1, … is 1e-17, not 0."""
    constant = np.stack([Y[:, 0], np.full(40, 0.1)], axis=1)
    options = given(monkeypatch, X, constant, beta=1.0)
    np.testing.assert_allclose(options["y"][:, 1], 0.0, atol=1e-15)


def test_what_is_masked_was_not_measured(monkeypatch):
    masked = np.ma.array(np.nan_to_num(Y), mask=np.isnan(Y))
    usual, ours = (given(monkeypatch, X, values, beta=1.0) for values in (Y, masked))
    np.testing.assert_array_equal(ours["y"], usual["y"])
    with pytest.raises(ValueError, match=r"Y must be a table of numbers, got list \(row 0 has 1 "):
        fit_outputs(X[:2], [[1.0], [1.0, 2.0]])


def test_useless_outputs_are_refused_in_a_line():
    for value, row in ((np.inf, 7), (-np.inf, 2)):
        bad = Y.copy()
        bad[row, 0] = value
        with pytest.raises(ValueError, match=rf"Y has 1 infinite values \(first: row {row}, out"):
            fit_outputs(X, bad)
    with pytest.raises(ValueError, match=r"Y has 1 outputs, not 2"):
        fit_outputs(X, Y, validation=(X[:5], Y[:5, :1]))
    with pytest.raises(ValueError, match=r"outputs \[1\] of Y have no measured value"):
        fit_outputs(X, Y, sample_weight=np.isnan(Y[:, 1]) * 1.0)
    with pytest.raises(ValueError, match=r"outputs \[0, 1\] of Y have no measured value"):
        fit_outputs(X, np.full_like(Y, np.nan))


def test_the_noise_of_every_output_is_that_of_the_one_given(monkeypatch):
    """Its start, its lower limit, and whether it is learned."""
    own = given(monkeypatch, X, Y, likelihood=Gaussian(0.5, minimum=0.4), beta=1.0)["likelihood"]
    np.testing.assert_allclose(unwrap(own.noise), [0.5, 0.5])
    far_down = eqx.tree_at(lambda g: g.noise.args[0], own, jnp.full(2, -1e3))
    np.testing.assert_allclose(unwrap(far_down.noise), [0.4, 0.4])
    fixed = for_outputs(frozen(Gaussian(0.7)), 3)
    np.testing.assert_allclose(unwrap(fixed.noise), [0.7] * 3)
    assert [leaf.shape for leaf in _learned(own)] == [(2,)] and not _learned(fixed)
    assert isinstance(for_outputs(StudentT(), 3), StudentT)
    with pytest.raises(ValueError, match="not for 2 outputs; give GaussianOutputs"):
        for_outputs(GaussianOutputs(3), 2)


def _learned(likelihood):
    return jax.tree.leaves(split_trainable(likelihood)[0])


@pytest.mark.parametrize("noise", [jnp.asarray(0.1), np.float64(0.1), 0.1])
def test_a_number_of_any_kind_stays_positive(noise):
    raw = split_trainable(Gaussian(noise))[0].noise.args[0]
    assert float(raw) == pytest.approx(np.log(0.1 - 1e-6))


def test_noise_of_several_values_is_refused():
    with pytest.raises(ValueError, match=r"must be one number, got shape \(2,\); use Gaus"):
        Gaussian([0.1, 0.2])
