import numpy as np
import pytest

from directgp.predictive import ClassProbabilities, GaussianMixture
from directgp.report import choose, headline
from directgp.report.calibration_check import pit_band
from directgp.report.findings import calibrated, gain, largest_gap
from directgp.report.judged import Judged, Targets, baseline


@pytest.mark.parametrize(
    ("spread", "bias", "tone", "said"),
    [
        (1.0, 0.0, "good", "well calibrated"),
        (0.5, 0.0, "warn", "over-confident"),
        (2.0, 0.0, "warn", "under-confident"),
        (1.0, 0.8, "warn", "over-confident"),
        (1.3, 0.8, "warn", "biased"),
    ],
)
def test_calibration_of_numbers_is_named_for_what_it_is(make, spread, bias, tone, said):
    judged = make.numbers(spread=spread, bias=bias, rows=4000)
    found = calibrated(judged.predictive, judged.y)
    assert (found.tone, found.short) == (tone, said)


def test_a_true_model_of_counts_is_calibrated_because_its_pit_is_randomised(make):
    judged = make.counts(2000)
    assert calibrated(judged.predictive, judged.y).tone == "good"


@pytest.mark.parametrize(
    ("sharper", "said"),
    [(1.0, "well calibrated"), (3.0, "over-confident"), (0.3, "under-confident")],
)
@pytest.mark.parametrize("num_classes", [2, 5])
def test_calibration_of_classes_is_named_for_what_it_is(make, sharper, said, num_classes):
    judged = make.classes(num_classes, sharper, rows=4000)
    assert calibrated(judged.predictive, judged.y).short == said


def test_nothing_is_well_calibrated_whose_curve_leaves_its_band():
    """Right on average and in coverage, but the middle of the distribution is not where it says."""
    u = (np.arange(2000) + 0.5) / 2000
    bent = np.where(np.abs(u - 0.5) < 0.4, u + 0.06 * np.sin(np.pi * (u - 0.5) / 0.4), u)
    standard = GaussianMixture(np.zeros((1, 2000)), np.ones((1, 2000)), np.zeros(1))
    y = np.array([standard[0].quantile(float(p))[0] for p in bent[::20]])
    y = np.repeat(y, 20)
    assert largest_gap(bent) > pit_band(2000, np.array([0.5]))[1] - 0.5
    found = calibrated(standard, y)
    assert found.tone != "good" and "well calibrated" not in found.short


def test_few_rows_are_not_called_well_calibrated(make):
    judged = make.numbers(rows=80)
    found = calibrated(judged.predictive, judged.y)
    assert found.tone == "plain"
    assert found.short == "no sign of miscalibration on 80 rows"
    assert "cannot show gaps below" in found.sentence


@pytest.mark.parametrize(("num_classes", "rows"), [(2, 100), (4, 100)])
def test_few_rows_of_classes_are_not_called_well_calibrated(make, num_classes, rows):
    judged = make.classes(num_classes, rows=rows)
    said = calibrated(judged.predictive, judged.y).short
    assert said == f"no sign of miscalibration on {rows} rows"


def test_gain_over_the_mean_is_the_known_difference_of_entropies(make):
    judged = make.numbers(rows=4000)
    trivial = baseline(judged.predictive, Targets.of(judged.y))
    found = gain(judged, trivial, "the mean")
    # Var y = 10, Var y | x = 1: the NLL differs by ½ log 10 and the RMSE by √10.
    assert found.tone == "good"
    assert float(found.measured[1].split()[0]) == pytest.approx(0.5 * np.log(10.0), abs=0.06)
    assert "68 % smaller" in found.sentence


def test_a_model_that_knows_nothing_is_not_praised(make):
    judged = make.numbers(rows=500)
    shuffled = judged.y[np.random.default_rng(3).permutation(500)]
    worse = type(judged)("m", judged.predictive, shuffled)
    found = headline(worse, make.rows_of(worse))[1]
    assert found.tone == "warn"
    assert "worse than" in found.short


@pytest.mark.parametrize("num_classes", [2, 4])
def test_the_baseline_of_classes_is_their_share_in_training(make, num_classes):
    judged = make.classes(num_classes)
    counts = np.bincount(judged.y.astype(int), minlength=num_classes)
    found = baseline(judged.predictive, Targets.of(judged.y, num_classes))
    expected = (counts + 1) / (counts + 1).sum()
    np.testing.assert_allclose(found.probabilities[0], expected)


def test_the_baseline_of_counts_has_the_mean_and_variance_of_y(make):
    y = np.random.default_rng(0).negative_binomial(2, 0.2, 5000).astype(float)
    found = baseline(make.counts(7).predictive, Targets.of(y))
    assert found.mean[0] == pytest.approx(y.mean(), rel=1e-6)
    assert found.variance[0] == pytest.approx(y.var(), rel=1e-6)


def named(judged, name):
    return type(judged)(name, judged.predictive, judged.y)


def test_the_better_model_is_recommended_with_a_clear_difference(make):
    good, wide = named(make.numbers(), "good"), named(make.numbers(spread=2.0), "wide")
    choice = choose([wide, good])
    assert choice.name == "good"
    assert choice.against[0].clear and choice.against[0].mean > 0
    assert choice.title.startswith("Use good: it is clearly better than wide")
    assert any("about as good as those of wide" in reason for reason in choice.reasons)


def test_models_that_cannot_be_told_apart_are_said_to_be_so(make):
    good, same = named(make.numbers(), "good"), named(make.numbers(bias=0.02), "same")
    assert choose([good, same]).title.startswith("No clear winner")


def test_a_recommended_model_with_the_worse_mean_says_so(make):
    good = named(make.numbers(spread=3.0), "calibrated?")
    narrow = named(make.numbers(bias=0.3, spread=1.0), "narrow")
    choice = choose([good, narrow])
    assert choice.name == "narrow"
    assert any("clearly worse" in reason for reason in choice.reasons)


def test_classes_that_are_ranked_well_are_said_to_be_beside_an_unclear_log_loss():
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.5).astype(float)
    logit = 3.2 * (y - 0.5 + 0.7 * rng.standard_normal(60))
    p = 1 / (1 + np.exp(-logit))
    judged = Judged("m", ClassProbabilities(np.log(np.stack([1 - p, p], 1))), y)
    found = gain(judged, baseline(judged.predictive, Targets.of(y, 2)), "always the base rate")
    assert found.short == (
        "not clearly better than always the base rate in log loss on 60 rows, but better than "
        "chance in ranking"
    )
    assert "AUC is 0." in found.sentence and "larger --holdout" in found.sentence
    mixed = Judged("m", judged.predictive, y[rng.permutation(60)])
    assert "ranking" not in gain(mixed, baseline(mixed.predictive, Targets.of(y, 2)), "x").short
