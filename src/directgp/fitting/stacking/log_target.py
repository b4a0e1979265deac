"""The choice between y and log y as target, by the leave-one-out log score of y."""

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.exact.regression import exact_regression
from directgp.fitting.stacking.log_scale import LogScale
from directgp.fitting.stacking.member import ByGP, OutOfFold, calibrated
from directgp.fitting.stacking.stacked_density import log_density
from directgp.predictive.warped import LogWarp

_FEWEST, _MOST, _RATIO = 60, 300, 2.0
"""Minimum and maximum number of rows for the decision, and minimum ratio of largest and least y."""
_STEPS = 25


def log_target(
    X: Float[np.ndarray, "N D"],
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    seed: int,
    start: Callable[..., "Future[Any]"],
) -> LogWarp | None:
    """The logarithm, if an exact GP of log y predicts y better than one of y; else None.

    Both are calibrated as members of a stack are. Better means that the mean difference of their
    leave-one-out log scores of y is more than its standard error.

    Args:
        X: standardised inputs.
        y: targets in the user's units.
        weight: of the rows.
        seed: of the rows that decide, where there are many.
        start: starts a function in a second thread.
    """
    if len(y) < _FEWEST or not np.min(y) > 0 or np.max(y) < _RATIO * np.min(y):
        return None
    # Below the least target: as far as that a new row can be expected to be positive, too.
    warp = LogWarp(float(np.min(y) / np.e), float(np.max(y)))
    if not (warp.lowest > 0 and np.isfinite(warp.highest)):
        return None
    rows = np.random.default_rng(seed).permutation(len(y))[:_MOST]
    own = X[rows], weight[rows], seed
    of_log = start(_log_scores, warp.forward(y[rows]), *own)
    of_itself = _log_scores(y[rows], *own)
    gain = of_log.result() + warp.log_slope(y[rows]) - of_itself
    share = weight[rows] / weight[rows].sum()
    mean = float(share @ gain)
    error = float(np.sqrt(share**2 @ (gain - mean) ** 2))
    return warp if mean > error else None


def _log_scores(
    y: Float[np.ndarray, "N"],
    X: Float[np.ndarray, "N D"],
    weight: Float[np.ndarray, "N"],
    seed: int,
) -> Float[np.ndarray, "N"]:
    """Log p(y_i) by a calibrated exact GP of the other rows, at every row."""
    shift, scale = float(np.average(y, weights=weight)), float(np.std(y)) or 1.0
    z = (y - shift) / scale
    gp = exact_regression(X, z, weight=weight, max_steps=_STEPS, seed=seed)
    seen = OutOfFold(gp.left_out.mean, np.sqrt(gp.left_out.variance))
    local = LogScale.fit(X, (z - seen.mean) / seen.deviation, weight, seed)
    member = calibrated("exact GP", ByGP(gp), seen, local, z, weight)
    return log_density(member.out_of_fold(seen), z) - np.log(scale)
