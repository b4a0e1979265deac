"""Conformity scores of y under its predictive distribution, and the sets above a threshold.

Numbers and counts: min(P(Y ≤ y), P(Y ≥ y)), for which the y above a threshold form a central
interval of the predictive distribution (distributional conformal prediction, Chernozhukov et al.
2021). Classes: log P(Y = y), whose sets are the smallest on average (Sadinle et al. 2019).
"""

from functools import singledispatch

import numpy as np
from jaxtyping import Bool, Float

from directgp.predictive import ClassProbabilities, CountMixture, Predictive
from directgp.predictive.roots import bisect, smallest_count

Bounds = tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]


@singledispatch
def conformity(predictive: Predictive, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """The score of each row's y; larger is more typical.

    Args:
        predictive: predictions.
        y: the observed targets.
    """
    return np.minimum(predictive.cdf(y), predictive.survival(y))


@conformity.register
def _(predictive: CountMixture, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    return np.minimum(predictive.cdf(y), predictive.survival(y - 1.0))


@conformity.register
def _(predictive: ClassProbabilities, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    return predictive.log_prob(y)


@singledispatch
def central(predictive: Predictive, least: Float[np.ndarray, "N"]) -> Bounds:
    """The smallest and the largest y of each row whose score is at least `least`.

    They are −∞ and ∞ where `least` ≤ 0, and both the median where it exceeds ½, the largest score.

    Args:
        predictive: predictions.
        least: the smallest score of each row.
    """
    level = np.minimum(least, 0.5)
    largest = np.full(len(predictive), np.finfo(np.float64).max)
    lower = bisect(lambda y: predictive.cdf(y) >= level, -largest, largest)
    beyond = bisect(lambda y: predictive.survival(y) < level, -largest, largest)
    upper = np.maximum(np.nextafter(beyond, -np.inf), lower)
    free = least <= 0.0
    return np.where(free, -np.inf, lower), np.where(free, np.inf, upper)


@central.register
def _(predictive: CountMixture, least: Float[np.ndarray, "N"]) -> Bounds:
    """For counts, from 0 to ∞ where `least` ≤ 0."""
    free = least <= 0.0
    level = np.where(free, 0.5, np.minimum(least, 0.5))
    middle = predictive.median
    step = np.maximum(predictive.std, 1.0)
    lower = smallest_count(lambda rows, k: predictive[rows].cdf(k) >= level[rows], middle, step)
    # Beyond the last count k with P(Y ≥ k) = P(Y > k − 1) ≥ level.
    upper = smallest_count(lambda rows, k: predictive[rows].survival(k) < level[rows], middle, step)
    return np.where(free, 0.0, lower), np.where(free, np.inf, np.maximum(upper, lower))


def chosen(
    predictive: ClassProbabilities, least: Float[np.ndarray, "N"]
) -> Bool[np.ndarray, "N K"]:
    """The classes whose score is at least `least`, and always the most probable one.

    Args:
        predictive: predictions.
        least: the smallest score of each row.

    >>> p = ClassProbabilities(np.log([[0.7, 0.2, 0.1]]))
    >>> chosen(p, np.log([0.15])).tolist(), chosen(p, np.log([0.9])).tolist()
    ([[True, True, False]], [[True, False, False]])
    """
    inside = predictive.log_probabilities >= least[:, None]
    inside[np.arange(len(predictive)), predictive.predicted] = True
    return inside


def fewest_classes(predictive: ClassProbabilities, coverage: float) -> Bool[np.ndarray, "N K"]:
    """The fewest classes whose probabilities sum to at least the coverage.

    Args:
        predictive: predictions.
        coverage: the nominal coverage.

    >>> fewest_classes(ClassProbabilities(np.log([[0.1, 0.7, 0.2]])), 0.9).tolist()
    [[False, True, True]]
    """
    shares = predictive.probabilities
    order = np.argsort(-shares, axis=1, kind="stable")
    ordered = np.take_along_axis(shares, order, axis=1)
    before = np.cumsum(ordered, axis=1) - ordered
    inside = np.empty(shares.shape, dtype=bool)
    np.put_along_axis(inside, order, before < coverage - 1e-12, axis=1)
    return inside
