"""AUC, precision and recall against scikit-learn's and against resampling."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from directgp.metrics import auc, auc_with_error, precision_recall
from directgp.predictive import ClassProbabilities


def predictions(rng, rows, classes):
    logits = rng.normal(size=(rows, classes)).round(1)  # with ties
    y = np.argmax(logits + rng.gumbel(size=(rows, classes)), axis=1)
    return ClassProbabilities(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))), y


def test_auc_of_two_classes_is_scikit_learns(rng):
    predictive, y = predictions(rng, 200, 2)
    expected = roc_auc_score(y, predictive.probabilities[:, 1])
    assert auc(predictive, y) == pytest.approx(expected, rel=1e-12)


def test_auc_of_several_classes_is_the_mean_of_each_against_the_rest(rng):
    predictive, y = predictions(rng, 300, 4)
    expected = roc_auc_score(y, predictive.probabilities, multi_class="ovr", average="macro")
    assert auc(predictive, y) == pytest.approx(expected, rel=1e-12)


def test_its_standard_error_is_that_of_other_rows(rng):
    areas, errors = [], []
    for _ in range(300):
        area, error = auc_with_error(*predictions(rng, 80, 2))
        areas.append(area)
        errors.append(error)
    assert np.mean(errors) == pytest.approx(np.std(areas), rel=0.15)


def test_a_class_alone_has_no_auc():
    predictive = ClassProbabilities(np.log(np.full((3, 2), 0.5)))
    assert np.isnan(auc(predictive, np.ones(3)))


def test_precision_and_recall_are_scikit_learns(rng):
    predictive, y = predictions(rng, 200, 3)
    found = precision_recall(predictive, y)
    chosen = predictive.predicted
    np.testing.assert_allclose(found.precision, precision_score(y, chosen, average=None))
    np.testing.assert_allclose(found.recall, recall_score(y, chosen, average=None))
    assert found.rows.sum() == found.predicted.sum() == 200
