"""The attack on memory: fits of many shapes and thousands of predictions in one process."""

import gc
import os
import warnings

import numpy as np

import directgp as dg
from tests.attack.result import Result, Tell, silent

_WARM_FITS, _WARM_PREDICTIONS = 0.25, 0.25
"""Shares of the work after which memory is measured first: programs and pools are there then."""
_MOST_A_FIT = 4 << 20
"""Bytes that a fit of a new shape may leave, most of it its compiled programs."""
_MOST_PREDICTIONS = 64 << 20
_FITS_OF_PREDICTIONS = 10


def resident() -> int:
    """Bytes of memory that this process has now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Predict `count` times, and fit a tenth as often, every time another shape."""
    result = Result()
    fits = max(8, count // _FITS_OF_PREDICTIONS)
    rng = np.random.default_rng(seed)
    first, model = 0, None
    for number in range(fits):
        if number == int(_WARM_FITS * fits):
            first = _settled()
        with result.timed():
            model = _fitted(number, rng)
        result.add("fits", "done", ("done",))
    grown = (_settled() - first) / (fits - int(_WARM_FITS * fits))
    tell(f"{grown / 2**20:.2f} MiB a fit")
    if grown > _MOST_A_FIT:
        result.add("fits", f"each leaves {grown / 2**20:.1f} MiB", (), tell)
    assert model is not None
    single = dg.GPRegressor(beta=1.0, max_steps=2, num_inducing=4).fit(*_rows(12, 2, rng))
    for number in range(count):
        if number == int(_WARM_PREDICTIONS * count):
            first = _settled()
        rows = rng.normal(size=(1 + number % 40, 2))
        found = single.predict(rows) if number % 2 else single.predict_quantiles(rows)[:, 0]
        result.add("predictions", "done" if np.isfinite(found).all() else "NaN", ("done",))
    result.memory = _settled() - first
    tell(f"{result.memory / 2**20:.1f} MiB by predictions")
    if result.memory > _MOST_PREDICTIONS:
        result.add("predictions", f"memory + {result.memory >> 20} MiB", (), tell)
    result.memory = max(0, result.memory)
    return result


def _settled() -> int:
    gc.collect()
    return resident()


def _rows(n: int, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, d))
    return X, X[:, 0] + 0.1 * rng.normal(size=n)


def _fitted(number: int, rng: np.random.Generator) -> object:
    """Of a shape that was not there before: a stack, of every fifth one GP, which is compiled."""
    n, d = 8 + number % 37, 1 + number // 37
    X, y = _rows(n, d, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if number % 5 == 0:
            model = dg.GPRegressor(beta=1.0, max_steps=2, num_inducing=3 + number % 4)
        else:
            model = dg.GPRegressor() if number % 2 else dg.GPClassifier()
        labelled = isinstance(model, dg.GPClassifier)
        model.fit(X, y > np.median(y) if labelled else y)
        model.predict(X)
    return model
