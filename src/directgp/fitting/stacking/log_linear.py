"""Ridge-penalised Poisson regression (scikit-learn's), its penalty chosen by cross-validation."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from directgp.linalg.lean_imports import lean_imports

_PENALTIES = (10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4)
_FOLDS = 5
_LEAST = 0.5
"""Added to the total count, so that the logarithm of the rate is finite."""
_BEYOND = 1.0
"""Upper limit of out-of-fold log-rates, above that of the largest count."""


class CrossFittedRates(NamedTuple):
    """log λ = xᵀ slopes + level of all rows, and log-rates of every row by the other folds."""

    slopes: Float[np.ndarray, "D"]
    level: float
    out_of_fold: Float[np.ndarray, "N"]


def cross_fitted_log_linear(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    *,
    seed: int,
) -> CrossFittedRates:
    """Poisson regression with the penalty that minimises the out-of-fold loss.

    Args:
        X: standardised inputs.
        y: counts.
        weight: of the rows.
        seed: of the folds.

    >>> X = np.linspace(-1, 1, 60)[:, None]
    >>> found = cross_fitted_log_linear(X, np.round(np.exp(2 + X[:, 0])), np.ones(60), seed=0)
    >>> round(found.level), round(float(found.slopes[0]))
    (2, 1)
    """
    # Waiting OpenMP threads spin, which takes five times the CPU time on a busy machine.
    with threadpool_limits(1, user_api="openmp"):
        return _cross_fitted(X, y, weight, seed)


def _cross_fitted(X: np.ndarray, y: np.ndarray, weight: np.ndarray, seed: int) -> CrossFittedRates:
    folds = min(_FOLDS, len(y))
    part = np.random.default_rng(seed).permutation(len(y)) % folds
    top = np.log(np.max(y, initial=0.0) + 1.0) + _BEYOND
    best: tuple[float, float, np.ndarray] | None = None
    for penalty in _PENALTIES:
        rates = np.empty(len(y))
        for fold in range(folds):
            own, others = part == fold, part != fold
            slopes, level = _fitted(X[others], y[others], weight[others], penalty)
            rates[own] = np.minimum(X[own] @ slopes + level, top)
        loss = float(weight @ (np.exp(rates) - y * rates))
        if best is None or loss < best[0]:
            best = loss, penalty, rates
    assert best is not None
    slopes, level = _fitted(X, y, weight, best[1])
    return CrossFittedRates(slopes, level, best[2])


def _fitted(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: float
) -> tuple[np.ndarray, float]:
    """Slopes and level; a constant rate if there are no rows or zeros only."""
    with lean_imports():
        from sklearn.linear_model import PoissonRegressor

    total, rows = float(weight @ y), float(weight.sum())
    if not total > 0 or len(y) < 2:
        return np.zeros(X.shape[1]), float(np.log((total + _LEAST) / (rows + 1.0)))
    model = PoissonRegressor(alpha=penalty, max_iter=300, tol=1e-6)
    with np.errstate(all="ignore"):  # steps that overflow are taken back
        model.fit(X, y, sample_weight=weight)
    slopes, level = np.asarray(model.coef_), float(model.intercept_)
    if not (np.isfinite(slopes).all() and np.isfinite(level)):
        return np.zeros(X.shape[1]), float(np.log(total / rows))
    return slopes, level
