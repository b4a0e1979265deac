"""Intervals and sets from the scores of fresh rows."""

import numpy as np
import pytest

from directgp.calibration import Calibration
from directgp.calibration.conformity import central, conformity
from directgp.errors import DirectGPError
from directgp.likelihoods import PoissonExp, StudentT
from directgp.predictive import ClassProbabilities, GaussianMixture


def normal(count, std=1.0):
    return GaussianMixture(np.zeros((1, count)), np.full((1, count), std**2), np.zeros(1))


def counts(count, log_rate=1.5):
    f = np.full((1, count, 1), log_rate)
    return PoissonExp().predictive(f, np.full_like(f, 0.1), np.zeros(1))


def two_humps(count):
    means = np.array([[-3.0], [1.0]]) * np.ones(count)
    return GaussianMixture(means, np.array([[0.2], [1.5]]) * np.ones(count), np.log([0.3, 0.7]))


def heavy_tails(count):
    f = np.zeros((1, count, 1))
    return StudentT(4.0).predictive(f, np.full_like(f, 0.3), np.zeros(1))


@pytest.mark.parametrize("make", [normal, two_humps, heavy_tails])
def test_the_interval_holds_exactly_the_rows_whose_score_reaches_the_threshold(make):
    rng = np.random.default_rng(1)
    y = 2.0 * rng.standard_t(3, size=60)
    made = Calibration.of(make(60), y)
    for coverage, inside in ((0.9, 55), (0.5, 31)):  # n + 1 − ⌊61 (1 − coverage)⌋
        lower, upper = made.bounds(make(60), coverage)
        assert np.sum((lower <= y) & (y <= upper)) == inside


def test_intervals_are_closed_at_the_very_row_that_is_the_threshold():
    y = np.linspace(-4.0, 4.0, 19)
    lower, upper = Calibration.of(normal(19), y).bounds(normal(1), 0.9)
    assert (lower[0], upper[0]) == (-4.0, 4.0)


def test_a_narrow_model_gets_the_coverage_it_does_not_have():
    """The spread is a third of what it should be; on new rows the promise holds all the same."""
    rng = np.random.default_rng(2)
    held = []
    for _ in range(100):
        y = rng.normal(size=39)
        lower, upper = Calibration.of(normal(39, 1 / 3), y).bounds(normal(1, 1 / 3), 0.9)
        new = rng.normal(size=50)
        held.append(np.mean((lower <= new) & (new <= upper)))
    assert abs(np.mean(held) - 0.9) < 4 * np.std(held) / 10


def test_far_tails_are_reached_where_one_minus_the_level_is_1():
    lower, upper = Calibration.of(normal(9), np.full(9, 20.0)).bounds(normal(1), 0.9)
    assert np.allclose([lower[0], upper[0]], [-20.0, 20.0], rtol=1e-12)


@pytest.mark.parametrize(("make", "least"), [(normal, -np.inf), (counts, 0.0)])
def test_too_few_rows_give_everything_and_it_is_said(make, least):
    made = Calibration.of(make(8), np.arange(8.0))
    lower, upper = made.bounds(make(3), 0.9)
    assert np.all(lower == least) and np.all(np.isposinf(upper))
    assert made.advice(0.9) == (
        "0.9 coverage needs at least 9 rows and there are 8: each set holds all numbers"
    )
    assert made.advice(0.8) == ""


def test_a_y_that_underflows_gives_an_infinite_interval_not_a_narrow_one():
    y = np.full(19, 1e6)
    lower, upper = Calibration.of(normal(19), y).bounds(normal(1), 0.9)
    assert np.isneginf(lower[0]) and np.isposinf(upper[0])


def test_a_promise_below_what_the_median_holds_is_the_median():
    lower, upper = central(normal(1), np.array([0.7]))  # no y has a score above ½
    assert abs(lower[0]) < 1e-12 and abs(upper[0]) < 1e-12


