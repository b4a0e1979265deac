"""Effects of single columns: partial dependence (Friedman, 2001), with quartiles over rows."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.predictive import ClassProbabilities, Predictive
from directgp.report.chart import Chart, limits
from directgp.report.numbers import number

_ROWS, _VALUES = 100, 12


class Effect(NamedTuple):
    """Predictions at values of one column, where rows keep their other values."""

    values: Float[np.ndarray, "V"]
    mean: Float[np.ndarray, "V"]
    """Mean over the rows."""
    low: Float[np.ndarray, "V"]
    """Lower quartile over the rows."""
    high: Float[np.ndarray, "V"]
    """Upper quartile over the rows."""


def effects(
    predict: Callable[[Float[np.ndarray, "N D"]], Predictive],
    X: Float[np.ndarray, "N D"],
    columns: Mapping[str, int],
    seed: int = 0,
) -> dict[str, Effect]:
    """The effect of each column on the predicted mean, or on the probability of the second class.

    Args:
        predict: the model.
        X: rows, of which a sample of at most 100 is used.
        columns: the index of the input of each column, by name.
        seed: the seed of the sample.

    Returns:
        Effects by name; none for columns with a single value, and for more than two classes.

    >>> from directgp.predictive import GaussianMixture
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> def predict(X):
    ...     return GaussianMixture(X[:, :1].T * 2, np.ones((1, len(X))), np.zeros(1))
    >>> found = effects(predict, X, {"a": 0})["a"]
    >>> bool(np.allclose(found.mean, 2 * found.values))
    True
    """
    some = X[np.random.default_rng(seed).permutation(len(X))[:_ROWS]]
    found = {}
    for name, place in columns.items():
        values = _values(X[:, place])
        if len(values) < 2:
            continue
        rows = np.tile(some, (len(values), 1))
        rows[:, place] = np.repeat(values, len(some))
        level = _level(predict(rows))
        if level is None:
            return {}
        curves = level.reshape(len(values), len(some))
        low, high = np.quantile(curves, (0.25, 0.75), axis=1)
        found[name] = Effect(values, curves.mean(axis=1), low, high)
    return found


def figure(name: str, effect: Effect, target: str) -> str:
    """The effect as a line, with the middle half of the rows as a band.

    Args:
        name: the column.
        effect: its effect.
        target: the label of the predictions.
    """
    chart = Chart(
        limits(effect.values, margin=0.02),
        limits(effect.low, effect.high),
        x_label=name,
        y_label=f"predicted {target}",
    )
    chart.band(effect.values, effect.low, effect.high, "one", "middle half of the rows")
    chart.line(effect.values, effect.mean, "one", "mean of the rows")
    chart.dots(effect.values, effect.mean, "one", radius=3)
    at = [int(np.argmin(effect.mean)), int(np.argmax(effect.mean))]
    least, most = (
        f"{number(float(effect.mean[k]), 3)} at {number(float(effect.values[k]), 3)}" for k in at
    )
    return chart.figure(
        f"Effect of {name}",
        f"The mean prediction is least, {least}, and largest, {most}.",
        "Predictions if all rows had this value and kept their others (partial dependence). It "
        "describes the model and need not be causal.",
    )


def _values(column: Float[np.ndarray, "N"]) -> Float[np.ndarray, "V"]:
    values = np.unique(column)
    if len(values) <= _VALUES:
        return values
    return np.unique(np.quantile(column, np.linspace(0.02, 0.98, _VALUES)))


def _level(predictive: Any) -> Float[np.ndarray, "N"] | None:
    if isinstance(predictive, ClassProbabilities):
        return predictive.probabilities[:, 1] if predictive.num_classes == 2 else None
    return np.asarray(predictive.mean)
