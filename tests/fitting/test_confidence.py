"""No more confidence than the rows can support: classes, numbers, files."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from directgp import GPClassifier, fit
from directgp.decisions import BinaryCost, decide
from directgp.fitting.specs import Training
from directgp.persistence import load, save
from tests.flat import flat

X = np.random.default_rng(0).normal(size=(60, 2))
LABELS = (X[:, 0] > 0).astype(float)
FAR = 50.0 * np.random.default_rng(1).normal(size=(40, 2))


@pytest.fixture(scope="module")
def separable():
    """Two classes without an error, and hardly a penalty: as sure as a model can be."""
    return fit(X, LABELS, likelihood="bernoulli", beta=0.01, training=Training(max_steps=300))


def test_breast_cancer_is_not_predicted_with_blind_confidence():
    """Chosen by 45 rows without an error, β was 0.0125 and the log loss 0.29 here."""
    features, labels = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(1002).permutation(len(labels))
    train, test = order[:455], order[455:]
    model = GPClassifier(max_steps=1000).fit(features[train], labels[train])
    assert -model.score(features[test], labels[test]) < 0.15
    assert model.fitted_.beta > 0.1
    assert len(model.fitted_.held_out) > 300, "two thirds of the rows were held out in turn"
    assert model.fitted_.support == 455, "all rows were learned from"
    lowest = model.predict_proba(features).min()
    assert lowest >= 1 / (2 * 456)


def test_probabilities_are_bounded_by_the_number_of_rows(separable):
    assert separable.support == 60
    p = separable.predict(X)
    as_is = replace(separable, support=None, _ready={}).predict(X)
    assert as_is.probabilities.min() < 1e-4 < 1 / (2 * 61) <= p.probabilities.min()
    np.testing.assert_allclose(p.probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(p.probabilities, (60 * as_is.probabilities + 0.5) / 61)
    assert -p.log_prob(1 - LABELS).min() <= np.log(2 * 61) + 1e-9


def test_scores_and_decisions_see_the_same_bounded_probabilities(separable):
    p = separable.predict(FAR)
    assert (p.probabilities.min(axis=1) >= 1 / (2 * 61)).all()
    # One mistake that costs more than 2·61 others is never risked on the word of 60 rows.
    assert set(np.asarray(decide(p, BinaryCost(1, 2 * 62)).action)) == {1}


def test_files_and_pickles_keep_the_bound(separable, tmp_path):
    save(separable, tmp_path / "model.directgp")
    loaded = load(tmp_path / "model.directgp").fitted
    for other in (loaded, pickle.loads(pickle.dumps(separable))):
        assert other.support == separable.support
        np.testing.assert_array_equal(
            other.predict(FAR).log_probabilities, separable.predict(FAR).log_probabilities
        )


def test_rows_of_weight_two_count_as_two(separable):
    heavy = fit(
        X,
        LABELS,
        likelihood="bernoulli",
        beta=1.0,
        sample_weight=np.full(60, 2.0),
        training=Training(max_steps=5),
    )
    light = fit(
        X,
        LABELS,
        likelihood="bernoulli",
        beta=1.0,
        sample_weight=np.full(60, 0.1),
        training=Training(max_steps=5),
    )
    assert heavy.support == 120 and light.support == 60
    longer = fit(X[:30], LABELS[:30], beta=1.0, model=separable, training=Training(max_steps=5))
    assert longer.support == 60


def test_noise_is_what_held_out_rows_say_it_is():
    """Twenty inputs, one of which matters: on its training rows a model sees hardly any noise."""
    rng = np.random.default_rng(3)
    wide, new = rng.normal(size=(80, 20)), rng.normal(size=(2000, 20))
    y, y_new = (rows[:, 0] + 0.5 * rng.normal(size=len(rows)) for rows in (wide, new))
    fitted = fit(wide, y, training=Training(max_steps=500))
    lower, upper = fitted.predict(new).interval(0.9)
    assert np.mean((lower < y_new) & (y_new < upper)) > 0.8
    nll = -np.mean(fitted.predict(new).log_prob(y_new))
    gaussian = 0.5 * np.log(2 * np.pi * y.var()) + 0.5 * np.mean((y_new - y.mean()) ** 2) / y.var()
    assert nll < gaussian
    assert fitted.hyperparameters()["noise_std"] > 0.1
    assert len(fitted.held_out) == 80


@pytest.mark.parametrize(
    "options,held_out",
    [
        ({"validation": 0.2}, 12),
        ({"patience": 3}, 6),
        ({"time_budget": 100.0}, 6),
        ({}, 60),
    ],
    ids=lambda value: next(iter(value), "") if isinstance(value, dict) else "",
)
def test_rows_are_held_out_for_good_where_that_is_asked_for(options, held_out):
    fitted = fit(X, X[:, 0], **flat(beta_grid=[1.0, 4.0], max_steps=20, **options))
    assert len(fitted.held_out) == held_out
    assert set(fitted.beta_curve) == {1.0, 4.0}


def test_hyperparameters_from_the_elbo_are_those_of_each_fold():
    fitted = fit(
        X, X[:, 0], hyperparameters="from-elbo", beta=[1.0, 4.0], training=Training(max_steps=20)
    )
    assert len(fitted.held_out) == 60 and fitted.beta in (1.0, 4.0)
