"""Estimators decide, are trained for a cost, and are saved with it."""

import numpy as np
import pytest
from sklearn.base import clone

from directgp import (
    BinaryCost,
    CostMatrix,
    GPClassifier,
    GPRegressor,
    IntervalCost,
    NewsvendorCost,
    RejectCost,
    SquareCost,
)
from directgp.decisions import Decision, decide

QUICK = {"beta": 1.0, "max_steps": 50, "num_inducing": 10}
COST = BinaryCost(false_positive=1, false_negative=9, positive="ill")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 1))
    labels = np.where(X[:, 0] + rng.normal(size=120) > 1, "ill", "well")
    return X, labels, 3.0 * X[:, 0] + rng.normal(size=120)


@pytest.fixture(scope="module")
def classifier(rows):
    return GPClassifier(**QUICK).fit(rows[0], rows[1])


def test_a_classifier_decides_by_the_labels_of_its_classes(rows, classifier):
    X, labels, _ = rows
    decision = classifier.decide(X, COST)
    assert isinstance(decision, Decision)
    p = classifier.predict_proba(X)[:, list(classifier.classes_).index("ill")]
    assert decision.named == np.where(p > 0.1, "ill", "well").tolist()
    np.testing.assert_allclose(decision.expected_cost, np.minimum(9 * p, 1 - p))
    acted = np.array(decision.named) == "ill"
    by_hand = np.where(acted, labels == "well", 9.0 * (labels == "ill"))
    np.testing.assert_allclose(decision.realised(labels), by_hand)
    matrix = CostMatrix({"well": [0, 1], "ill": [9, 0]}, ["wait", "treat"])
    same = classifier.decide(X, RejectCost(matrix, price=100))
    assert same.named == np.where(p > 0.1, "treat", "wait").tolist()


def test_a_regressor_decides_as_its_distribution_does(rows):
    X, _, y = rows
    model = GPRegressor(**QUICK, loss=NewsvendorCost(under=4, over=1)).fit(X, y)
    decision = model.decide(X[:7])  # the cost it was trained for
    np.testing.assert_allclose(decision.action, model.predict_quantiles(X[:7], 0.8))
    assert 0.6 < np.mean(y < model.decide(X).action) < 0.95
    np.testing.assert_allclose(model.decide(X[:7], SquareCost()).action, model.predict(X[:7]))
    interval = model.decide(X[:7], IntervalCost(width=1, miss=20))
    expected = decide(model.predict_distribution(X[:7]), IntervalCost(1, 20))
    np.testing.assert_array_equal(interval.action, expected.action)


def test_a_classifier_trained_for_a_cost_is_cloned_and_saved_with_it(rows, tmp_path):
    X, labels, _ = rows
    model = clone(GPClassifier(**QUICK, loss=COST, class_weight="balanced")).fit(X, labels)
    assert model.fitted_.reason == "annealed to the hard decision"
    path = tmp_path / "m.dgp"
    model.save(path)
    loaded = GPClassifier.load(path)
    assert loaded.loss.threshold == COST.threshold and loaded.loss.positive == "ill"
    assert loaded.decide(X).named == model.decide(X).named


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda m, X: m.decide(X), "no cost given, and the estimator was not trained for one"),
        (lambda m, X: m.decide(X, 3), "cost must be a Cost"),
        (lambda m, X: m.decide(X, BinaryCost(1, 2, positive="dead")), "the class 'dead'"),
        (lambda m, X: m.decide(X, CostMatrix(np.ones((3, 2)))), "3 rows, but there are 2 classes"),
        (lambda m, X: m.decide(X, BinaryCost(1, np.ones(3), "ill")), "given for 3 rows"),
        (
            lambda m, X: m.decide(X, BinaryCost(1, 2, "ill")).realised(["dead"] * len(X)),
            "label 'dead'",
        ),
        (lambda m, X: m.decide(X, BinaryCost(-1, 2)), "must be ≥ 0"),
    ],
    ids=["none", "number", "label", "shape", "rows", "truth", "negative"],
)
def test_bad_costs_are_one_line(rows, classifier, ask, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        ask(classifier, rows[0])
    assert "\n" not in str(caught.value)


def test_training_refuses_costs_that_it_cannot_use(rows):
    X, labels, y = rows
    for model, target, complaint in (
        (GPClassifier(loss=BinaryCost(1, np.ones(120), "ill")), labels, "one cost for all rows"),
        (GPClassifier(loss=NewsvendorCost(1, 1)), labels, "classes"),
        (GPRegressor(loss=BinaryCost(1, 2)), y, "numbers"),
    ):
        with pytest.raises(ValueError, match=complaint):
            model.fit(X, target)
