"""The attack by small tables: 5 to 130 rows that are hard to learn, through the default estimators.

Of few rows and of many more columns than rows, constant, doubled, of any scale, with heavy tails,
rare classes and gaps; as arrays, and as tables by `directgp fit` and `predict`. A fit is good (no
NaN, no negative variance, no crossing quantiles, no word of another library) or ends in one line.
"""

import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import directgp as dg
from directgp.tables import write_table
from tests.attack.numbers import REFUSED, SOUND, fault_in
from tests.attack.result import Result, Tell, refusal, silent
from tests.attack.tables import called, fault_in_predictions

ROWS = (5, 6, 7, 8, 10, 12, 16, 20, 30, 40, 49, 50, 59, 60, 61, 80, 130)
_SCALES = (1e-300, 1e-200, 1e-20, 1e-8, 1.0, 1e8, 1e20, 1e150, 1e200, 1e300)
_SLOWEST = 60.0
"""Processor seconds: a machine that is busy with other things makes no fit bad."""
KINDS = ("GPRegressor", "GPClassifier", "GPRegressor, counts", "directgp fit")
_LEVELS = np.array(["low", "mid", "high", "new", None], dtype=object)


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Fit and predict `count` small tables, by all ways in turn."""
    result = Result()
    with TemporaryDirectory() as folder:
        for number in range(count):
            kind = KINDS[number % len(KINDS)]
            rng = np.random.default_rng([seed, number])
            with result.timed() as took:
                outcome = _by_command(rng, Path(folder)) if kind == KINDS[3] else _fit(rng, kind)
            if outcome not in (SOUND, REFUSED) or took.processor > _SLOWEST:
                outcome = f"number {number}: {outcome} ({took.processor:.0f} s of processor time)"
            result.add(kind, outcome, (SOUND, REFUSED), tell)
            if number % 200 == 199:
                tell(f"{number + 1} tables, {len(result.bad)} bad")
    return result


def inputs(rng: np.random.Generator) -> np.ndarray:
    """Rows of inputs."""
    n = int(rng.choice(ROWS))
    d = int(rng.choice((1, 1, 2, 3, 6, n + 3)))
    X = rng.normal(size=(n, d))
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: X,
        lambda: X,
        lambda: X * rng.choice(_SCALES, d),
        lambda: X + rng.choice([0.0, 1e8, 1e15], d),
        lambda: X[rng.integers(max(1, n // 4), size=n)],
        lambda: np.tile(X[:, :1], (1, d)),
        lambda: np.where(rng.random(d) < 0.7, 1.0, X),
        lambda: np.full((n, d), 3.0),
        lambda: 1.0 / rng.normal(size=(n, d)) ** 3,
        lambda: np.round(X),
        lambda: (X > 1).astype(float),
        lambda: np.where(np.arange(n)[:, None] == 2, rng.choice([1e300, -1e30, 1e5]), X),
    )
    return ways[rng.integers(len(ways))]()


def numbers(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Targets that are numbers."""
    n = len(X)
    with np.errstate(all="ignore"):
        clean = np.tanh(X[:, 0]) + 0.2 * rng.normal(size=n)
    positive = np.exp(2.0 * rng.normal(size=n) + clean)
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: clean,
        lambda: clean * rng.choice(_SCALES),
        lambda: clean + rng.choice([1e6, 1e15, -1e200]),
        lambda: positive,
        lambda: positive * rng.choice(_SCALES),
        lambda: np.exp(rng.choice([20.0, 100.0, 300.0]) * clean),
        lambda: np.exp(np.clip(clean * 600, -650, 650)),
        lambda: np.round(clean * 3),
        lambda: rng.integers(0, 5, n),
        lambda: np.full(n, float(rng.choice(_SCALES))),
        lambda: np.where(np.arange(n) == 1, 7.0, 0.0),
        lambda: 1.0 / rng.normal(size=n) ** 3,
        lambda: rng.standard_cauchy(n) ** 3,
        lambda: np.where(np.arange(n) == 3, rng.choice([1e4, -1e30, 1e200]), clean),
        lambda: np.where(rng.random(n) < 0.8, 0.0, positive),
        lambda: np.abs(X[:, 0]) if np.isfinite(X).all() else clean,
    )
    with np.errstate(all="ignore"):
        return np.asarray(ways[rng.integers(len(ways))]())


