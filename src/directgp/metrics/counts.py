"""Scores of counts: mean relative error, and the randomised PIT."""

from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.metrics.scores import Y, check_possible, check_scored, row_scores
from directgp.predictive import CountMixture, Predictive


def mean_relative_error(predictive: Predictive, y: Y) -> float:
    """Mean relative error of the predictive mean (MRE, `dlm-supp`, "Evaluation").

        (1/N) Σ_n |E[y_n] − y_n| / max(1, y_n)

    E[y] is the predictive mean with f integrated out: exp(m + v/2) for a Poisson with exp link, not
    exp(m).

    Args:
        predictive: of every row.
        y: the observed values.

    >>> from directgp.likelihoods import PoissonExp
    >>> mean = np.log([[[2.0], [2.0]]])
    >>> p = PoissonExp().predictive(mean, np.zeros((1, 2, 1)), np.zeros(1))
    >>> round(mean_relative_error(p, np.array([0, 4])), 4)
    1.25
    """
    y = check_scored(predictive, y)
    return float(np.mean(_relative_errors(predictive, y)))


def randomised_pit(predictive: Predictive, y: Y, seed: int) -> Float[np.ndarray, "N"]:
    """Probability integral transform of counts: uniform on [0, 1] if the model is calibrated.

        u_n = F_n(y_n − 1) + U_n (F_n(y_n) − F_n(y_n − 1)),    U_n uniform

    The cdf of counts at y is not uniform, so a random point within its jump is used.

    Args:
        predictive: of every row.
        y: the observed values.
        seed: of the random numbers.

    >>> from directgp.likelihoods import PoissonExp
    >>> p = PoissonExp().predictive(np.zeros((1, 3, 1)), np.zeros((1, 3, 1)), np.zeros(1))
    >>> u = randomised_pit(p, np.array([0, 1, 2]), seed=0)
    >>> bool(np.all((u > p.cdf([-1, 0, 1])) & (u < p.cdf([0, 1, 2]))))
    True
    """
    y = check_scored(predictive, y)
    below, at = predictive.cdf(y - 1.0), predictive.cdf(y)
    return below + np.random.default_rng(seed).random(y.size) * (at - below)


@check_possible.register
def _(predictive: CountMixture, y: Float[np.ndarray, "N"]) -> None:
    impossible = (y < 0) | (y != np.round(y))
    if np.any(impossible):
        raise DirectGPError(
            f"counts must be whole numbers from 0 on to be scored, got {y[impossible][0]:g}"
        )


@row_scores.register
def _(predictive: CountMixture, y: Any, level: float = 0.9):
    """The scores of real numbers, and the relative error."""
    y = check_scored(predictive, y)
    general = row_scores.dispatch(Predictive)(predictive, y, level)
    return general | {"mre": _relative_errors(predictive, y)}


def _relative_errors(predictive: Predictive, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    return np.abs(predictive.mean - y) / np.maximum(1.0, np.abs(y))
