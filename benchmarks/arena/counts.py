"""Peers for counts: a model of the mean, with Poisson or negative-binomial counts around it.

Boosting and linear models with Poisson loss predict a mean; the dispersion of the negative
binomial, variance = mean + α mean², is the one with the best log score out of fold or on held-out
rows, and Poisson counts (α = 0) are among its choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.boosting import (
    catboost_model,
    held_out,
    lightgbm_model,
    lightgbm_rows,
)
from benchmarks.arena.encoding import native, numbers
from benchmarks.arena.forecasts import Counts, Forecast
from benchmarks.arena.tables import Problem

DISPERSIONS = (0.0, *np.logspace(-3, 1.5, 28).tolist())
_LEAST = 1e-3


def best_dispersion(mean: np.ndarray, y: np.ndarray) -> float:
    """The dispersion with the best log score of counts y, predicted without them."""

    def score(dispersion: float) -> float:
        return float(np.mean(Counts(np.maximum(mean, _LEAST), dispersion).log_density(y)))

    return max(DISPERSIONS, key=score)


def _forecast(mean: np.ndarray, dispersion: float) -> Forecast:
    return Counts(np.maximum(mean, _LEAST), dispersion)


def marginal(problem: Problem) -> Forecast:
    """Negative-binomial counts with the mean of the training targets, whatever the inputs."""
    mean = np.full(len(problem.y), problem.y.mean())
    return _forecast(mean[:1].repeat(len(problem.X_test)), best_dispersion(mean, problem.y))


def _cross_fitted(model: Any, X: Any, X_test: Any, problem: Problem) -> tuple[np.ndarray, float]:
    """Mean of the test rows, and the best dispersion for five-fold predictions."""
    from sklearn.model_selection import KFold, cross_val_predict

    folds = KFold(5, shuffle=True, random_state=problem.seed)
    dispersion = best_dispersion(cross_val_predict(model, X, problem.y, cv=folds), problem.y)
    return model.fit(X, problem.y).predict(X_test), dispersion


def glm(problem: Problem) -> Forecast:
    """A log-linear Poisson model, its penalty by cross-validation, with a dispersion."""
    from sklearn.linear_model import PoissonRegressor
    from sklearn.model_selection import GridSearchCV

    X, X_test = numbers(problem)
    search = GridSearchCV(
        PoissonRegressor(max_iter=500),
        {"alpha": np.logspace(-4, 1, 6)},
        scoring="neg_mean_poisson_deviance",
    ).fit(X, problem.y)
    return _forecast(*_cross_fitted(search.best_estimator_, X, X_test, problem))


def _hgb(problem: Problem) -> tuple[Any, Any, Any]:
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, X_test, _ = native(problem, max_levels=255)
    model = HistGradientBoostingRegressor(
        loss="poisson",
        categorical_features="from_dtype",
        early_stopping=True,
        max_iter=500,
        random_state=problem.seed,
    )
    return model, X, X_test


def hgb_poisson(problem: Problem) -> Forecast:
    """HistGradientBoosting with Poisson loss and Poisson counts."""
    model, X, X_test = _hgb(problem)
    return _forecast(model.fit(X, problem.y).predict(X_test), 0.0)


def hgb(problem: Problem) -> Forecast:
    """HistGradientBoosting with Poisson loss and a dispersion."""
    model, X, X_test = _hgb(problem)
    return _forecast(*_cross_fitted(model, X, X_test, problem))


def catboost(problem: Problem) -> Forecast:
    """CatBoost with Poisson loss, its own handling of categories, and a dispersion."""
    from catboost import CatBoostRegressor

    model, X_test, X_valid = catboost_model(CatBoostRegressor, problem, problem.y, "Poisson")
    _, valid = held_out(len(problem.y))
    on_valid = model.predict(X_valid, prediction_type="Exponent")
    dispersion = best_dispersion(on_valid, problem.y[valid])
    return _forecast(model.predict(X_test, prediction_type="Exponent"), dispersion)


def lightgbm(problem: Problem) -> Forecast:
    """LightGBM with Poisson loss, its own handling of categories, and a dispersion."""
    from lightgbm import LGBMRegressor

    X, X_test = lightgbm_rows(problem)
    model = lightgbm_model(LGBMRegressor, problem, X, problem.y, objective="poisson")
    _, valid = held_out(len(problem.y))
    dispersion = best_dispersion(np.asarray(model.predict(X[valid])), problem.y[valid])
    return _forecast(np.asarray(model.predict(X_test)), dispersion)


METHODS = {
    "marginal": marginal,
    "glm": glm,
    "hgb-poisson": hgb_poisson,
    "hgb": hgb,
    "catboost": catboost,
    "lightgbm": lightgbm,
}
