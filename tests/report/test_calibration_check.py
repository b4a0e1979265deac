"""Error rates of the check of calibration, by simulation, and its agreement with the figures."""

import re

import numpy as np
import pytest
from scipy.stats import norm

from directgp.predictive import ClassProbabilities
from directgp.report.calibration_check import (
    INTERVALS,
    LEVELS,
    Reliability,
    few_rows,
    num_bars,
    outside,
    pit_band,
    pit_leaves_band,
)
from directgp.report.figures_numbers import pit_histogram


def most(repeats: int) -> float:
    """Two standard errors above 5 % of so many repeats."""
    return 0.05 + 2 * float(np.sqrt(0.05 * 0.95 / repeats))


@pytest.mark.parametrize("rows", [15, 80, 400, 3000])
def test_calibrated_numbers_are_called_miscalibrated_in_5_percent(rows):
    rng = np.random.default_rng(rows)
    called = [pit_leaves_band(rng.random(rows)) for _ in range(400)]
    assert np.mean(called) <= most(400)


@pytest.mark.parametrize("spread", [0.5, 1.5])
def test_clearly_wrong_numbers_are_never_called_calibrated(spread):
    rng = np.random.default_rng(0)
    drawn = norm.cdf(spread * rng.standard_normal((100, 400)))
    assert all(pit_leaves_band(values) for values in drawn)


@pytest.mark.parametrize("num_classes", [2, 5])
@pytest.mark.parametrize("rows", [50, 600])
def test_calibrated_classes_are_called_miscalibrated_in_5_percent(num_classes, rows):
    rng = np.random.default_rng(rows)
    called = [_reliability(rng, num_classes, rows, 1.0).leaves_band for _ in range(150)]
    assert np.mean(called) <= most(150)


@pytest.mark.parametrize("num_classes", [2, 5])
@pytest.mark.parametrize("sharper", [0.4, 2.5])
def test_clearly_wrong_classes_are_never_called_calibrated(num_classes, sharper):
    rng = np.random.default_rng(0)
    assert all(_reliability(rng, num_classes, 1000, sharper).leaves_band for _ in range(20))


def _reliability(rng, num_classes: int, rows: int, sharper: float) -> Reliability:
    scores = 1.5 * rng.standard_normal((rows, num_classes))
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = (rng.random(rows)[:, None] > shares.cumsum(axis=1)).sum(axis=1)
    claimed = sharper * scores
    claimed -= np.log(np.exp(claimed).sum(axis=1, keepdims=True))
    y = np.minimum(y, num_classes - 1).astype(float)
    return Reliability(ClassProbabilities(claimed), y)


@pytest.mark.parametrize("rows", [40, 150, 900])
def test_the_verdict_is_that_a_drawn_share_leaves_its_drawn_band(rows):
    rng = np.random.default_rng(7)
    verdicts = set()
    for _ in range(200):
        values = norm.cdf(rng.uniform(0.8, 1.4) * rng.standard_normal(rows))
        below = (values[:, None] <= LEVELS).mean(axis=0)
        inside = (np.abs(values - 0.5)[:, None] <= INTERVALS / 2).mean(axis=0)
        bars = num_bars(rows)
        heights = np.histogram(values, np.linspace(0, 1, bars + 1))[0] / rows
        seen = np.concatenate([below, inside, heights])
        promised = np.concatenate([LEVELS, INTERVALS, np.full(bars, 1 / bars)])
        leaves = bool(outside(seen, *pit_band(rows, promised)).any())
        assert leaves == pit_leaves_band(values)
        verdicts.add(leaves)
    assert verdicts == {True, False}


def test_the_histogram_counts_the_bars_that_leave_the_same_band():
    values = np.concatenate([np.full(60, 0.01), np.linspace(0.001, 0.999, 440)])
    said = pit_histogram(values, randomised=False)
    assert re.search(r"1 are outside the band", said)
    assert pit_leaves_band(values)


def test_rows_are_few_until_five_points_are_more_than_chance():
    assert few_rows(300) and not few_rows(3000)
