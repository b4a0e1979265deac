"""Ranking of values of β by held-out loss: the one nearest to 1 within one standard error wins."""

import math

import numpy as np
from jaxtyping import Float


def ranked(losses: dict[float, Float[np.ndarray, "V"]]) -> list[float]:
    """Values of β, best first: those within one standard error of the best by |log β|, then by
    loss.

    The standard error is that of the differences between the losses of rows. A single row has none:
    then every candidate with a finite loss is within it.

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
