"""CatBoost and LightGBM as peers use them: settings, rows for early stopping, training."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.encoding import native, texts
from benchmarks.arena.tables import Problem

THREADS = 2
MAX_TREES = 1000
PATIENCE = 50


def held_out(num_rows: int) -> tuple[slice, slice]:
    """Training rows, and the last eighth for early stopping; rows are already permuted."""
    first = num_rows - max(1, num_rows // 8)
    return slice(first), slice(first, None)


def catboost_model(kind: Any, problem: Problem, y: np.ndarray, loss: str) -> tuple[Any, Any, Any]:
    """Train CatBoost with its own handling of categories.

    Args:
        kind: `CatBoostRegressor` or `CatBoostClassifier`.
        problem: the inputs.
        y: the training targets.
        loss: the loss function.

    Returns:
        The model, the test rows and the rows for early stopping.
    """
    from catboost import Pool

    X, X_test, categories = texts(problem)
    fit, valid = held_out(len(y))
    model = kind(
        loss_function=loss,
        iterations=MAX_TREES,
        early_stopping_rounds=PATIENCE,
        random_seed=problem.seed,
        thread_count=THREADS,
        verbose=False,
        allow_writing_files=False,
    )
    model.fit(
        Pool(X[fit], y[fit], cat_features=categories),
        eval_set=Pool(X[valid], y[valid], cat_features=categories),
        use_best_model=True,
    )
    return model, X_test, X[valid]


def lightgbm_rows(problem: Problem) -> tuple[Any, Any]:
    """Training and test frames with column names that LightGBM accepts."""
    X, X_test, _ = native(problem)
    X.columns = X_test.columns = [f"c{i}" for i in range(X.shape[1])]
    return X, X_test


def lightgbm_model(kind: Any, problem: Problem, X: Any, y: np.ndarray, **objective: Any) -> Any:
    """Train LightGBM with early stopping.

    Args:
        kind: `LGBMRegressor` or `LGBMClassifier`.
        problem: for its seed.
        X: training rows from `lightgbm_rows`.
        y: the training targets.
        **objective: further arguments of the model.
    """
    from lightgbm import early_stopping

    fit, valid = held_out(len(y))
    model = kind(
        n_estimators=MAX_TREES, random_state=problem.seed, n_jobs=THREADS, verbose=-1, **objective
    )
    stop = early_stopping(PATIENCE, verbose=False)
    model.fit(X[fit], y[fit], eval_set=[(X[valid], y[valid])], callbacks=[stop])
    return model
