"""Peers for classification: each takes a `Problem` and returns probabilities [rows, classes].

Methods with early stopping hold out the last eighth of their rows for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.boosting import (
    MAX_TREES,
    PATIENCE,
    THREADS,
    catboost_model,
    held_out,
    lightgbm_model,
    lightgbm_rows,
)
from benchmarks.arena.encoding import native, numbers
from benchmarks.arena.tables import Problem


def _all_classes(problem: Problem, model: Any, probabilities: Any) -> np.ndarray:
    """Probabilities of all classes, including those that the model has not seen."""
    full = np.zeros((len(problem.X_test), len(problem.classes)))
    full[:, np.asarray(model.classes_, dtype=int)] = np.asarray(probabilities)
    return full


def frequencies(problem: Problem) -> np.ndarray:
    """The share of every class in training, with one more row of each."""
    counts = np.bincount(problem.y, minlength=len(problem.classes)) + 1.0
    return np.tile(counts / counts.sum(), (len(problem.X_test), 1))


def logistic(problem: Problem) -> np.ndarray:
    """Logistic regression; its penalty by cross-validation of the log loss."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV, KFold

    X, X_test = numbers(problem)
    folds = KFold(5, shuffle=True, random_state=problem.seed)
    grid = {"C": np.logspace(-3, 3, 7)}
    search = GridSearchCV(
        LogisticRegression(max_iter=500), grid, scoring=_log_score, cv=folds, error_score="raise"
    )
    search.fit(X, problem.y)
    return _all_classes(problem, search.best_estimator_, search.predict_proba(X_test))


def _log_score(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Mean log probability; a class the fold has not seen has a probability of 1e-6."""
    places = {label: i for i, label in enumerate(model.classes_)}
    p = model.predict_proba(X)
    seen = np.array(
        [p[row, places[label]] if label in places else 0 for row, label in enumerate(y)]
    )
    return float(np.mean(np.log(np.maximum(seen, 1e-6))))


def hgb(problem: Problem) -> np.ndarray:
    """HistGradientBoosting, stopped on a tenth of its rows."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, X_test, _ = native(problem, max_levels=255)
    model = HistGradientBoostingClassifier(
        categorical_features="from_dtype",
        early_stopping=True,
        max_iter=500,
        random_state=problem.seed,
    ).fit(X, problem.y)
    return _all_classes(problem, model, model.predict_proba(X_test))


def catboost(problem: Problem) -> np.ndarray:
    """CatBoost with its own handling of categories."""
    from catboost import CatBoostClassifier

    loss = "Logloss" if len(problem.classes) == 2 else "MultiClass"
    model, X_test, _ = catboost_model(CatBoostClassifier, problem, problem.y, loss)
    return _all_classes(problem, model, model.predict_proba(X_test))


def lightgbm(problem: Problem) -> np.ndarray:
    """LightGBM with its own handling of categories."""
    from lightgbm import LGBMClassifier

    X, X_test = lightgbm_rows(problem)
    model = lightgbm_model(LGBMClassifier, problem, X, problem.y)
    return _all_classes(problem, model, model.predict_proba(X_test))


def xgboost(problem: Problem) -> np.ndarray:
    """XGBoost with its own handling of categories."""
    from xgboost import XGBClassifier

    X, X_test, _ = native(problem)
    fit, valid = held_out(len(problem.y))
    model = XGBClassifier(
        n_estimators=MAX_TREES,
        early_stopping_rounds=PATIENCE,
        learning_rate=0.1,
        enable_categorical=True,
        random_state=problem.seed,
        n_jobs=THREADS,
    )
    model.fit(X[fit], problem.y[fit], eval_set=[(X[valid], problem.y[valid])], verbose=False)
    return _all_classes(problem, model, model.predict_proba(X_test))


METHODS = {
    "frequencies": frequencies,
    "logistic": logistic,
    "hgb": hgb,
    "catboost": catboost,
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}
