"""NGBoost and scikit-learn's exact GP: trained on arrays, they give a mean and a deviation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

Gaussians = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def ngboost(X, y, X_valid, y_valid, seed: int, rate: float) -> Gaussians:
    """NGBoost, at most 1000 trees of depth 6, stopped on the validation rows."""
    from ngboost import NGBRegressor
    from sklearn.tree import DecisionTreeRegressor

    model = NGBRegressor(
        Base=DecisionTreeRegressor(max_depth=6, random_state=seed),
        n_estimators=1000,
        learning_rate=rate,
        early_stopping_rounds=50,
        random_state=seed,
        verbose=False,
    )
    model.fit(X, y, X_val=X_valid, Y_val=y_valid)

    def predict(rows):
        predicted = model.pred_dist(rows, max_iter=model.best_val_loss_itr)
        return predicted.params["loc"], predicted.params["scale"]

    return predict


def sklearn_gp(X, y, X_valid, y_valid, seed: int) -> Gaussians:
    """scikit-learn's exact GP with an ARD Matérn kernel on the 1000 rows it can afford."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    X, y = X[:1000], y[:1000]
    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GaussianProcessRegressor(kernel, random_state=seed).fit(X, y)
    return partial(model.predict, return_std=True)


GAUSSIANS: dict[str, Callable[..., Gaussians]] = {
    "NGBoost, rate 0.1": partial(ngboost, rate=0.1),
    "scikit-learn GP, 1000 rows": sklearn_gp,
}
"""Trained on (X, y, X_valid, y_valid, seed)."""
