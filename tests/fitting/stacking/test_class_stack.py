"""Stacks of models of classes: members, weights, files, and every odd table."""

import numpy as np
import pytest
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression as ReferenceLogistic
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from directgp import DirectGPError, GPClassifier
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking import FittedClassStack, fit_class_stack
from directgp.fitting.stacking.class_member import best_temperature
from directgp.fitting.stacking.class_trees import ClassTrees, cross_fitted_class_trees
from directgp.fitting.stacking.classification import _weights
from directgp.fitting.stacking.logistic import (
    class_folds,
    cross_fitted_logistic,
    logistic_regression,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 0] + 0.5 * rng.normal(size=90), [-0.5, 0.5])
    return X, y


@pytest.fixture(scope="module")
def stack(rows):
    return fit_class_stack(*rows, 3)


def test_logistic_regression_is_that_of_scikit_learn(rows):
    X, y = rows
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    ours = logistic_regression(X, y, 3, weight, 0.5)
    theirs = ReferenceLogistic(C=2.0, tol=1e-8, max_iter=1000).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.slopes, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(
        np.exp(ours.log_probabilities(X)), theirs.predict_proba(X), atol=2e-3
    )


@pytest.mark.parametrize("present", [[0, 1], [0, 2], [0, 1, 2]])
def test_trees_are_those_of_scikit_learn(rows, present):
    X, y = rows
    y = np.array(present)[y % len(present)]
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y)
    found = np.exp(ClassTrees.of(model, 3).log_probabilities(X))
    np.testing.assert_allclose(found[:, present], model.predict_proba(X), atol=1e-9)


def test_out_of_fold_predictions_do_not_see_their_rows(rows):
    X, y = rows
    part, weight = class_folds(y, 5, seed=0), np.ones(len(y))
    own = part == 0
    other = y.copy()
    other[own] = (y[own] + 1) % 3
    for fit in (
        lambda y: cross_fitted_logistic(X, y, 3, weight, part),
        lambda y: cross_fitted_class_trees(X, y, 3, weight, part, 0),
    ):
        # Which penalty and length is best depends on all rows; the order of classes does not.
        truth = fit(y).out_of_fold
        assert np.mean(truth[own].argmax(axis=1) == y[own]) > 0.6
        moved = fit(other).out_of_fold
        assert np.mean(moved[own].argmax(axis=1) == other[own]) < 0.4


def test_folds_have_rows_of_every_class():
    y = np.array([0] * 20 + [1] * 5 + [2])
    part = class_folds(y, 5, seed=3)
    assert np.bincount(part).tolist() == [6, 5, 5, 5, 5]
    assert sorted(part[y == 1]) == [0, 1, 2, 3, 4]


def test_a_temperature_mends_confidence_that_is_too_large():
    rng = np.random.default_rng(0)
    honest = log_softmax(rng.normal(size=(2000, 3)), axis=1)
    y = np.array([rng.choice(3, p=np.exp(row)) for row in honest])
    assert best_temperature(honest, y, np.ones(2000)) == pytest.approx(1.0, abs=0.15)
    assert best_temperature(2.0 * honest, y, np.ones(2000)) == pytest.approx(2.0, abs=0.3)


def test_a_stack_tells_what_it_is(rows, stack):
    assert [member.name for member in stack.members] == ["logistic", "exact GP", "trees"]
    assert stack.weights.sum() == pytest.approx(1.0)
    assert repr(stack).startswith("FittedClassStack: logistic ")
    assert len(stack.out_of_fold) == 90 and stack.num_outputs == 1
    assert len(stack.likelihood.outcomes) == 3
    assert next(iter(stack.relevance(["a", "b", "c"]))) == "a"
    told = stack.hyperparameters(["a", "b", "c"])
    assert list(told["exact GP"]["lengthscale"]) == ["a", "b", "c"]
    assert told["trees"]["trees"] % 10 == 0 and told["logistic"]["temperature"] > 0
    X, y = rows
    assert np.mean(stack.out_of_fold) < 0.8 * np.log(3)
    assert np.mean(stack.predict(X).predicted == y) > 0.75


