"""`calibrate` of the estimators, and what uses it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from directgp import GPClassifier, GPRegressor, NewsvendorCost
from directgp.errors import DirectGPError
from directgp.persistence import DamagedModelFile, load, save

QUICK = {"beta": 1.0, "num_inducing": 5, "max_steps": 10}


def waves(count, seed):
    rng = np.random.default_rng(seed)
    side = rng.choice(["left", "right"], size=count)
    X = pd.DataFrame({"angle": rng.uniform(0, 3, size=count), "side": side})
    spread = np.where(side == "left", 0.1, 1.0)
    return X, np.sin(2 * X["angle"].to_numpy()) + spread * rng.normal(size=count)


@pytest.fixture(scope="module")
def fitted():
    return GPRegressor(**QUICK).fit(*waves(40, 0))


@pytest.fixture
def model(fitted, tmp_path):
    fitted.save(tmp_path / "plain.dgp")
    return GPRegressor.load(tmp_path / "plain.dgp")


@pytest.fixture(scope="module")
def fresh():
    return waves(199, 1)


def test_intervals_are_the_models_own_until_it_is_calibrated(model, fresh):
    X, y = fresh
    plain = model.predict_interval(X, 0.8)
    assert np.allclose(plain, model.predict_distribution(X).interval(0.8))
    assert model.calibrate(X, y) is model
    lower, upper = model.predict_interval(X, 0.8)
    assert np.sum((lower <= y) & (y <= upper)) == 160  # n + 1 − 200 · 0.2


def test_groups_by_a_column_of_the_table_cover_each_group(model, fresh):
    X, y = fresh
    model.calibrate(X, y, groups="side")
    new, truth = waves(2000, 2)
    lower, upper = model.predict_interval(new, 0.8)
    inside = (lower <= truth) & (truth <= upper)
    for side in ("left", "right"):
        own = (new["side"] == side).to_numpy()
        n = model.calibration_.rows[side]
        error = np.sqrt(0.8 * 0.2 * (1 / n + 1 / own.sum()))
        assert abs(inside[own].mean() - 0.8) < 4 * error
    labels = np.where(new["side"] == "left", "left", "nowhere")
    upper = model.predict_interval(new, 0.8, groups=labels)[1]
    assert np.array_equal(np.isposinf(upper), labels == "nowhere")


def test_decide_uses_the_calibrated_distribution(model, fresh):
    cost = NewsvendorCost(under=3, over=1)
    before = model.decide(fresh[0], cost).action
    model.calibrate(*fresh)
    after = model.decide(fresh[0], cost).action
    assert not np.allclose(before, after)
    assert np.mean(fresh[1] <= after) == pytest.approx(0.75, abs=0.03)


def test_a_saved_calibration_is_the_same_and_a_damaged_one_is_refused(model, fresh, tmp_path):
    model.calibrate(*fresh, groups="side").save(tmp_path / "model.dgp")
    again = GPRegressor.load(tmp_path / "model.dgp")
    assert np.array_equal(model.predict_interval(fresh[0]), again.predict_interval(fresh[0]))
    loaded = load(tmp_path / "model.dgp")
    state = loaded.extras["GPRegressor"]
    for wrong in ({"kind": "classes"}, {"groups": ["left"]}):
        state["calibration"] = model.calibration_.to_stored() | wrong
        save(loaded.fitted, tmp_path / "bad.dgp", extras=loaded.extras, features=loaded.features)
        with pytest.raises(DamagedModelFile, match="calibration"):
            GPRegressor.load(tmp_path / "bad.dgp")


def test_fitting_again_forgets_the_calibration(fresh):
    X, y = waves(30, 3)
    model = GPRegressor(**QUICK).fit(X, y).calibrate(*fresh)
    assert not hasattr(clone(model), "calibration_")
    model.partial_fit(*waves(5, 4))
    assert not hasattr(model, "calibration_")


def test_rows_of_training_are_refused(fitted):
    with pytest.raises(DirectGPError, match="40 of 40 rows are training rows"):
        fitted.calibrate(*waves(40, 0))


def test_wrong_groups_are_refused_in_one_line(model, fresh):
    X, y = fresh
    with pytest.raises(DirectGPError, match=r"no column 'sides'.*did you mean 'side'"):
        model.calibrate(X, y, groups="sides")
    with pytest.raises(DirectGPError, match="X is not a table"):
        GPRegressor(**QUICK).fit(X[["angle"]].to_numpy(), y).calibrate(
            X[["angle"]].to_numpy() + 1.0, y, groups="side"
        )
    model.calibrate(X, y)
    with pytest.raises(DirectGPError, match="not calibrated by group"):
        model.predict_interval(X, groups=X["side"])


def test_classes_get_sets_and_counts_get_whole_intervals(fresh):
    X = fresh[0][["angle"]].to_numpy()
    labels = np.where(fresh[1] > 0, "up", "down")
    classifier = GPClassifier(**QUICK).fit(X[:40], labels[:40])
    plain = classifier.predict_set(X, 0.95)
    classifier.calibrate(X[40:139], labels[40:139])
    sets = classifier.predict_set(X, 0.95)
    assert plain.shape == sets.shape == (199, 2) and sets.any(axis=1).all()
    right = sets[np.arange(199), np.searchsorted(classifier.classes_, labels)]
    assert right[40:139].sum() >= 95
    counts = np.random.default_rng(0).poisson(3.0, size=199)
    counter = GPRegressor(likelihood="poisson", **QUICK).fit(X[:40], counts[:40])
    lower, upper = counter.calibrate(X[40:], counts[40:]).predict_interval(X[40:], 0.8)
    assert np.mean((lower <= counts[40:]) & (counts[40:] <= upper)) >= 0.8
    assert np.array_equal(upper, np.floor(upper))
