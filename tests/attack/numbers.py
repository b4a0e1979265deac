"""The attack by numbers: every public fit and likelihood, on rows that are hard to bear.

All rows have one shape, so that programs are compiled once, and training takes a few steps: what
is looked for is a NaN, a variance below 0, quantiles that cross, or an error that is not one line.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import directgp as dg
from directgp.likelihoods import likelihoods
from directgp.losses import losses
from directgp.predictive import ClassProbabilities
from tests.attack.result import Result, Tell, refusal, silent

N, D = 16, 2
SOUND, REFUSED = "sound", "refused"
LEVELS = (0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999)
_SLOWEST = 60.0
_SPEC = dg.Sparse(num_inducing=4)
_DEEP = dg.Deep(num_inducing=4, width=2, num_sites=2)
_FEW = dg.Training(max_steps=2)
_QUICK: dict[str, Any] = {"beta": 1.0, "training": _FEW, "verbose": False}


class Way(NamedTuple):
    """A public way to fit: the kind of its targets, and the call."""

    targets: str
    fit: Callable[[np.ndarray, np.ndarray, np.ndarray | None], Any]


def _of(likelihood: str) -> str:
    return {"classes": "classes", "counts": "counts"}.get(
        likelihoods.create(likelihood).support, "numbers"
    )


def _fit(**options: Any) -> Callable[[Any, Any, Any], Any]:
    return lambda X, y, w: dg.fit(X, y, sample_weight=w, **({"model": _SPEC} | _QUICK | options))


def ways() -> dict[str, Way]:
    """Every likelihood, every loss, every structure, and the other public fits."""
    found = {f"fit, {name}": Way(_of(name), _fit(likelihood=name)) for name in likelihoods}
    found |= {
        f"fit, {name}": Way("numbers", _fit(loss=name)) for name in losses if name != "direct-log"
    }
    found |= {
        "fit, student-t, robust": Way(
            "numbers", _fit(likelihood="student-t", loss="gibbs-robust-gamma")
        ),
        "fit, counts, pinball": Way(
            "counts", _fit(likelihood="negative-binomial", loss="direct-pinball")
        ),
        "fit, deep": Way("numbers", _fit(model=_DEEP)),
        "fit, decoupled": Way("numbers", _fit(model=dg.Decoupled(mean_inducing=6, num_inducing=4))),
        "fit, linear": Way("numbers", _fit(model=dg.Sparse(num_inducing=4, kernel="linear"))),
        "fit_collapsed": Way(
            "numbers",
            lambda X, y, w: dg.fit_collapsed(X, y, model=_SPEC, max_steps=2, verbose=False),
        ),
        "fit_exact, ep": Way("two", lambda X, y, w: dg.fit_exact(X, y, max_steps=2)),
        "fit_exact, laplace": Way(
            "two", lambda X, y, w: dg.fit_exact(X, y, max_steps=2, method="laplace")
        ),
        "fit_for_cost": Way(
            "numbers",
            lambda X, y, w: dg.fit_for_cost(
                X, y, dg.NewsvendorCost(4, 1), model=_SPEC, sample_weight=w, training=_FEW
            ),
        ),
        "fit_outputs": Way(
            "numbers",
            lambda X, y, w: dg.fit_outputs(
                X, np.stack([y, y[::-1]], axis=1), model=_SPEC, sample_weight=w, **_QUICK
            ),
        ),
        "GPRegressor": Way(
            "numbers", lambda X, y, w: _Estimator(dg.GPRegressor().fit(X, y, sample_weight=w))
        ),
        "GPClassifier": Way(
            "classes", lambda X, y, w: _Estimator(dg.GPClassifier().fit(X, y, sample_weight=w))
        ),
    }
    return found


class _Estimator(NamedTuple):
    """An estimator that predicts as other fits do."""

    model: Any

    def predict(self, X: np.ndarray) -> Any:
        return self.model.predict_distribution(X)


_SCALES = (1e-300, 1e-150, 1e-20, 1e-8, 1.0, 1e8, 1e20, 1e100, 1e150, 1e300)


def _inputs(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(N, D))
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: X,
        lambda: X * rng.choice(_SCALES, D),
        lambda: X + rng.choice([0.0, 1e3, 1e8, 1e15, -1e300], D),
        lambda: np.repeat(X[:2], N // 2, axis=0),
        lambda: np.tile(X[:, :1], (1, D)),
        lambda: np.where(rng.random((N, D)) < 0.9, 0.0, X),
        lambda: np.full((N, D), float(rng.choice(_SCALES))),
        lambda: np.where(np.arange(N)[:, None] == 3, rng.choice([1e300, -1e30, 1e5]), X),
        lambda: np.where(rng.random((N, D)) < 0.05, rng.choice([np.nan, np.inf]), X),
        lambda: np.round(X),
        lambda: X * 5e-324,
    )
    return ways[rng.integers(len(ways))]()


def _targets(rng: np.random.Generator, kind: str, X: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        f = np.nan_to_num(np.tanh(X[:, 0]), nan=0.0)
    noise = f + 0.3 * rng.normal(size=N)
    if kind in ("classes", "two"):
        y = (noise > 0).astype(float)
        if rng.random() < 0.3:
            y = np.where(np.arange(N) == rng.integers(N), 1.0 - y[0], y[0])
        return np.full(N, y[0]) if rng.random() < 0.1 else y
    if kind == "counts":
        y = rng.poisson(np.exp(np.clip(noise, -5, 5))).astype(float)
        return {
            0: lambda: y,
            1: lambda: y * rng.choice([10, 10**3, 10**6, 10**9]),
            2: lambda: np.zeros(N),
            3: lambda: np.where(np.arange(N) == 3, rng.choice([1e6, 1e9, 1e15]), y),
            4: lambda: np.full(N, float(rng.choice([1, 100, 1e6]))),
            5: lambda: y - (0.5 if rng.random() < 0.5 else 5.0),
        }[int(rng.integers(6))]()
    return {
        0: lambda: noise,
        1: lambda: noise * rng.choice(_SCALES),
        2: lambda: noise + rng.choice([1e6, -1e15, 1e300]),
        3: lambda: np.full(N, float(rng.choice(_SCALES))),
        4: lambda: np.where(np.arange(N) == 3, rng.choice([1e4, -1e30, 1e300]), noise),
        5: lambda: np.where(rng.random(N) < 0.1, rng.choice([np.nan, np.inf, -np.inf]), noise),
        6: lambda: 1.0 / rng.normal(size=N) ** 3,
        7: lambda: np.round(noise),
        8: lambda: np.where(rng.random(N) < 0.8, 0.0, noise),
    }[int(rng.integers(9))]()


def _weights(rng: np.random.Generator) -> np.ndarray | None:
    if rng.random() < 0.6:
        return None
    w = rng.random(N)
    return {
        0: lambda: w,
        1: lambda: w * rng.choice([1e-300, 1e-8, 1e8, 1e300]),
        2: lambda: np.where(rng.random(N) < 0.5, 0.0, w),
        3: lambda: np.where(np.arange(N) == 3, 1e12, w),
        4: lambda: np.zeros(N),
        5: lambda: np.where(np.arange(N) == 3, rng.choice([-1.0, np.nan, np.inf]), w),
        6: lambda: np.where(np.arange(N) < 2, 1.0, 0.0),
    }[int(rng.integers(7))]()


def _new_rows(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    usual = np.nan_to_num(X[:4], nan=0.0, posinf=0.0, neginf=0.0)
    far = rng.normal(size=(4, D)) * rng.choice(_SCALES, (4, 1))
    return np.concatenate([usual, far])


def attack(count: int, seed: int = 0, tell: Tell = silent, few: bool = False) -> Result:
    """Fit `count` hostile sets of rows, all ways (or a few) in turn, and look at predictions."""
    result = Result()
    every = ways()
    if few:
        every = {name: every[name] for name in ("GPRegressor", "GPClassifier", "fit, gaussian")}
    for number in range(count):
        name = list(every)[number % len(every)]
        with result.timed() as took:
            outcome = outcome_of(every[name], seed, number)
        if outcome not in (SOUND, REFUSED) or took.processor > _SLOWEST:
            outcome = f"number {number}: {outcome} ({took.processor:.0f} s of processor time)"
        result.add(name, outcome, (SOUND, REFUSED), tell)
        if number % 500 == 499:
            tell(f"{number + 1} fits, {len(result.bad)} bad")
    return result


def outcome_of(way: Way, seed: int, number: int) -> str:
    """One of the allowed outcomes, or in words what happened instead."""
    rng = np.random.default_rng([seed, number])
    X = _inputs(rng)
    y, weights, new = _targets(rng, way.targets, X), _weights(rng), _new_rows(rng, X)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = way.fit(X, y, weights).predict(new)
            each = found if isinstance(found, tuple) else (found,)
            faults = [fault for one in each if (fault := fault_in(one, way.targets))]
        except Exception as error:
            return refusal(error)
    return faults[0] if faults else SOUND


def fault_in(predictive: Any, targets: str) -> str:
    """What must not be in a predictive distribution; nothing if all is well."""
    if isinstance(predictive, ClassProbabilities):
        shares = predictive.probabilities
        sound = (shares >= 0).all() and np.allclose(shares.sum(axis=-1), 1)
        return "" if sound else f"probabilities {shares.tolist()}"
    quantiles = predictive.quantile(LEVELS)
    seen = np.concatenate([predictive.mean[:4], [0.0, 1.0]])
    at = np.round(np.abs(seen[:2])).clip(0, 1e9) if targets == "counts" else seen[:2]
    density = predictive[:2].log_prob(at)
    parts = {
        "mean": predictive.mean,
        "variance": predictive.variance,
        "quantiles": quantiles,
        "samples": predictive.sample(3, seed=0),
    }
    for name, values in parts.items():
        if not np.isfinite(values).all():
            return f"{name} not finite: {np.asarray(values).ravel()[:5]}"
    if (predictive.variance < 0).any():
        return "a variance below 0"
    if (np.diff(quantiles, axis=-1) < 0).any():
        return "quantiles that cross"
    return "log density is NaN" if np.isnan(density).any() else ""