def classes(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Labels of two to many classes, some with one row."""
    n = len(X)
    with np.errstate(all="ignore"):
        clean = np.tanh(X[:, 0]) + 0.3 * rng.normal(size=n)
    names = np.array(["a", "b", "c", "d", "e"])
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: clean > 0,
        lambda: np.where(np.arange(n) == 1, "rare", "usual"),
        lambda: names[np.digitize(clean, [-0.5, 0.0, 0.5, 1.0])],
        lambda: np.where(np.arange(n) < 3, names[np.arange(n) % 5], "usual"),
        lambda: np.arange(n) % max(2, n // 2),
        lambda: np.arange(n),
        lambda: np.full(n, "same"),
        lambda: X[:, 0] > np.median(X[:, 0]),
        lambda: rng.integers(0, 2, n) * 1e200,
    )
    return np.asarray(ways[rng.integers(len(ways))]())


def counts(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Targets that are counts."""
    n = len(X)
    with np.errstate(all="ignore"):
        rate = np.exp(np.tanh(X[:, 0]) + 0.5 * rng.normal(size=n))
    y = rng.poisson(rate).astype(float)
    ways: tuple[Callable[[], np.ndarray], ...] = (
        lambda: y,
        lambda: y.astype(int),
        lambda: np.round(rate * rng.choice([10, 1e3, 1e6, 1e9, 1e12, 1e15])),
        lambda: np.zeros(n),
        lambda: np.full(n, float(rng.choice([1, 100, 1e6, 1e15]))),
        lambda: np.where(np.arange(n) == 1, rng.choice([1, 1e6, 1e15]), 0.0),
        lambda: np.where(rng.random(n) < 0.9, 0.0, y * 50),
        lambda: np.round(np.abs(rng.standard_cauchy(n)) ** 3),
        lambda: y - 1.0,
    )
    return ways[rng.integers(len(ways))]()


def new_rows(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Rows to predict: like those known, and far away."""
    far = rng.normal(size=(4, X.shape[1])) * rng.choice(_SCALES, (4, 1))
    return np.concatenate([X[:4], far])


def _fit(rng: np.random.Generator, kind: str) -> str:
    X = inputs(rng)
    made: dict[str, tuple[Any, Any, str]] = {
        KINDS[0]: (dg.GPRegressor(), numbers, "numbers"),
        KINDS[1]: (dg.GPClassifier(), classes, "classes"),
        KINDS[2]: (dg.GPRegressor(likelihood="negative-binomial"), counts, "counts"),
    }
    model, targets, support = made[kind]
    y, new = targets(rng, X), new_rows(rng, X)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = model.fit(X, y).predict_distribution(new)
            model.predict(new)
            fault = fault_in(found, support)
        except Exception as error:
            return _strange(said) or refusal(error)
    return fault or _strange(said) or SOUND


def _strange(said: list[warnings.WarningMessage]) -> str:
    """A warning of another library; nothing if there is none."""
    for each in said:
        if not each.category.__module__.startswith("directgp"):
            return f"{each.category.__name__} {str(each.message)[:100]!r} of {each.filename}"
    return ""


def _by_command(rng: np.random.Generator, folder: Path) -> str:
    X = inputs(rng)[:, :6]
    n = len(X)
    targets = (numbers, classes, counts)[int(rng.integers(3))]
    y = targets(rng, X)
    known: dict[str, Any] = {f"x{k}": column.tolist() for k, column in enumerate(X.T)}
    known["kind"] = _LEVELS[rng.integers(3, size=n)].tolist()
    known["name"] = [f"n{int(k)}" for k in rng.integers(max(2, n // 3), size=n)]
    known["nothing"] = [None] * n
    for name in list(known):
        if rng.random() < 0.3:
            share = rng.choice([0.1, 0.9])
            known[name] = [None if rng.random() < share else value for value in known[name]]
    new = {name: list(values)[: min(n, 6)] for name, values in known.items()}
    new["kind"] = _LEVELS[np.arange(min(n, 6)) % 5].tolist()
    new["x0"][0] = None
    known["target"] = y.tolist()
    ending = "csv" if rng.random() < 0.7 else "parquet"
    table, later, model, made = (
        folder / f"t.{ending}", folder / f"new.{ending}", folder / "m.dgp", folder / "p.csv"
    )  # fmt: skip
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    write_table(table, known)
    write_table(later, new)
    for words in (
        ("fit", table, "--target=target", "-o", model, "--quiet"),
        ("predict", model, later, "-o", made, "--quiet"),
    ):
        code, told = called(*map(str, words))
        lines = told.splitlines()
        if code:
            one = code == 2 and len(lines) == 1 and lines[0].startswith("error: ")
            return REFUSED if one else f"{words[0]} ended with {code}: {told[:300]!r}"
        strange = [line for line in lines if not line.startswith("note: ")]
        if strange:
            return f"{words[0]} said {strange[0][:200]!r}"
    return fault_in_predictions(made) or SOUND
