"""Peers for regression: each takes a `Problem` and returns a `Forecast` of its test rows.

Targets are standardised by training statistics; forecasts are in the units of y. Methods with
early stopping hold out the last eighth of their rows for it, 10 % of the table.
"""

from __future__ import annotations

import warnings

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
from benchmarks.arena.forecasts import LEVELS, Forecast, Gaussian, quantile_density
from benchmarks.arena.tables import Problem


def _standardised(problem: Problem) -> tuple[np.ndarray, float, float]:
    shift, scale = float(problem.y.mean()), float(problem.y.std()) or 1.0
    return (problem.y - shift) / scale, shift, scale


def marginal(problem: Problem) -> Forecast:
    """The mean and spread of the training targets, whatever the inputs."""
    rows = np.ones(len(problem.X_test))
    return Gaussian(problem.y.mean() * rows, problem.y.std() * rows)


def ridge(problem: Problem) -> Forecast:
    """Ridge regression, its penalty and its spread by leave-one-out."""
    from sklearn.linear_model import RidgeCV

    X, X_test = numbers(problem)
    y, shift, scale = _standardised(problem)
    model = RidgeCV(alphas=np.logspace(-3, 4, 22), store_cv_results=True).fit(X, y)
    spread = np.sqrt(np.min(np.mean(model.cv_results_, axis=0)))
    mean = model.predict(X_test)
    return Gaussian(shift + scale * mean, np.full(len(mean), scale * spread))