def test_rows_do_not_influence_each_other(rows, stack):
    new = np.random.default_rng(2).normal(size=(300, 3))
    together = stack.predict(new).log_probabilities
    assert np.array_equal(together[270:], stack.predict(new[270:]).log_probabilities)


def test_probabilities_are_no_surer_than_the_rows_support():
    X = np.linspace(-1, 1, 60)[:, None]
    p = fit_class_stack(X, (X[:, 0] > 0).astype(float), 2).predict([[-30.0], [30.0]]).probabilities
    assert p.min() >= 0.5 / 61 and p[0, 0] > 0.9 and p[1, 1] > 0.9


def test_weights_for_the_brier_score(rows):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 80)
    parts = [log_softmax(rng.normal(size=(80, 2)) + np.eye(2)[y], axis=1) for _ in range(2)]
    found = _weights("crps", parts, y, np.ones(80), 80.0)

    def brier(share):
        p = share * np.exp(parts[0]) + (1 - share) * np.exp(parts[1])
        return np.mean((p[:, 1] - y) ** 2)

    best = min(np.linspace(0, 1, 201), key=brier)
    assert found[0] == pytest.approx(best, abs=0.02)
    assert fit_class_stack(rows[0], rows[1], 3, loss="crps").loss == "crps"


def test_class_numbers_are_checked(rows):
    with pytest.raises(DirectGPError, match="class numbers 0 … 1"):
        fit_class_stack(rows[0], rows[1], 2)


_X = np.random.default_rng(0).normal(size=(60, 3))
_CONSTANT = np.column_stack([_X[:, 0], np.ones(60)])
ODD = {
    "two rows": ([[0.0], [1.0]], [0, 1]),
    "equal rows": (np.ones((30, 2)), np.arange(30) % 2),
    "a constant column": (_CONSTANT, _X[:, 0] > 0),
    "separable": (np.c_[10 * np.sign(_X[:, 0])], _X[:, 0] > 0),
    "twenty classes": (_X, np.arange(60) % 20),
    "one row of a class": (_X, np.arange(60) == 7),
    "two rare classes": (_X, np.where(np.arange(60) < 2, np.arange(60), 5)),
    "an outlier": (np.r_[_X, [[1e12, 0, 0]]], np.r_[_X[:, 0] > 0, True]),
    "few rows": (_X[:12], _X[:12, 0] > 0),
}


@pytest.mark.parametrize("case", ODD)
def test_odd_tables_give_probabilities(case):
    X, y = ODD[case]
    model = GPClassifier().fit(X, np.asarray(y, int))
    assert isinstance(model.fitted_, FittedClassStack)
    p = model.predict_log_proba(X)
    assert np.all(np.isfinite(p)) and np.allclose(np.exp(p).sum(axis=1), 1.0)
    assert len(model.fitted_.members) <= (2 if len(y) < 50 else 3)


def test_weights_count_in_every_member(rows):
    X, y = rows
    rare = y == 2
    plain, heavy = GPClassifier().fit(X, rare), GPClassifier(class_weight={False: 1, True: 30})
    heavy.fit(X, rare)
    scaled = plain.fitted_.inputs.forward_inputs(X)
    other = heavy.fitted_.inputs.forward_inputs(X)
    for first, second in zip(plain.fitted_.members, heavy.fitted_.members, strict=True):
        before = np.exp(first.log_probabilities(scaled)[:, 1]).mean()
        assert np.exp(second.log_probabilities(other)[:, 1]).mean() > before


def test_a_row_of_weight_zero_is_no_row_and_one_twice_is_two(rows):
    X, y = rows
    weight = np.ones(90)
    weight[:3], weight[3:6] = 0.0, 2.0
    again = np.r_[np.arange(3, 90), np.arange(3, 6)]
    weighted = GPClassifier().fit(X, y, sample_weight=weight)
    assert np.array_equal(
        weighted.predict_proba(X), GPClassifier().fit(X[again], y[again]).predict_proba(X)
    )


