"""Weights and spread of a stack: a spread-adjusted linear pool.

A mixture of calibrated distributions is over-dispersed, because the variance between their means is
added (Ranjan and Gneiting 2010; Gneiting and Ranjan 2013). So the deviations of all members are
multiplied by a common factor of at most 1, which is chosen together with the weights on out-of-fold
predictions.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

Part = TypeVar("Part")
"""Predictions of a member."""

_FACTORS = np.exp(np.linspace(0.0, -0.6, 13))
_DEVIATION = 0.15
"""Standard deviation of a Gaussian prior on the logarithm of the factor."""


class Pool(NamedTuple):
    """The weights of the members, and the factor of their deviations."""

    weights: Float[np.ndarray, "K"]
    factor: float


def pooled(
    parts_at: Callable[[float], list[Part]],
    choose: Callable[[list[Part]], Float[np.ndarray, "K"]],
    score: Callable[[list[Part], Float[np.ndarray, "K"]], float],
) -> Pool:
    """The factor that maximises the score of the mixture, with its weights.

    Args:
        parts_at: out-of-fold predictions of the members with their deviations times a factor.
        choose: weights for such predictions.
        score: the log score of the weighted mixture, summed over the rows.

    >>> y = np.repeat([-1.0, 1.0], 20)
    >>> def score(deviations, weights):  # two Gaussians at the rows
    ...     z = (y[:, None] - np.array([-1.0, 1.0])) / deviations
    ...     return float(np.log(np.exp(-0.5 * z**2) / deviations @ weights).sum())
    >>> found = pooled(lambda factor: [factor] * 2, lambda _: np.full(2, 0.5), score)
    >>> bool(found.factor < 1)
    True
    """
    best, best_score = None, -np.inf
    for factor in _FACTORS.tolist():
        parts = parts_at(factor)
        weights = choose(parts)
        reached = score(parts, weights) - 0.5 * (np.log(factor) / _DEVIATION) ** 2
        if best is None or reached > best_score:
            best, best_score = Pool(weights, factor), reached
        if len(parts) == 1:
            break  # one model is calibrated already
    assert best is not None
    return best
