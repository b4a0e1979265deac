"""Scores of any predictive distribution: of its density, its mean, its intervals; and tables."""

from functools import singledispatch
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.predictive import GaussianMixture, Predictive, check_predictive, check_rows

# Real [N], finite. Any, so that invalid values reach `check_scored` and its messages.
Y = Any


def nll(predictive: Predictive, y: Y) -> float:
    """Mean negative log density, in nats per row: the log loss.

        −(1/N) Σ_n log p(y_n)

    Args:
        predictive: of every row.
        y: the observed values.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> round(nll(p, np.array([0.0, 0.0])), 4)
    0.9189
    """
    y = check_scored(predictive, y)
    return float(np.mean(-predictive.log_prob(y)))


def mse(predictive: Predictive, y: Y) -> float:
    """Mean squared error of the predictive mean: (1/N) Σ_n (y_n − E[y_n])².

    Args:
        predictive: of every row.
        y: the observed values.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> mse(p, np.array([1.0, 3.0]))
    5.0
    """
    return float(np.mean((check_scored(predictive, y) - predictive.mean) ** 2))


def rmse(predictive: Predictive, y: Y) -> float:
    """Root mean squared error of the predictive mean, in the units of y: √mse.

    Args:
        predictive: of every row.
        y: the observed values.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> rmse(p, np.array([2.0, -2.0]))
    2.0
    """
    return float(np.sqrt(mse(predictive, y)))


def crps(predictive: Predictive, y: Y) -> float:
    """Mean continuous ranked probability score, in the units of y; more robust than nll.

        (1/N) Σ_n ∫ (F_n(t) − 1[y_n ≤ t])² dt

    Args:
        predictive: of every row.
        y: the observed values.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> round(crps(p, np.array([0.0, 0.0])), 4)
    0.2337
    """
    y = check_scored(predictive, y)
    return float(np.mean(predictive.crps(y)))


def coverage(predictive: Predictive, y: Y, level: float = 0.9) -> float:
    """The share of rows whose central interval holds y; a calibrated model gives `level`.

        (1/N) Σ_n 1[ q_n((1 − level)/2) ≤ y_n ≤ q_n((1 + level)/2) ]

    Args:
        predictive: of every row.
        y: the observed values.
        level: the probability of the interval.

    >>> p = GaussianMixture(np.zeros((1, 4)), np.ones((1, 4)), np.zeros(1))
    >>> coverage(p, np.array([-3.0, 0.0, 1.0, 1.6]), level=0.9)
    0.75
    """
    y = check_scored(predictive, y)
    lower, upper = predictive.interval(level)
    return float(np.mean((lower <= y) & (y <= upper)))


def coverage_curve(predictive: Predictive, y: Y, levels: Any) -> Float[np.ndarray, "K"]:
    """`coverage` at each of K levels; below the level is overconfident, above underconfident.

    Args:
        predictive: of every row.
        y: the observed values.
        levels: the probabilities of the intervals.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> coverage_curve(p, np.array([0.5, 1.0]), [0.2, 0.5, 0.9]).tolist()
    [0.0, 0.5, 1.0]
    """
    levels = np.asarray(levels, dtype=np.float64)
    if levels.ndim != 1:
        raise DirectGPError(
            f"levels must be 1-d, got shape {levels.shape}; use coverage for one level"
        )
    return np.array([coverage(predictive, y, float(level)) for level in levels])


def pit(predictive: Predictive, y: Y) -> Float[np.ndarray, "N"]:
    """Probability integral transform F_n(y_n): uniform on [0, 1] if the model is calibrated.

    For continuous y; counts need `randomised_pit`. A ∩-shaped histogram indicates too wide
    predictive distributions, a ∪-shaped one too narrow ones, a slope a bias.

    Args:
        predictive: of every row.
        y: the observed values.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> pit(p, np.array([0.0, 1.96])).round(3).tolist()
    [0.5, 0.975]
    """
    y = check_scored(predictive, y)
    return predictive.cdf(y)


def interval_width(predictive: Predictive, y: Y, level: float = 0.9) -> float:
    """Mean width of the central interval, in the units of y: sharpness, to be read with coverage.

    `y` is validated but not used, so that all scores have the same arguments.

    Args:
        predictive: of every row.
        y: the observed values.
        level: the probability of the interval.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> round(interval_width(p, np.zeros(2), level=0.9), 3)
    3.29
    """
    check_scored(predictive, y)
    lower, upper = predictive.interval(level)
    return float(np.mean(upper - lower))


def nll_against_gaussian(predictive: Predictive, y: Y, y_train: Any) -> float:
    """Log loss relative to a model that ignores x (MSLL); negative values are better.

        nll(predictive, y) − nll(N(mean(y_train), var(y_train)), y)

    −1 means one nat per row better than a Gaussian fitted to y_train by maximum likelihood. It does
    not depend on the units of y.

    Args:
        predictive: of every row.
        y: the observed values.
        y_train: training targets, to which the Gaussian is fitted.

    >>> p = GaussianMixture(np.array([[1.0, 3.0]]), np.full((1, 2), 0.01), np.zeros(1))
    >>> round(nll_against_gaussian(p, np.array([1.0, 3.0]), y_train=np.array([1.0, 3.0])), 3)
    -2.803
    """
    y_train = np.asarray(y_train, dtype=np.float64)
    if y_train.ndim != 1 or not np.all(np.isfinite(y_train)):
        raise DirectGPError(
            f"y_train must be 1-d and finite, got shape {y_train.shape}; "
            "pass the training targets as y_train.ravel(), without NaN"
        )
    if y_train.size == 0 or np.ptp(y_train) == 0:
        raise DirectGPError(
            f"y_train must hold at least two different values, got {y_train.size} rows; "
            "a Gaussian cannot be fitted to a constant"
        )
    y = check_scored(predictive, y)
    trivial = GaussianMixture(
        np.full((1, y.size), y_train.mean()), np.full((1, y.size), y_train.var()), np.zeros(1)
    )
    return nll(predictive, y) - nll(trivial, y)