def test_time_budget_keeps_the_first_member(rows):
    fitted = fit_class_stack(*rows, 3, time_budget=0.0)
    assert [member.name for member in fitted.members] == ["logistic"]
    assert next(iter(fitted.relevance(["a", "b", "c"]))) == "a"


@pytest.mark.parametrize(
    "options", [{"layers": 1}, {"beta": 1.0}, {"link": "logit"}, {"warm_start": True}]
)
def test_an_option_of_one_gp_gives_one(rows, options, monkeypatch):
    """Which of them is asked for; what a GP gives is tested where GPs are."""
    asked = []

    class Enough(Exception):
        pass

    for name in ("fit_class_stack", "fit_depth"):

        def record(*_, name=name, **__):
            asked.append(name)
            raise Enough

        monkeypatch.setattr(f"directgp.fitting.default_fit.{name}", record)
    for given in (options, {}):
        with pytest.raises(Enough):
            GPClassifier(**given).fit(rows[0], rows[1] > 0)
    assert asked == ["fit_depth", "fit_class_stack"]


def test_partial_fit_goes_on_with_one_gp(rows):
    X, y = rows
    model = GPClassifier().fit(X[:60], y[:60])
    assert isinstance(model.fitted_, FittedClassStack)
    model.set_params(beta=1.0, max_steps=5).partial_fit(X[60:], y[60:])
    assert isinstance(model.fitted_, FittedGP) and model.fitted_.support == 90.0


@pytest.mark.parametrize(
    ("load", "seed"),
    [
        *((load, seed) for load in (load_wine, load_iris) for seed in range(3)),
        (load_breast_cancer, 0),
        *(
            pytest.param(load, seed, marks=pytest.mark.slow)
            for load, seeds in (
                (load_wine, (3, 4)),
                (load_iris, (3, 4)),
                (load_breast_cancer, range(1, 5)),
                (load_digits, range(5)),
            )
            for seed in seeds
        ),
    ],
)
def test_never_clearly_behind_logistic_regression(load, seed):
    X, y = load(return_X_y=True)
    train, test, labels, truth = train_test_split(X, y, test_size=0.2, random_state=seed)
    ours = GPClassifier().fit(train, labels).predict_log_proba(test)
    linear = make_pipeline(StandardScaler(), ReferenceLogistic(max_iter=2000))
    theirs = linear.fit(train, labels).predict_log_proba(test)
    own = np.arange(len(truth))
    worse = theirs[own, truth] - ours[own, truth]
    assert np.mean(worse) < 2.0 * np.std(worse) / np.sqrt(len(worse))


def test_many_rows_are_judged_by_rows_that_the_sparse_gp_has_not_seen(monkeypatch):
    from directgp.fitting.stacking import classification

    monkeypatch.setattr(classification, "MANY_ROWS", 200)
    monkeypatch.setattr(classification, "_GP_ROWS_OF_MANY", 60)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 2))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=240) > 0).astype(float)
    fitted = fit_class_stack(X, y, 2)
    assert list(fitted.shares) == ["logistic", "exact GP", "trees", "sparse GP"]
    assert len(fitted.out_of_fold) == 24
    probabilities = np.exp(fitted.predict(X).log_probabilities)
    assert np.mean(probabilities.argmax(axis=1) == y) > 0.8
    alone = np.exp(fitted.predict(X[:1]).log_probabilities)
    np.testing.assert_array_equal(alone, probabilities[:1])


def test_very_many_rows_are_held_out_instead_of_cross_fitted(monkeypatch):
    from directgp.fitting.stacking import classification

    monkeypatch.setattr(classification, "_MOST_FOLDED", 100)
    monkeypatch.setattr(classification, "_LOGISTIC_ROWS", 50)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(float)
    fitted = fit_class_stack(X, y, 2)
    assert len(fitted.out_of_fold) == 30
    assert np.mean(fitted.predict(X).predicted == y) > 0.85
