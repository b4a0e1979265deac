"""Whether the default estimators are too sure of themselves, on small subsets of real tables.

Subsets of 50 to 500 rows are drawn from the tables of scikit-learn and from the Parquet files of
the folder that the environment variable DIRECTGP_DATA names (target y, or y0 of several). The log
loss of other rows must not be above that of predicting the class frequencies, or a Gaussian fitted
to y, by more than its error; 90 % intervals must cover 75 % of the rows at least.
"""

import os
import re
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet
from scipy import stats
from sklearn import datasets

import directgp as dg
from tests.attack.result import Result, Tell, silent

_NOT_INPUTS = re.compile(r"y\d*|arr_delay|traj")
_SMALLEST, _LARGEST, _JUDGED = 50, 500, 1000
_ERRORS = 2.0
"""Standard errors of the mean difference of losses that are not yet a difference."""
_LEAST_COVERAGE = 0.75


class Table(NamedTuple):
    """Rows of a real table; `classes` if y are labels."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: bool


def sources() -> dict[str, Callable[[], Table]]:
    """The tables that are there, each read when it is needed."""
    known = {
        "breast cancer": (datasets.load_breast_cancer, True),
        "wine": (datasets.load_wine, True),
        "iris": (datasets.load_iris, True),
        "digits": (datasets.load_digits, True),
        "diabetes": (datasets.load_diabetes, False),
    }
    found: dict[str, Callable[[], Table]] = {
        name: partial(_of_sklearn, name, load, classes) for name, (load, classes) in known.items()
    }
    folder = os.environ.get("DIRECTGP_DATA")
    if folder:
        for path in sorted(Path(folder).glob("*.parquet")):
            found[path.stem] = partial(_of_file, path)
    return found


def _of_sklearn(name: str, load: Callable[..., Any], classes: bool) -> Table:
    X, y = load(return_X_y=True)
    return Table(name, np.asarray(X, float), np.asarray(y), classes)


def _of_file(path: Path) -> Table:
    table = parquet.read_table(path)
    names = [name for name in table.column_names if not _NOT_INPUTS.fullmatch(name)]
    target = "y" if "y" in table.column_names else "y0"
    y = table[target].to_numpy()
    X = np.column_stack([table[name].to_numpy() for name in names]).astype(float)
    return Table(path.stem, X, y, len(np.unique(y)) == 2)


def attack(count: int, seed: int = 0, tell: Tell = silent) -> Result:
    """Fit the default estimators to `count` random subsets, of all tables in turn."""
    result = Result()
    every = sources()
    order = np.random.default_rng(seed).permutation(list(every))
    for number in range(count):
        name = str(order[number % len(order)])
        with result.timed() as took:
            rng = np.random.default_rng([seed, number])
            outcome, numbers = attempted(_outcome, every[name](), rng)
        tell(f"{name}: {numbers} ({took.processor:.0f} s)")
        said = outcome if outcome == "sound" else f"{name}, number {number}: {outcome}"
        result.add(numbers.split(",")[0], said, ("sound",), tell)
    return result


def attempted(judge: Callable[..., tuple[str, str]], *given: Any) -> tuple[str, str]:
    """What `judge` finds; a fit that ends in an error is not sound."""
    try:
        return judge(*given)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        return said, f"error, {said}"


def _drawn(table: Table, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from, of two classes at least, and others, of those classes."""
    most = min(_LARGEST, len(table.y) // 2)
    size = int(np.exp(rng.uniform(np.log(_SMALLEST), np.log(most))))
    while True:
        order = rng.permutation(len(table.y))
        own, rest = order[:size], order[size : size + _JUDGED]
        if not table.classes:
            return own, rest
        labels, counts = np.unique(table.y[own], return_counts=True)
        if (counts >= 2).sum() >= 2:
            return own, rest[np.isin(table.y[rest], labels)]


def _outcome(table: Table, rng: np.random.Generator) -> tuple[str, str]:
    own, rest = _drawn(table, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if table.classes:
            return _of_classes(table, own, rest)
        return _of_numbers(table, own, rest)


def _of_classes(table: Table, own: np.ndarray, rest: np.ndarray) -> tuple[str, str]:
    model = dg.GPClassifier().fit(table.X[own], table.y[own])
    place = np.searchsorted(model.classes_, table.y[rest])
    shares = model.predict_proba(table.X[rest])[np.arange(len(rest)), place]
    return judge_classes(shares, table.y[own], table.y[rest])


def _of_numbers(table: Table, own: np.ndarray, rest: np.ndarray) -> tuple[str, str]:
    y, truth = table.y[own].astype(float), table.y[rest].astype(float)
    predictive = dg.GPRegressor().fit(table.X[own], y).predict_distribution(table.X[rest])
    return judge_numbers(predictive, y, truth)


def judge_classes(shares: np.ndarray, y: np.ndarray, truth: np.ndarray) -> tuple[str, str]:
    """A "sound", or in words what is too sure; and the numbers seen.

    Args:
        shares: the probabilities that were given to what came true.
        y: labels of the training rows.
        truth: labels of the rows that are judged, all of them among `y`.
    """
    labels, counts = np.unique(y, return_counts=True)
    usual = (counts / counts.sum())[np.searchsorted(labels, truth)]
    with np.errstate(divide="ignore"):  # of a class that was impossible
        worse, words = _compared(-np.log(shares), -np.log(usual))
    said = f"classes, {len(y)} rows, {words}, least probability {shares.min():.1e}"
    return (said if worse else "sound"), said


def judge_numbers(
    predictive: Any, y: np.ndarray, truth: np.ndarray, counts: bool = False
) -> tuple[str, str]:
    """The same for numbers, beside a Gaussian fitted to `y`; of counts, its mass about each."""
    low, high = np.moveaxis(predictive.quantile((0.05, 0.95)), -1, 0)
    covered = float(np.mean((low <= truth) & (truth <= high)))
    fitted = stats.norm(y.mean(), y.std(ddof=1))
    if counts:
        usual = -np.log(np.maximum(fitted.cdf(truth + 0.5) - fitted.cdf(truth - 0.5), 1e-300))
    else:
        usual = -fitted.logpdf(truth)
    worse, words = _compared(-predictive.log_prob(truth), usual)
    kind = "counts" if counts else "numbers"
    said = f"{kind}, {len(y)} rows, {words}, 90 % intervals cover {100 * covered:.1f} %"
    return (said if worse or covered < _LEAST_COVERAGE else "sound"), said


def _compared(ours: np.ndarray, usual: np.ndarray) -> tuple[bool, str]:
    """Whether the mean loss is higher beyond error, and both in words."""
    with np.errstate(invalid="ignore"):  # infinite losses have no error
        error = (ours - usual).std(ddof=1) / np.sqrt(len(ours))
    worse = not float(np.mean(ours - usual)) <= _ERRORS * error
    return worse, f"log loss {ours.mean():.3f} against {usual.mean():.3f}"