def test_counts_are_whole_and_their_interval_is_that_of_the_scores():
    y = np.random.default_rng(3).poisson(9.0, size=40).astype(float)
    made = Calibration.of(counts(40), y)
    lower, upper = made.bounds(counts(40), 0.8)
    inside = conformity(counts(40), y) >= made.thresholds(0.8, 40)
    assert np.array_equal(inside, (lower <= y) & (y <= upper))
    assert np.mean(inside) >= 0.8 and np.array_equal(lower, np.floor(lower))
    outside = np.concatenate([lower[:1] - 1, upper[:1] + 1])
    assert np.all(conformity(counts(2), outside) < made.thresholds(0.8, 2))


def test_sets_of_classes_hold_the_promised_share_and_never_nothing():
    rng = np.random.default_rng(4)
    p = ClassProbabilities(np.log(rng.dirichlet([1.0, 2.0, 3.0], size=99)))
    y = rng.integers(0, 3, size=99).astype(float)  # not what the model says
    made = Calibration.of(p, y)
    sets = made.classes(p, 0.9)
    assert sets[np.arange(99), y.astype(int)].sum() >= 90
    assert made.classes(p, 0.05).any(axis=1).all()
    assert Calibration.of(p[:5], y[:5]).classes(p, 0.9).all()


def test_every_group_has_its_own_interval_and_an_unknown_one_has_none():
    rng = np.random.default_rng(5)
    wide = np.repeat([False, True], 99)
    y = rng.normal(size=198) * np.where(wide, 10.0, 1.0)
    made = Calibration.of(normal(198), y, groups=wide)
    lower, upper = made.bounds(normal(3), 0.9, groups=["false", "true", "other"])
    assert made.rows == {"false": 99, "true": 99}
    assert 4 < (upper[1] - lower[1]) / (upper[0] - lower[0]) < 25 and np.isposinf(upper[2])
    held = [(np.abs(y[wide == one]) <= upper[int(one)]).sum() for one in (False, True)]
    assert min(held) >= 88  # 90 by score; the bounds of one row are not quite symmetric
    with pytest.raises(DirectGPError, match="calibrated by group"):
        made.bounds(normal(3), 0.9)
    with pytest.raises(DirectGPError, match="one label for each of 3 rows, got 2"):
        made.bounds(normal(3), 0.9, groups=["false", "true"])


def test_groups_with_too_few_rows_are_named():
    made = Calibration.of(normal(12), np.arange(12.0), groups=["a"] * 10 + ["b"] * 2)
    assert made.advice(0.9) == (
        "0.9 coverage needs at least 9 rows in each group; sets hold all numbers in b (2)"
    )


@pytest.mark.parametrize("coverage", [0, 1, 90, float("nan"), "0.9", None])
def test_a_coverage_that_is_no_probability_is_refused(coverage):
    with pytest.raises(DirectGPError, match="strictly between 0 and 1"):
        Calibration.of(normal(9), np.zeros(9)).bounds(normal(1), coverage)


def test_predictions_of_another_kind_are_refused():
    with pytest.raises(DirectGPError, match="for numbers, got a CountMixture"):
        Calibration.of(normal(9), np.zeros(9)).bounds(counts(1), 0.9)


def changed(**parts):
    stored = Calibration.of(normal(9), np.arange(9.0), groups=list("aaabbbccc")).to_stored()
    return stored | parts


@pytest.mark.parametrize(
    "stored",
    [
        None,
        {},
        changed(kind="other"),
        changed(groups=["a", "a", "b"]),
        changed(groups=["a", "b"]),
        changed(column=3),
        changed(scores=[np.array([0.3, 0.2, 0.1])] * 3),
        changed(scores=[np.array([0.1, np.nan, 0.2])] * 3),
        changed(scores=[np.array([-1.0, 0.2, 0.3])] * 3),
        changed(pits=[np.array([0.5])] * 3),
        changed(pits=[np.array([0.5, 0.7, 1.2])] * 3),
        changed(pits=[[0.1, 0.2, 0.3]] * 3),
    ],
)
def test_what_does_not_hold_together_is_not_read(stored):
    assert Calibration.from_stored(changed()).groups == ("a", "b", "c")
    with pytest.raises(DirectGPError, match="calibration"):
        Calibration.from_stored(stored)