def hgb(problem: Problem) -> Forecast:
    """HistGradientBoosting; its spread is that of the residuals in five-fold cross-validation."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict

    X, X_test, _ = native(problem, max_levels=255)
    y, shift, scale = _standardised(problem)
    model = HistGradientBoostingRegressor(
        categorical_features="from_dtype",
        early_stopping=True,
        max_iter=500,
        random_state=problem.seed,
    )
    folds = KFold(5, shuffle=True, random_state=problem.seed)
    spread = np.sqrt(np.mean((y - cross_val_predict(model, X, y, cv=folds)) ** 2))
    mean = model.fit(X, y).predict(X_test)
    return Gaussian(shift + scale * mean, np.full(len(mean), scale * spread))


def catboost(problem: Problem) -> Forecast:
    """CatBoost with `RMSEWithUncertainty` and its own handling of categories."""
    from catboost import CatBoostRegressor

    y, shift, scale = _standardised(problem)
    model, X_test, _ = catboost_model(CatBoostRegressor, problem, y, "RMSEWithUncertainty")
    mean, variance = model.predict(X_test, prediction_type="RMSEWithUncertainty").T
    return Gaussian(shift + scale * mean, scale * np.sqrt(np.maximum(variance, 1e-8)))


def lightgbm(problem: Problem) -> Forecast:
    """LightGBM: a model of the mean and one for each of 19 quantiles; see `Quantiles`."""
    from lightgbm import LGBMRegressor

    X, X_test = lightgbm_rows(problem)
    y, shift, scale = _standardised(problem)
    _, valid = held_out(len(y))

    def predicted(**objective) -> tuple[np.ndarray, np.ndarray]:
        model = lightgbm_model(LGBMRegressor, problem, X, y, **objective)
        return np.asarray(model.predict(X[valid])), np.asarray(model.predict(X_test))

    _, mean = predicted()
    both = [predicted(objective="quantile", alpha=level) for level in LEVELS]
    on_valid, on_test = (np.stack(part) for part in zip(*both, strict=True))
    return quantile_density(
        shift + scale * mean,
        shift + scale * on_test,
        shift + scale * on_valid,
        problem.y[valid],
        scale,
    )


def ngboost(problem: Problem) -> Forecast:
    """NGBoost, the better on validation rows of depth 3 at rate 0.05 and depth 6 at rate 0.1."""
    from ngboost import NGBRegressor
    from sklearn.tree import DecisionTreeRegressor

    X, X_test = numbers(problem)
    y, shift, scale = _standardised(problem)
    fit, valid = held_out(len(y))
    tried = []
    for depth, rate in ((3, 0.05), (6, 0.1)):
        model = NGBRegressor(
            Base=DecisionTreeRegressor(max_depth=depth, random_state=problem.seed),
            n_estimators=MAX_TREES,
            learning_rate=rate,
            early_stopping_rounds=PATIENCE,
            random_state=problem.seed,
            verbose=False,
        )
        model.fit(X[fit], y[fit], X_val=X[valid], Y_val=y[valid])
        dist = model.pred_dist(X[valid], max_iter=model.best_val_loss_itr)
        tried.append((-float(np.mean(dist.logpdf(y[valid]))), model))
    _, best = min(tried, key=lambda pair: pair[0])
    dist = best.pred_dist(X_test, max_iter=best.best_val_loss_itr)
    return Gaussian(shift + scale * dist.params["loc"], scale * dist.params["scale"])


def xgboost_distribution(problem: Problem) -> Forecast:
    """XGBoost for mean and deviation (the package `xgboost-distribution`)."""
    from xgboost_distribution import XGBDistribution

    X, X_test = numbers(problem)
    y, shift, scale = _standardised(problem)
    fit, valid = held_out(len(y))
    model = XGBDistribution(
        distribution="normal",
        n_estimators=MAX_TREES,
        early_stopping_rounds=PATIENCE,
        learning_rate=0.05,
        max_depth=4,
        random_state=problem.seed,
        n_jobs=THREADS,
    )
    model.fit(X[fit], y[fit], eval_set=[(X[valid], y[valid])], verbose=False)
    dist = model.predict(X_test)
    return Gaussian(shift + scale * dist.loc, scale * np.maximum(dist.scale, 1e-4))


MAX_GP_ROWS, GP_SEARCH_ROWS, MAX_ARD = 3000, 1000, 60


def sklearn_gp(problem: Problem) -> Forecast:
    """scikit-learn's exact GP: RBF or Matérn 5/2 plus noise, by marginal likelihood.

    Hyperparameters are learned on at most 1000 rows, the posterior is that of at most 3000; one
    lengthscale per column up to 60 columns, else one for all (memory grows with rows² × columns).
    """
    from scipy.optimize import minimize
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

    def bounded(objective, start, bounds):
        found = minimize(
            objective, start, jac=True, bounds=bounds, method="L-BFGS-B", options={"maxiter": 100}
        )
        return found.x, found.fun

    X, X_test = numbers(problem)
    y, shift, scale = _standardised(problem)
    scales = np.full(X.shape[1], np.sqrt(X.shape[1])) if X.shape[1] <= MAX_ARD else 10.0
    tried = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for kind in (RBF(scales, (1e-2, 1e4)), Matern(scales, (1e-2, 1e4), nu=2.5)):
            kernel = ConstantKernel(1.0, (1e-3, 1e3)) * kind + WhiteKernel(0.1, (1e-6, 10.0))
            model = GaussianProcessRegressor(kernel, optimizer=bounded)
            tried.append(model.fit(X[:GP_SEARCH_ROWS], y[:GP_SEARCH_ROWS]))
        best = max(tried, key=lambda model: model.log_marginal_likelihood_value_)
        if len(y) > GP_SEARCH_ROWS:
            best = GaussianProcessRegressor(best.kernel_, optimizer=None)
            best.fit(X[:MAX_GP_ROWS], y[:MAX_GP_ROWS])
        parts = [best.predict(rows, return_std=True) for rows in _pieces(X_test)]
    mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
    return Gaussian(shift + scale * mean, scale * np.maximum(std, 1e-4))


def _pieces(X: np.ndarray, size: int = 2000) -> list[np.ndarray]:
    return [X[start : start + size] for start in range(0, len(X), size)]


METHODS = {
    "marginal": marginal,
    "ridge": ridge,
    "hgb": hgb,
    "catboost": catboost,
    "lightgbm": lightgbm,
    "ngboost": ngboost,
    "xgboost-dist": xgboost_distribution,
    "sklearn-gp": sklearn_gp,
}
