"""Scores of predictions: against plain numpy, on calibrated models, and on wrong shapes."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy import stats

from directgp import metrics
from directgp.predictive import GaussianMixture


def calibrated(rows=2000, components=3, seed=0):
    """A mixture and y drawn from it: the model is right."""
    generator = np.random.default_rng(seed)
    p = GaussianMixture(
        generator.normal(size=(components, rows)),
        generator.uniform(0.1, 2.0, size=(components, rows)),
        np.full(components, -np.log(components)),
    )
    return p, p.sample(1, seed=seed + 1)[0]


def widened(p, factor):
    return GaussianMixture(p.means, factor * p.variances, p.log_weights)


def test_scores_equal_plain_numpy():
    generator = np.random.default_rng(0)
    mean, std, y = generator.normal(size=7), generator.uniform(1, 2, 7), generator.normal(size=7)
    p = GaussianMixture(mean[None], std[None] ** 2, np.zeros(1))
    assert metrics.nll(p, y) == pytest.approx(-stats.norm.logpdf(y, mean, std).mean(), rel=1e-13)
    assert metrics.mse(p, y) == pytest.approx(np.mean((y - mean) ** 2), rel=1e-13)
    assert metrics.rmse(p, y) == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)), rel=1e-13)
    assert metrics.crps(p, y) == pytest.approx(p.crps(y).mean(), rel=1e-13)
    width = 2 * stats.norm.ppf(0.9) * std.mean()
    assert metrics.interval_width(p, y, level=0.8) == pytest.approx(width, rel=1e-13)
    np.testing.assert_allclose(metrics.pit(p, y), stats.norm.cdf(y, mean, std), rtol=1e-13)


def test_a_right_model_is_calibrated():
    p, y = calibrated()
    assert stats.kstest(metrics.pit(p, y), "uniform").pvalue > 1e-3
    levels = np.array([0.1, 0.5, 0.9, 0.99])
    errors = np.sqrt(levels * (1 - levels) / len(p))
    assert np.all(np.abs(metrics.coverage_curve(p, y, levels) - levels) < 4 * errors)


def test_a_wrong_model_is_not_calibrated():
    p, y = calibrated()
    assert stats.kstest(metrics.pit(widened(p, 9.0), y), "uniform").pvalue < 1e-6
    error = np.sqrt(0.25 / len(p))
    assert metrics.coverage(widened(p, 9.0), y, 0.5) > 0.5 + 4 * error
    assert metrics.coverage(widened(p, 0.01), y, 0.5) < 0.5 - 4 * error


def test_proper_scores_prefer_the_right_model():
    p, y = calibrated()
    for factor in (0.3, 3.0):
        assert metrics.nll(p, y) < metrics.nll(widened(p, factor), y)
        assert metrics.crps(p, y) < metrics.crps(widened(p, factor), y)


def test_coverage_counts_a_point_mass_that_is_hit():
    p = GaussianMixture(np.zeros((1, 2)), np.zeros((1, 2)), np.zeros(1))
    assert metrics.coverage(p, np.array([0.0, 1.0])) == 0.5


def test_coverage_curve_equals_coverage():
    p, y = calibrated(rows=50)
    curve = metrics.coverage_curve(p, y, [0.3, 0.9])
    assert curve.tolist() == [metrics.coverage(p, y, 0.3), metrics.coverage(p, y, 0.9)]
    with pytest.raises(ValueError, match="levels must be 1-d"):
        metrics.coverage_curve(p, y, 0.5)


def test_nll_against_gaussian():
    p, y = calibrated()
    rows = len(y)
    trivial = GaussianMixture(np.full((1, rows), y.mean()), np.full((1, rows), y.var()), [0.0])
    assert metrics.nll_against_gaussian(trivial, y, y) == pytest.approx(0, abs=1e-12)
    ours = metrics.nll_against_gaussian(p, y, y)
    assert ours < 0
    moved = metrics.nll_against_gaussian(p.affine(1e3, -7.0), 1e3 * y - 7, 1e3 * y - 7)
    assert moved == pytest.approx(ours, rel=1e-9)


@pytest.mark.parametrize(
    ("y_train", "message"),
    [
        (np.zeros((3, 1)), "y_train must be 1-d"),
        (np.array([0.0, np.nan]), "y_train must be 1-d and finite"),
        (np.zeros(0), "at least two different values"),
        (np.ones(5), "at least two different values"),
    ],
)
def test_bad_training_targets(y_train, message):
    p, y = calibrated(rows=3)
    with pytest.raises(ValueError, match=message):
        metrics.nll_against_gaussian(p, y, y_train)


def test_score_table_holds_the_single_scores():
    p, y = calibrated(rows=60)
    table = metrics.score_table(p, y, level=0.8)
    assert table == {
        "nll": pytest.approx(metrics.nll(p, y)),
        "mse": pytest.approx(metrics.mse(p, y)),
        "rmse": pytest.approx(metrics.rmse(p, y)),
        "crps": pytest.approx(metrics.crps(p, y)),
        "coverage": pytest.approx(metrics.coverage(p, y, 0.8)),
        "interval_width": pytest.approx(metrics.interval_width(p, y, 0.8)),
    }
    assert all(type(value) is float for value in table.values())


def test_standard_errors():
    p, y = calibrated(rows=60)
    errors = metrics.score_table_with_errors(p, y)
    assert {name: mean for name, (mean, _) in errors.items()} == metrics.score_table(p, y)
    squared = metrics.row_scores(p, y)["mse"]
    assert errors["mse"][1] == pytest.approx(stats.sem(squared))
    assert errors["rmse"][1] == pytest.approx(stats.sem(squared) / (2 * metrics.rmse(p, y)))
    mean, error = metrics.standard_error(np.array([2.0]))
    assert mean == 2 and np.isnan(error)
    with pytest.raises(ValueError, match="scores must be 1-d"):
        metrics.standard_error(np.zeros((3, 1)))


def test_a_perfect_prediction_has_no_error_of_rmse():
    p = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1))
    assert metrics.score_table_with_errors(p, np.zeros(3))["rmse"] == (0.0, 0.0)


@pytest.mark.parametrize(
    "score",
    [
        metrics.nll,
        metrics.mse,
        metrics.rmse,
        metrics.crps,
        metrics.coverage,
        metrics.pit,
        metrics.interval_width,
        metrics.row_scores,
        metrics.score_table,
        metrics.score_table_with_errors,
        lambda p, y: metrics.coverage_curve(p, y, [0.5]),
        lambda p, y: metrics.nll_against_gaussian(p, y, np.array([0.0, 1.0])),
    ],
)
def test_wrong_targets_are_one_line_errors(score):
    p, _ = calibrated(rows=3)
    shape = r"y must have shape \(3,\)"
    for y, message in [
        (np.zeros((3, 1)), shape),
        (np.zeros(2), shape),
        (0.0, shape),
        (np.array([0.0, np.nan, 1.0]), "NaN at 1 rows, first 1"),
        (np.array([0.0, np.inf, 1.0]), "finite"),
        (np.ma.array(np.zeros(3), mask=[False, True, True]), "masked at 2 rows, first 1"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            score(p, y)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="no rows to score"):
        score(p[:0], np.zeros(0))


def test_swapped_arguments_are_one_line_errors():
    """In a process of its own: in the tests (and only there) the signatures refuse them."""
    script = """
        import numpy as np
        from directgp import metrics as m
        from directgp.predictive import GaussianMixture
        p, y = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1)), np.zeros(3)
        scores = (
            m.nll, m.mse, m.rmse, m.crps, m.coverage, m.pit, m.interval_width, m.row_scores,
            m.score_table, m.score_table_with_errors, m.error_rate, m.brier, m.reliability_curve,
            m.expected_calibration_error, m.mean_relative_error,
            lambda p, y: m.randomised_pit(p, y, 0),
            lambda p, y: m.coverage_curve(p, y, [0.5]),
            lambda p, y: m.nll_against_gaussian(p, y, np.array([0.0, 1.0])),
        )
        for score in scores:
            for first, second, kind in ((y, p, "ndarray"), ((p, p), y, "tuple")):
                try:
                    score(first, second)
                except TypeError as error:
                    assert f"got {kind}; give it first, then y" in str(error), error
                else:
                    raise AssertionError(score)
        try:
            m.error_rate(p, y)
        except TypeError as error:
            assert "this score is of class probabilities, got a GaussianMixture" in str(error)
        else:
            raise AssertionError("numbers have no error rate")
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
