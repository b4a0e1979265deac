"""The attack by threads and processes: many that predict with one model, and forked children."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from joblib import Parallel, delayed

import directgp as dg
from directgp.errors import ForkedProcess
from tests.attack.children import in_child
from tests.attack.result import Result, Tell, silent

NEW = np.random.default_rng(2).normal(size=(5, 3))
_THREADS = 8
_MOST_SECONDS = 1.0
ALLOWED = ("right", "clear error")


def models() -> dict[str, Any]:
    """One estimator of each kind: one GP, and stacks of numbers and of classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=20)
    return {
        "GP": dg.GPRegressor(beta=1.0, max_steps=3, num_inducing=4).fit(X, y),
        "stack": dg.GPRegressor().fit(X, y),
        "stack of classes": dg.GPClassifier().fit(X, y > 0),
    }


def predicted(model: Any, rows: np.ndarray = NEW) -> np.ndarray:
    """What a user asks for, as one array."""
    if isinstance(model, dg.GPClassifier):
        return model.predict_proba(rows)
    return np.column_stack([*model.predict(rows, return_std=True), model.predict_quantiles(rows)])


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Predict `count` times in threads, as often in workers of loky and in forked children."""
    result = Result()
    made = models()
    right = {name: predicted(model) for name, model in made.items()}
    order = [list(made)[number % len(made)] for number in range(count)]
    with ThreadPoolExecutor(_THREADS) as pool:
        # Models that have not predicted yet: what is prepared at first use is raced for.
        fresh = [
            pickle.loads(pickle.dumps(made)) for _ in range(1 + count // (_THREADS * len(made)))
        ]
        jobs = [(name, fresh[k // (_THREADS * len(made))][name]) for k, name in enumerate(order)]
        found = list(pool.map(lambda job: _outcome(*job, right), jobs))
    for outcome in found:
        result.add("threads", outcome, ("right",), tell)
    for outcome in Parallel(n_jobs=2, backend="loky")(
        delayed(_outcome)(name, made[name], right) for name in order
    ):
        result.add("workers of loky", str(outcome), ("right",), tell)
    for name in order:
        with result.timed():
            outcome = in_child(lambda name=name: _outcome(name, made[name], right))
        result.add(f"forked: {name} predicts", outcome, ALLOWED, tell)
    for name in order[: max(3, count // 5)]:
        with result.timed():
            outcome = in_child(lambda name=name: _refit(made[name]))
        result.add(f"forked: {name} is fitted", outcome, ALLOWED, tell)
    if result.longest > _MOST_SECONDS:
        result.add("forked", f"the slowest child took {result.longest:.1f} s", ALLOWED, tell)
    return result


def _outcome(name: str, model: Any, right: dict[str, np.ndarray]) -> str:
    try:
        same = np.array_equal(predicted(model), right[name])
    except ForkedProcess as error:
        return "clear error" if "\n" not in str(error) else str(error)
    except Exception as error:
        return f"{name}: {type(error).__name__}: {error}"
    return "right" if same else f"{name}: other numbers than before"


def _refit(model: Any) -> str:
    rows = np.random.default_rng(1).normal(size=(10, 3))
    try:
        again = type(model)(**model.get_params()).fit(rows, rows[:, 0] > 0)
    except ForkedProcess:
        return "clear error"
    return "right" if np.isfinite(predicted(again)).all() else "predictions that are not finite"
