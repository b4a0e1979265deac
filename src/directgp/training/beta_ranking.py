"""Ranking values of β by held-out losses; among those within one standard error, nearest 1 wins."""

import math

import numpy as np
from jaxtyping import Float


def ranked(losses: dict[float, Float[np.ndarray, "V"]]) -> list[float]:
    """Candidates in order: first those that may be the best, nearest to β = 1; then by loss.

    A candidate may be the best if its mean loss is within one standard error of the smallest,
    the error being that of the rows' differences. A single row has no standard error: then every
    candidate with a finite loss may be the best.

    >>> ranked({0.1: np.array([1.0, 2.0]), 1.0: np.array([1.1, 2.0]), 8.0: np.array([3.0, 4.1])})
    [1.0, 0.1, 8.0]
    """
    means = {beta: float(np.mean(rows)) for beta, rows in losses.items()}
    best = min(means, key=lambda beta: means[beta])

    def may_be_best(beta: float) -> bool:
        if not math.isfinite(means[beta]):
            return False
        difference = losses[beta] - losses[best]
        return bool(np.mean(difference) <= standard_error(difference))

    def order(beta: float) -> tuple[bool, float, float]:
        fit_to_win = may_be_best(beta)
        return (
            not fit_to_win,
            distance_from_one(beta) if fit_to_win else means[beta],
            means[beta],
        )

    return sorted(losses, key=order)


def standard_error(values: Float[np.ndarray, "V"]) -> float:
    """The standard error of the mean; infinite for a single value."""
    count = len(values)
    return float(np.std(values) / np.sqrt(count - 1)) if count > 1 else math.inf


def distance_from_one(beta: float) -> float:
    """|log β|, infinite for β = 0."""
    return abs(math.log(beta)) if beta > 0 else math.inf
