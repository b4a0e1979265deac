"""`GPClassifier(inference=…)`: the same model as without an estimator, saved, pickled, refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from directgp import BinaryCost, DirectGPError, GPClassifier
from directgp.decisions.exact_inference import decide_for_rows, fit_exact_for_cost

COST = BinaryCost(1, 6, positive="ill")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (12, 2))
    labels = np.where(X[:, 0] + 0.6 * rng.normal(size=12) > 0.3, "ill", "well")
    return X, labels, rng.uniform(-0.5, 1.5, (8, 2)), rng.uniform(0.5, 2, 8)


@pytest.fixture(scope="module")
def model(rows):
    X, labels, X_test, weight = rows
    asked = GPClassifier(inference="loss-em", loss=COST, max_steps=0, cost_bound=8.0)
    return clone(asked).fit(X, labels, X_test=X_test, test_weight=weight)


def test_it_is_the_model_without_an_estimator(rows, model):
    X, labels, X_test, weight = rows
    order = np.lexsort(np.column_stack([X, labels == "well"]).T[::-1])  # as rows are merged
    cost = COST.for_labels(["ill", "well"])
    options = {"X_test": X_test, "test_weight": weight, "bound": 8.0, "max_steps": 0}
    found = fit_exact_for_cost(
        X[order], (labels == "well")[order], cost, inference="loss-em", **options
    )
    p = found.predict(X_test).probabilities
    np.testing.assert_allclose(model.predict_proba(X_test), p, atol=1e-10)
    assert model.fitted_.calibration.decisions.tolist() == found.calibration.decisions.tolist()
    decision = model.decide(X_test[:5], transductive=True, test_weight=weight[:5])
    plain = decide_for_rows(found, X_test[:5], cost, test_weight=weight[:5], bound=8.0)
    assert decision.action.tolist() == plain.action.tolist()
    assert set(decision.named) <= {"ill", "well"}
    costs = decision.realised(["ill"] * 5)
    assert costs.tolist() == [0.0 if name == "ill" else 6.0 for name in decision.named]


def test_weights_of_training_rows_stand_for_test_rows_from_elsewhere(rows, model):
    X, labels, *_ = rows
    weight = np.exp(X[:, 0])
    asked = clone(model)
    shifted = asked.fit(X, labels, test_weight=weight).predict_proba(X)
    given = asked.fit(X, labels, X_test=X, test_weight=weight).predict_proba(X)
    np.testing.assert_array_equal(shifted, given)
    assert np.abs(asked.fit(X, labels).predict_proba(X) - given).max() > 1e-6


def test_it_comes_back_from_a_file_and_from_a_pickle(rows, model, tmp_path):
    X_test = rows[2]
    model.save(tmp_path / "m.dgp")
    for again in (GPClassifier.load(tmp_path / "m.dgp"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict_proba(X_test), model.predict_proba(X_test))
        assert repr(again.fitted_) == repr(model.fitted_)
        decided = again.decide(X_test, transductive=True).named
        assert decided == model.decide(X_test, transductive=True).named


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"beta": 2.0}, "beta=2.0 has no effect with inference='ep'"),
        ({"layers": 2}, "layers=2 has no effect"),
        ({"loss": "crps"}, "loss must be 'log' or a cost"),
        ({"class_weight": {"ill": 1.5, "well": 1.0}}, "whole numbers, got 1.5"),
        ({"inference": "loss-em"}, "needs the cost of mistakes"),
        ({"inference": None, "cost_bound": 9.0}, "are for a loss-EM"),
    ],
)
def test_parameters_without_effect_are_refused(rows, options, complaint):
    with pytest.raises(DirectGPError, match=complaint) as caught:
        GPClassifier(**{"inference": "ep"} | options).fit(rows[0], rows[1])
    assert "\n" not in str(caught.value)


def test_what_it_cannot_do_is_one_line(rows, model):
    X, labels, *_ = rows
    with pytest.raises(DirectGPError, match="for two classes, got 3 classes"):
        GPClassifier(inference="ep").fit(X, np.arange(12) % 3)
    with pytest.raises(DirectGPError, match="for two classes, got 2 labels per row"):
        GPClassifier(inference="ep").fit(X, np.arange(24).reshape(12, 2) % 2)
    with pytest.raises(DirectGPError, match="needs all rows at once"):
        clone(model).partial_fit(X, labels)
    with pytest.raises(DirectGPError, match="without transductive"):
        model.decide(X, test_weight=np.ones(12))
