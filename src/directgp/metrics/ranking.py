"""Discrimination between classes: AUC with its standard error, precision and recall."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from directgp.metrics.classes import check_classes
from directgp.metrics.scores import Y
from directgp.predictive import ClassProbabilities


def auc(predictive: ClassProbabilities, y: Y) -> float:
    """The area under the ROC curve: P(a row of the class is ranked above one of another class).

    For more than two classes it is the mean over those that occur, each against all others. It is
    0.5 for random guesses, and NaN if only one class occurs.

    Args:
        predictive: class probabilities.
        y: true classes.

    >>> p = ClassProbabilities(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]))
    >>> auc(p, np.array([0, 0, 1, 1]))
    0.75
    """
    return auc_with_error(predictive, y)[0]


def auc_with_error(predictive: ClassProbabilities, y: Y) -> tuple[float, float]:
    """`auc` and its standard error (DeLong et al. 1988); of several classes the error is NaN.

    Args:
        predictive: class probabilities.
        y: true classes.
    """
    y = check_classes(predictive, y)
    scores = predictive.probabilities
    if predictive.num_classes == 2:
        return _two_classes(scores[:, 1], y == 1)
    each = [_two_classes(scores[:, k], y == k)[0] for k in range(predictive.num_classes)]
    known = [area for area in each if np.isfinite(area)]
    return (float(np.mean(known)) if known else float("nan")), float("nan")


def _two_classes(score: Float[np.ndarray, "N"], inside: np.ndarray) -> tuple[float, float]:
    positive, negative = int(inside.sum()), int((~inside).sum())
    if not positive or not negative:
        return float("nan"), float("nan")
    above = _share_below(score[inside], score[~inside])
    below = 1.0 - _share_below(score[~inside], score[inside])
    variances = [
        np.var(part, ddof=1) / len(part) if len(part) > 1 else np.nan for part in (above, below)
    ]
    return float(np.mean(above)), float(np.sqrt(sum(variances)))


def _share_below(
    score: Float[np.ndarray, "N"], others: Float[np.ndarray, "M"]
) -> Float[np.ndarray, "N"]:
    """The share of the others that each score is above; an equal one counts half."""
    ordered = np.sort(others)
    sides = [np.searchsorted(ordered, score, side=side) for side in ("left", "right")]
    return 0.5 * (sides[0] + sides[1]) / len(others)


class PrecisionRecall(NamedTuple):
    """Precision and recall of each class."""

    precision: Float[np.ndarray, "K"]
    """P(the class | it is predicted); NaN for a class that is never predicted."""
    recall: Float[np.ndarray, "K"]
    """P(it is predicted | the class); NaN for a class that does not occur."""
    predicted: Int[np.ndarray, "K"]
    """Rows that the class is predicted for."""
    rows: Int[np.ndarray, "K"]
    """Rows of the class."""


def precision_recall(predictive: ClassProbabilities, y: Y) -> PrecisionRecall:
    """Precision and recall of every class, when the most probable class is predicted.

    Args:
        predictive: class probabilities.
        y: true classes.

    >>> p = ClassProbabilities(np.log([[0.9, 0.1], [0.6, 0.4], [0.7, 0.3], [0.2, 0.8]]))
    >>> found = precision_recall(p, np.array([0, 0, 1, 1]))
    >>> found.precision.round(2).tolist(), found.recall.tolist()
    ([0.67, 1.0], [1.0, 0.5])
    """
    y = check_classes(predictive, y).astype(np.intp)
    count = predictive.num_classes
    chosen = np.asarray(predictive.predicted, dtype=np.intp)
    right = np.bincount(y[chosen == y], minlength=count)
    predicted, rows = np.bincount(chosen, minlength=count), np.bincount(y, minlength=count)
    with np.errstate(invalid="ignore"):
        return PrecisionRecall(right / predicted, right / rows, predicted, rows)