@singledispatch
def row_scores(
    predictive: Predictive, y: Y, level: float = 0.9
) -> dict[str, Float[np.ndarray, "N"]]:
    """Every score that is a mean over rows, before the mean: for plots and paired comparisons.

    Class probabilities and counts register other scores.

    Args:
        predictive: of every row.
        y: the observed values.
        level: of the intervals whose coverage and width are scored.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> row_scores(p, np.array([1.0, 3.0]))["mse"].tolist()
    [1.0, 9.0]
    """
    y = check_scored(predictive, y)
    last = _last_scored.get(predictive)
    if last is None or last.level != level or not np.array_equal(last.y, y):
        lower, upper = predictive.interval(level)
        scores = {
            "nll": -predictive.log_prob(y),
            "mse": (y - predictive.mean) ** 2,
            "crps": predictive.crps(y),
            "coverage": ((lower <= y) & (y <= upper)).astype(np.float64),
            "interval_width": upper - lower,
        }
        last = _last_scored[predictive] = _Scored(y, level, scores)
    return {name: values.copy() for name, values in last.scores.items()}


class _Scored(NamedTuple):
    y: Float[np.ndarray, "N"]
    level: float
    scores: dict[str, Float[np.ndarray, "N"]]


# A report uses the same scores several times: they are cached as long as the predictions exist.
_last_scored: WeakKeyDictionary[Predictive, _Scored] = WeakKeyDictionary()


def standard_error(scores: Any) -> tuple[float, float]:
    """The mean of row scores and its standard error, std/√N; NaN for the error of a single row.

    For a paired comparison of two models give it the difference of their row scores.

    >>> standard_error(np.array([1.0, 2.0, 3.0, 4.0]))
    (2.5, 0.6454972243679028)
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or scores.size == 0:
        raise DirectGPError(
            f"scores must be 1-d with at least one row, got shape {scores.shape}; "
            "pass one of row_scores(predictive, y)"
        )
    if scores.size == 1:
        return float(scores[0]), float("nan")
    return float(np.mean(scores)), float(np.std(scores, ddof=1) / np.sqrt(scores.size))


def score_table(predictive: Predictive, y: Y, level: float = 0.9) -> dict[str, float]:
    """All scores of one set of predictions; coverage and interval_width are at `level`.

    Args:
        predictive: of every row.
        y: the observed values.
        level: of the intervals whose coverage and width are scored.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> list(score_table(p, np.array([1.0, 3.0])))
    ['nll', 'mse', 'rmse', 'crps', 'coverage', 'interval_width']
    """
    return {name: mean for name, (mean, _) in score_table_with_errors(predictive, y, level).items()}


def score_table_with_errors(
    predictive: Predictive, y: Y, level: float = 0.9
) -> dict[str, tuple[float, float]]:
    """`score_table` with (mean, standard error) for each score.

    The error of rmse follows from that of mse by the delta method: se(rmse) = se(mse)/(2 rmse).
    Classes have no squared error, and so no rmse.

    Args:
        predictive: of every row.
        y: the observed values.
        level: of the intervals whose coverage and width are scored.

    >>> p = GaussianMixture(np.zeros((1, 2)), np.ones((1, 2)), np.zeros(1))
    >>> score_table_with_errors(p, np.array([1.0, 3.0]))["mse"]
    (5.0, 4.0)
    """
    table = {name: standard_error(s) for name, s in row_scores(predictive, y, level).items()}
    if "mse" not in table:
        return table
    mean, error = table["mse"]
    root = float(np.sqrt(mean))
    rooted = (root, error / (2 * root) if root > 0 else error)
    return {"nll": table["nll"], "mse": table["mse"], "rmse": rooted} | table


def check_scored(predictive: Predictive, y: Y) -> Float[np.ndarray, "N"]:
    """Convert y to float64 [N], one finite value for each predicted row.

    Args:
        predictive: of every row.
        y: the observed values.
    """
    check_predictive(predictive)
    if np.ndim(y) == 0:
        raise DirectGPError(f"y must have shape ({len(predictive)},), got a single number {y}")
    array = check_rows(y, len(predictive))
    if array.size == 0:
        raise DirectGPError(
            "there are no rows to score, got y of shape (0,); predict at least one row"
        )
    if not np.all(np.isfinite(array)):
        raise DirectGPError("y must be finite to be scored, got an infinite value; drop these rows")
    check_possible(predictive, array)
    return array


@singledispatch
def check_possible(predictive: Predictive, y: Float[np.ndarray, "N"]) -> None:
    """Raise an error for y outside of the support; by default all numbers are allowed.

    Args:
        predictive: of every row.
        y: the observed values.
    """
