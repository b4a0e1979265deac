"""The default estimators of this library, called as by a user."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.encoding import numbers
from benchmarks.arena.forecasts import Forecast
from benchmarks.arena.tables import Problem


def _rows(problem: Problem) -> tuple[Any, Any]:
    """Training and test inputs: the frames themselves, if the estimators accept frames.

    Otherwise the numeric encoding of the peers without categories.
    """
    from directgp import GPRegressor

    tags = GPRegressor().__sklearn_tags__().input_tags
    if tags.allow_nan or tags.categorical or tags.string:
        return problem.X, problem.X_test
    return numbers(problem)


def regressor(problem: Problem, **options: Any) -> Forecast:
    """`GPRegressor()`."""
    from directgp import GPRegressor

    X, X_test = _rows(problem)
    options = {"random_state": problem.seed, **options}
    return GPRegressor(**options).fit(X, problem.y).predict_distribution(X_test)


def count_regressor(problem: Problem, **options: Any) -> Forecast:
    """`GPRegressor(likelihood="negative-binomial")`, the likelihood `fit` has for counts."""
    return regressor(problem, **{"likelihood": "negative-binomial", **options})


def classifier(problem: Problem, **options: Any) -> np.ndarray:
    """`GPClassifier()`; probabilities [rows, classes]."""
    from directgp import GPClassifier

    X, X_test = _rows(problem)
    model = GPClassifier(**{"random_state": problem.seed, **options}).fit(X, problem.y)
    probabilities = np.zeros((len(problem.X_test), len(problem.classes)))
    probabilities[:, model.classes_] = model.predict_proba(X_test)
    return probabilities
