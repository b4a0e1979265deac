"""Scores of classes and counts: against scikit-learn, on calibrated models, on wrong labels."""

import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from directgp import metrics
from directgp.likelihoods import NegativeBinomialExp, PoissonExp
from directgp.predictive import ClassProbabilities, GaussianMixture


def classifier(classes, rows=3000, seed=0):
    """Probabilities and labels drawn from them: the model is right."""
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(classes), rows)
    p = ClassProbabilities(np.log(probabilities))
    return p, p.sample(1, seed + 1)[0]


def sharpened(p, power):
    logits = power * p.log_probabilities
    return ClassProbabilities(logits - np.logaddexp.reduce(logits, axis=1)[:, None])


def test_scores_equal_scikit_learns():
    p, y = classifier(2)
    assert metrics.nll(p, y) == pytest.approx(log_loss(y, p.probabilities))
    assert metrics.brier(p, y) == pytest.approx(brier_score_loss(y, p.probabilities[:, 1]))
    assert metrics.brier(p, y) == pytest.approx(p.crps(y).mean())
    curve = metrics.reliability_curve(p, y, bins=7, of_class=1)
    frequency, confidence = calibration_curve(y, p.probabilities[:, 1], n_bins=7)
    np.testing.assert_allclose(curve.frequency, frequency)
    np.testing.assert_allclose(curve.confidence, confidence)
    assert curve.rows.sum() == len(p)


def test_more_than_two_classes():
    p, y = classifier(4)
    happened = np.eye(4)[y.astype(int)]
    expected = np.mean(np.sum((p.probabilities - happened) ** 2, axis=1))
    assert metrics.brier(p, y) == pytest.approx(expected)
    assert metrics.error_rate(p, y) == np.mean(np.argmax(p.probabilities, axis=1) != y)


@pytest.mark.parametrize("classes", [2, 5])
def test_calibration_error_tells_right_from_overconfident(classes):
    p, y = classifier(classes)
    right = metrics.expected_calibration_error(p, y)
    assert right < 0.04
    for power in (4.0, 0.25):
        wrong = sharpened(p, power)
        assert metrics.expected_calibration_error(wrong, y) > 3 * right
        assert metrics.error_rate(wrong, y) == metrics.error_rate(p, y)
        assert metrics.brier(wrong, y) > metrics.brier(p, y)


def test_a_certain_and_right_classifier_has_no_error():
    with np.errstate(divide="ignore"):
        p = ClassProbabilities(np.log(np.eye(3)))
    y = np.array([0, 1, 2])
    assert metrics.error_rate(p, y) == metrics.brier(p, y) == 0.0
    assert metrics.expected_calibration_error(p, y) == 0.0


def test_tables_hold_what_fits_the_prediction():
    p, y = classifier(3, rows=20)
    assert list(metrics.score_table(p, y)) == ["nll", "error_rate", "brier"]
    assert metrics.score_table(p, y)["brier"] == pytest.approx(metrics.brier(p, y))
    q = PoissonExp().predictive(np.ones((1, 5, 1)), np.full((1, 5, 1), 0.1), np.zeros(1))
    table = metrics.score_table(q, np.arange(5.0))
    assert set(table) >= {"nll", "mse", "rmse", "crps", "mre", "coverage"}
    assert table["mre"] == pytest.approx(metrics.mean_relative_error(q, np.arange(5.0)))


def test_mean_relative_error_is_the_papers():
    mean, variance = np.array([0.2, 1.0, 3.0]), np.array([0.5, 0.1, 1.0])
    p = PoissonExp().predictive(mean[None, :, None], variance[None, :, None], np.zeros(1))
    y = np.array([0.0, 4.0, 10.0])
    expected = np.mean(np.abs(np.exp(mean + variance / 2) - y) / np.maximum(1, y))
    assert metrics.mean_relative_error(p, y) == pytest.approx(expected, rel=1e-12)


def test_randomised_pit_is_uniform_for_a_right_model_only():
    generator = np.random.default_rng(0)
    shape = (1, 3000, 1)
    p = NegativeBinomialExp(0.5).predictive(
        generator.normal(size=shape), generator.uniform(0.05, 0.5, shape), np.zeros(1)
    )
    y = p.sample(1, seed=1)[0]
    assert stats.kstest(metrics.randomised_pit(p, y, seed=2), "uniform").pvalue > 1e-3
    assert stats.kstest(metrics.pit(p, y), "uniform").pvalue < 1e-10
    narrow = PoissonExp().predictive(p.means[..., None], np.zeros(shape), np.zeros(1))
    assert stats.kstest(metrics.randomised_pit(narrow, y, seed=2), "uniform").pvalue < 1e-10
    first, second = (metrics.randomised_pit(p, y, seed=2) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_wrong_labels_and_bins_are_refused():
    p, y = classifier(3, rows=4)
    with pytest.raises(ValueError, match="class numbers 0 to 2, got 3"):
        metrics.error_rate(p, np.array([0, 1, 2, 3]))
    with pytest.raises(ValueError, match="class numbers"):
        metrics.score_table(p, np.array([0, 1, 2, 0.5]))
    with pytest.raises(ValueError, match="of_class must be 0 to 2, got 5"):
        metrics.reliability_curve(p, y, of_class=5)
    with pytest.raises(ValueError, match="bins must be at least 1"):
        metrics.reliability_curve(p, y, bins=0)


def test_numbers_keep_their_own_table():
    p = GaussianMixture(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1))
    assert "mre" not in metrics.score_table(p, np.zeros(3))
