"""`GPRegressor()` as it is: a stack of models that is saved, copied and weighted as others are."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import directgp as dg
from directgp.errors import DirectGPError
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking import FittedStack


def frame(rows=30, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=rows),
            "kind": rng.choice(["flat", "house"], rows),
            "age": np.where(np.arange(rows) % 7 == 3, np.nan, rng.uniform(0, 9, rows)),
        }
    )
    y = X["size"] + (X["kind"] == "house") + 0.1 * rng.normal(size=rows)
    return X, y.to_numpy()


@pytest.fixture(scope="module")
def model():
    return dg.GPRegressor().fit(*frame())


@pytest.fixture(scope="module")
def three():
    """With trees."""
    return dg.GPRegressor().fit(*frame(60))


def test_it_is_a_stack_that_predicts(three):
    X, y = frame(200, seed=1)
    assert isinstance(three.fitted_, FittedStack)
    names = [member.name for member in three.fitted_.members]
    assert names == ["exact GP", "mean", "trees", "trees + GP"]
    assert np.var(y - three.predict(X)) < 0.1 * np.var(y)
    mean, std = three.predict(X, return_std=True)
    assert np.mean(np.abs(y - mean) < 1.96 * std) > 0.85
    assert three.get_feature_names_in() == ["size", "kind", "age"]


@pytest.mark.parametrize("which", ["model", "three"])
def test_files_and_pickles_predict_the_same_to_the_last_bit(which, request, tmp_path):
    fitted = request.getfixturevalue(which)
    X, y = frame(20, seed=2)
    fitted.save(tmp_path / "model")
    for other in (dg.GPRegressor.load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        own, found = fitted.predict_distribution(X), other.predict_distribution(X)
        np.testing.assert_array_equal(found.log_prob(y), own.log_prob(y))
        assert other.get_params() == fitted.get_params()


def test_a_clone_learns_the_same(model):
    X, y = frame()
    again = clone(model).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert not hasattr(clone(model), "fitted_")


def test_quantiles_do_not_cross(three):
    X, _ = frame(50, seed=3)
    found = three.predict_distribution(X)
    levels = (0.01, 0.1, 0.5, 0.9, 0.99)
    quantiles = np.stack([found.quantile(level) for level in levels])
    assert np.all(np.diff(quantiles, axis=0) > 0)
    np.testing.assert_allclose(found.cdf(quantiles[3]), 0.9, atol=1e-9)


def test_what_cannot_go_on_from_a_stack_is_refused_in_a_line(model, tmp_path):
    X, y = frame()
    warm = clone(model).fit(X, y).set_params(warm_start=True)
    model.save(tmp_path / "model")  # without the rows it was trained on
    loaded = dg.GPRegressor.load(tmp_path / "model")
    for learn in (warm.fit, loaded.partial_fit):
        with pytest.raises(DirectGPError, match="layers=1") as caught:
            learn(X, y)
        assert "\n" not in str(caught.value)


def test_after_more_rows_one_gp_takes_the_place_of_a_stack(model):
    X, y = frame(12)
    learning = clone(model).fit(X, y)
    assert isinstance(learning.fitted_, FittedStack)
    learning.partial_fit(X, y)
    assert isinstance(learning.fitted_, FittedGP)
    assert np.all(np.isfinite(learning.predict(X)))


def test_who_asks_for_more_rows_from_the_start_gets_one_gp():
    X, y = frame(12)
    short = {"max_steps": 3, "num_inducing": 4, "beta": 1.0}
    assert isinstance(dg.GPRegressor(**short).partial_fit(X, y).fitted_, FittedGP)
    assert isinstance(dg.GPRegressor(warm_start=True, **short).fit(X, y).fitted_, FittedGP)
    assert isinstance(dg.GPRegressor(**short).fit(X, y).fitted_, FittedGP)


def test_a_row_of_weight_2_is_a_row_given_twice(model):
    X, y = frame()
    weight = np.where(np.arange(30) < 10, 2.0, 1.0)
    twice = np.repeat(np.arange(30), weight.astype(int))
    weighted = dg.GPRegressor().fit(X, y, sample_weight=weight).predict(X)
    # Filled in by means, ages differ in the last digit.
    copied = dg.GPRegressor().fit(X.iloc[twice], y[twice]).predict(X)
    np.testing.assert_allclose(weighted, copied, rtol=1e-3, atol=1e-4)
    assert np.max(np.abs(weighted - model.predict(X))) > 1e-3
    numbers = X[["size"]].to_numpy()
    weighted = dg.GPRegressor().fit(numbers, y, sample_weight=weight).predict(numbers)
    copied = dg.GPRegressor().fit(numbers[twice], y[twice]).predict(numbers)
    np.testing.assert_array_equal(weighted, copied)


def test_the_order_of_rows_does_not_matter(model):
    X, y = frame()
    order = np.random.default_rng(0).permutation(30)
    other = dg.GPRegressor().fit(X.iloc[order], y[order])
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", ["crps", "square", "pinball"])
def test_other_losses_have_stacks_of_their_own(loss):
    X, y = frame()
    fitted = dg.GPRegressor(loss=loss).fit(X, y).fitted_
    assert isinstance(fitted, FittedStack) and fitted.loss == loss


@pytest.mark.parametrize("rows", [2, 3, 5])
def test_few_rows(rows):
    X, y = frame(rows)
    found = dg.GPRegressor().fit(X, y).predict_distribution(X)
    assert np.all(np.isfinite(found.mean)) and np.all(found.std > 0)


@pytest.mark.float32_default
def test_numbers_are_float64_whatever_jax_does(model):
    X, _ = frame()
    again = dg.GPRegressor().fit(*frame())
    assert again.predict(X).dtype == np.float64
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
