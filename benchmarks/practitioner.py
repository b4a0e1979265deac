"""The bar a practitioner has today: `GPRegressor()` beside NGBoost, LightGBM and scikit-learn.

Protocol of `quality`: seeded 80/10/10 split, standardised units. Everybody gets the validation
rows for what it chooses (β, the best step, the number of trees); scikit-learn's exact GP gets 1000
rows.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import norm

from benchmarks.quality import split
from experiments.provenance import commit

DATASETS = (
    "concrete", "cadata", "pol", "bike", "elevators", "power", "boston", "energy", "yacht",
    "3droad_part", "kin40k", "protein",
)  # fmt: skip
LEVELS = np.arange(0.05, 1.0, 0.05)
GAPS = (1e-4, 1e-3, 1e-2, 0.03, 0.1)
Gaussians = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def gaussian_scores(y, mean, std) -> dict[str, float]:
    """NLL, CRPS and RMSE of Gaussian predictions."""
    z = (y - mean) / std
    crps = std * (z * (2 * norm.cdf(z) - 1) + 2 * norm.pdf(z) - 1 / np.sqrt(np.pi))
    return {
        "NLL": float(np.mean(-norm.logpdf(y, mean, std))),
        "CRPS": float(np.mean(crps)),
        "RMSE": float(np.sqrt(np.mean((y - mean) ** 2))),
    }


def ours(X, y, X_valid, y_valid, X_test, y_test, seed) -> dict[str, float]:
    """`GPRegressor()`; validation rows are part of what it may learn from and split."""
    from directgp import GPRegressor, metrics

    model = GPRegressor(random_state=seed)
    model.fit(np.concatenate([X, X_valid]), np.concatenate([y, y_valid]))
    scores = metrics.score_table(model.predict_distribution(X_test), y_test)
    return {"NLL": scores["nll"], "CRPS": scores["crps"], "RMSE": scores["rmse"]}


def ngboost(X, y, X_valid, y_valid, seed, rate=0.01) -> Gaussians:
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


def lightgbm_quantiles(X, y, X_valid, y_valid, X_test, y_test, seed) -> dict[str, float]:
    """LightGBM for 19 quantiles; CRPS = 2∫ pinball dτ by the trapezoid rule (0 at τ = 0, 1).

    It gives no density. The one whose distribution function is linear between the quantiles, with
    exponential tails, gives an NLL; the least gap between quantiles is chosen on validation rows.
    """
    import lightgbm

    valid, test = [], []
    for level in LEVELS:
        model = lightgbm.LGBMRegressor(
            objective="quantile", alpha=level, n_estimators=1000, num_leaves=31,
            random_state=seed, verbose=-1, n_jobs=2,
        )  # fmt: skip
        stop = lightgbm.early_stopping(30, verbose=False)
        model.fit(X, y, eval_set=[(X_valid, y_valid)], callbacks=[stop])
        valid.append(np.asarray(model.predict(X_valid)))
        test.append(np.asarray(model.predict(X_test)))
    miss = y_test - np.stack(test)
    pinball = np.mean(np.maximum(LEVELS[:, None] * miss, (LEVELS[:, None] - 1) * miss), axis=1)
    gap = min(GAPS, key=lambda gap: quantile_nll(y_valid, np.stack(valid), gap))
    return {
        "NLL": quantile_nll(y_test, np.stack(test), gap),
        "CRPS": float(2 * (LEVELS[1] - LEVELS[0]) * np.sum(pinball)),
        "RMSE": float(np.sqrt(np.mean(miss[len(LEVELS) // 2] ** 2))),
    }


def quantile_nll(y: np.ndarray, quantiles: np.ndarray, gap: float) -> float:
    """Mean −log density at y of a distribution function linear between quantiles [levels, rows].

    Quantiles that cross are put in order and kept `gap` apart, the median where it is. Beyond the
    outer ones the density falls exponentially from its value in the outer intervals, with the mass
    that is left there.
    """
    q = np.sort(quantiles, axis=0)
    steps = np.maximum(np.diff(q, axis=0), gap)
    apart = np.concatenate([np.zeros_like(q[:1]), np.cumsum(steps, axis=0)])
    middle = len(q) // 2
    q = q[middle] + apart - apart[middle]
    mass = LEVELS[1] - LEVELS[0]
    place = np.sum(y >= q, axis=0)
    inside = np.take_along_axis(steps, np.clip(place - 1, 0, len(steps) - 1)[None], axis=0)[0]
    beyond = np.where(place == 0, (q[0] - y) / steps[0], (y - q[-1]) / steps[-1])
    outside = (place == 0) | (place == len(q))
    width = np.where(place == 0, steps[0], np.where(place == len(q), steps[-1], inside))
    return float(np.mean(np.log(width / mass) + np.where(outside, beyond, 0.0)))


def sklearn_gp(X, y, X_valid, y_valid, seed) -> Gaussians:
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
    "NGBoost": ngboost,
    "NGBoost, rate 0.1": partial(ngboost, rate=0.1),
    "scikit-learn GP, 1000 rows": sklearn_gp,
}
"""Trained on (X, y, X_valid, y_valid, seed), these give a mean and a deviation for each row."""


def scored(name, X, y, X_valid, y_valid, X_test, y_test, seed) -> dict[str, float]:
    """Train one of `GAUSSIANS` and score it on the test rows."""
    predict = GAUSSIANS[name](X, y, X_valid, y_valid, seed)
    return gaussian_scores(y_test, *predict(X_test))


METHODS: dict[str, Callable[..., dict]] = {
    "GPRegressor()": ours,
    "NGBoost": partial(scored, "NGBoost"),
    "NGBoost, rate 0.1": partial(scored, "NGBoost, rate 0.1"),
    "LightGBM quantiles": lightgbm_quantiles,
    "scikit-learn GP, 1000 rows": partial(scored, "scikit-learn GP, 1000 rows"),
}


def tally(rows: list[dict]) -> str:
    """On how many datasets each of ours has the lower score than each peer, losses as losses."""
    by = {(row["data"], row["method"]): row for row in rows}
    data = list(dict.fromkeys(row["data"] for row in rows))
    lines = []
    for own in (name for name in METHODS if name.startswith("GPRegressor")):
        for peer in (name for name in METHODS if not name.startswith("GPRegressor")):
            said = []
            for score in ("NLL", "CRPS", "seconds"):
                pairs = [
                    (by[name, own][score], by[name, peer][score])
                    for name in data
                    if (name, own) in by and (name, peer) in by
                ]
                known = [(a, b) for a, b in pairs if b is not None]
                if known:
                    won = sum(a < b for a, b in known)
                    said.append(f"{score} on {won} of {len(known)}")
            if said:
                lines.append(f"- `{own}` has less than {peer} in {', '.join(said)}.")
    return "\n".join(lines)


def practitioner_rows(seed: int = 0, datasets: tuple[str, ...] = DATASETS) -> list[dict]:
    """One row for each dataset and method; `seconds` is fit and prediction together.

    Finished rows are kept in a file beside the results, so that a stopped run goes on.
    """
    kept = Path(__file__).parent / "results" / "practitioner.jsonl"
    lines = kept.read_text().splitlines() if kept.exists() else []
    rows = [json.loads(line) for line in lines]
    done = {(row["data"], row["method"]) for row in rows}
    for name in datasets:
        parts = split(name, seed)
        for method, score in METHODS.items():
            if (name, method) in done:
                continue
            began = time.monotonic()
            scores = score(*parts, seed)
            seconds = time.monotonic() - began
            own = {"data": name, "method": method, **scores, "seconds": seconds}
            rows.append(own | {"commit": commit()})
            with kept.open("a") as file:
                file.write(json.dumps(rows[-1]) + "\n")
            print(rows[-1], flush=True)
    methods = list(METHODS)
    return sorted(rows, key=lambda r: (datasets.index(r["data"]), methods.index(r["method"])))
