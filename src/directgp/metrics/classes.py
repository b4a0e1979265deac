"""Scores of class probabilities: error rate, Brier score, reliability and calibration error."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from directgp.errors import DirectGPError, WrongType
from directgp.metrics.scores import Y, check_possible, check_scored, row_scores
from directgp.predictive import ClassProbabilities, check_predictive


def error_rate(predictive: ClassProbabilities, y: Y) -> float:
    """The share of rows whose most probable class is wrong.

    Args:
        predictive: class probabilities.
        y: true classes.

    >>> p = ClassProbabilities(np.log([[0.2, 0.8], [0.6, 0.4]]))
    >>> error_rate(p, np.array([1, 1]))
    0.5
    """
    y = check_classes(predictive, y)
    return float(np.mean(predictive.predicted != y))


def brier(predictive: ClassProbabilities, y: Y) -> float:
    """Mean squared error of the probabilities, a bounded proper score.

        two classes:   (1/N) Σ_n (p_n1 − y_n)²,                   from 0 to 1
        more:          (1/N) Σ_n Σ_k (p_nk − 1[y_n = k])²,        from 0 to 2

    The first is half of the second at K = 2, as is usual (and as in scikit-learn).

    Args:
        predictive: class probabilities.
        y: true classes.

    >>> p = ClassProbabilities(np.log([[0.2, 0.8], [0.6, 0.4]]))
    >>> round(brier(p, np.array([1, 1])), 4)
    0.2
    """
    return float(np.mean(_row_brier(predictive, check_classes(predictive, y))))


class ReliabilityCurve(NamedTuple):
    """Predicted probabilities and observed frequencies, in the bins that hold rows."""

    confidence: Float[np.ndarray, "B"]
    """The mean predicted probability of the rows in each bin."""
    frequency: Float[np.ndarray, "B"]
    """The observed frequency in each bin."""
    rows: Int[np.ndarray, "B"]
    """How many rows the bin holds."""


def reliability_curve(
    predictive: ClassProbabilities, y: Y, bins: int = 10, of_class: int | None = None
) -> ReliabilityCurve:
    """Predicted probabilities against observed frequencies, in bins of equal width.

    By default for the predicted class (its confidence against its accuracy); with `of_class` for
    the probability of that class, as is usual for class 1 of two.

    Args:
        predictive: class probabilities.
        y: true classes.
        bins: their number.
        of_class: the class whose probability is compared; None for the predicted class.

    >>> p = ClassProbabilities(np.log([[0.1, 0.9], [0.1, 0.9], [0.2, 0.8], [0.7, 0.3]]))
    >>> curve = reliability_curve(p, np.array([1, 1, 0, 0]), bins=4, of_class=1)
    >>> curve.confidence.round(2).tolist(), curve.frequency.round(2).tolist(), curve.rows.tolist()
    ([0.3, 0.87], [0.0, 0.67], [1, 3])
    """
    if bins < 1:
        raise DirectGPError(f"bins must be at least 1, got {bins}; use 10")
    confidence, occurred = _forecasts(predictive, check_classes(predictive, y), of_class)
    bin_of_row = np.minimum((confidence * bins).astype(np.intp), bins - 1)
    count = np.bincount(bin_of_row, minlength=bins)
    filled = count > 0
    sums = [np.bincount(bin_of_row, each, bins)[filled] for each in (confidence, occurred)]
    return ReliabilityCurve(sums[0] / count[filled], sums[1] / count[filled], count[filled])


def expected_calibration_error(
    predictive: ClassProbabilities, y: Y, bins: int = 15, of_class: int | None = None
) -> float:
    """Mean gap between predicted probability and observed frequency (ECE; Guo et al. 2017, eq. 3).

        Σ_b (n_b/N) |frequency_b − confidence_b|

    Not a proper score, and biased upwards by about √(bins/N): compare models on the same rows.

    Args:
        predictive: class probabilities.
        y: true classes.
        bins: their number.
        of_class: the class whose probability is compared; None for the predicted class.

    >>> p = ClassProbabilities(np.log(np.full((4, 2), 0.5)))
    >>> expected_calibration_error(p, np.array([0, 0, 1, 1]))
    0.0
    """
    curve = reliability_curve(predictive, y, bins, of_class)
    gaps = np.abs(curve.frequency - curve.confidence)
    return float(np.sum(curve.rows * gaps) / np.sum(curve.rows))


@row_scores.register
def _(predictive: ClassProbabilities, y: Any, level: float = 0.9):
    """nll, error_rate and brier; `level` is not used: classes have no intervals."""
    y = check_classes(predictive, y)
    return {
        "nll": -predictive.log_prob(y),
        "error_rate": (predictive.predicted != y).astype(np.float64),
        "brier": _row_brier(predictive, y),
    }


def _row_brier(predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    happened = y[:, None] == np.arange(predictive.num_classes)
    total = np.sum((predictive.probabilities - happened) ** 2, axis=1)
    return 0.5 * total if predictive.num_classes == 2 else total


def _forecasts(
    predictive: ClassProbabilities, y: Float[np.ndarray, "N"], of_class: int | None
) -> tuple[Float[np.ndarray, "N"], Bool[np.ndarray, "N"]]:
    if of_class is None:
        return np.max(predictive.probabilities, axis=1), predictive.predicted == y
    if not 0 <= of_class < predictive.num_classes:
        raise DirectGPError(
            f"of_class must be 0 to {predictive.num_classes - 1}, got {of_class}; "
            "leave it out for the predicted class"
        )
    return predictive.probabilities[:, of_class], y == of_class


def check_classes(predictive: Any, y: Y) -> Float[np.ndarray, "N"]:
    """Convert y to class numbers, one for each predicted row.

    Args:
        predictive: class probabilities.
        y: true classes.
    """
    check_predictive(predictive)
    if not isinstance(predictive, ClassProbabilities):
        raise WrongType(
            f"this score is of class probabilities, got a {type(predictive).__name__}; use nll, "
            "crps or mse for numbers"
        )
    return check_scored(predictive, y)


@check_possible.register
def _(predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> None:
    unknown = ~np.isin(y, np.arange(predictive.num_classes))
    if np.any(unknown):
        raise DirectGPError(
            f"y must be class numbers 0 to {predictive.num_classes - 1}, got {y[unknown][0]:g}; "
            "recode the labels as in training"
        )
