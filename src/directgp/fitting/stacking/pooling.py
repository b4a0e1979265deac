"""Weights and spread of a stack, chosen together.

Distributions that are calibrated each by itself make a mixture that is too wide: to the spread of
every one comes what lies between them (Ranjan and Gneiting 2010; Gneiting and Ranjan 2013). So the
spread of all members is multiplied by a factor of at most 1, which rows that they had not seen
choose together with the weights: a spread-adjusted linear pool.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

Part = TypeVar("Part")
"""What a member predicts of some rows."""

_FACTORS = np.exp(np.linspace(0.0, -0.6, 13))
_DEVIATION = 0.15
"""Of a Gaussian prior on the logarithm of the factor: few rows are little evidence."""


class Pool(NamedTuple):
    """The weights of the members, and what the spread of each is multiplied by."""

    weights: Float[np.ndarray, "K"]
    factor: float


def pooled(
    parts_at: Callable[[float], list[Part]],
    choose: Callable[[list[Part]], Float[np.ndarray, "K"]],
    score: Callable[[list[Part], Float[np.ndarray, "K"]], float],
) -> Pool:
    """The factor with the best score of the mixture, and the weights that go with it.

    Args:
        parts_at: the members' predictions of rows they had not seen, their spread times a factor.
        choose: weights for such predictions.
        score: the log score of the weighted mixture, summed over the rows.

    >>> y = np.repeat([-1.0, 1.0], 20)
    >>> def score(deviations, weights):  # two Gaussians, which are where the rows are
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
