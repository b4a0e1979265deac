"""Input-dependent error scale: an exact GP of the log squares of out-of-fold errors.

log z² of a Gaussian error with deviation s is log s² − 1.27 plus noise of variance π²/2, so a GP of
it has the logarithm of the local variance as its mean.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from directgp.exact.folds_left_out import FoldsLeftOut
from directgp.exact.regression import ExactRegression, exact_regression

_MEAN_LOG_SQUARE = -1.2703628454614782
"""E[log z²] of a standard Gaussian z: −(γ + log 2)."""
_DEVIATION = np.pi / np.sqrt(2.0)
_LOWEST = 6.0
"""Log squares are clipped this far below their median, where errors are tiny by chance."""
_LEAST = 1e-6
"""Added to every square: errors of a target that is constant are 0."""
_STEPS, _FURTHER_STEPS, _LEARN_FROM = 25, 8, 500
"""Of L-BFGS from scratch, from another model's hyperparameters, and the rows these steps see."""
_BEYOND = 1.0
"""Log s at new rows goes at most this far beyond what it is at training rows."""
_FOLDS = 5

Errors = Callable[[Bool[np.ndarray, "N"]], Float[np.ndarray, "M"]]
"""Standardised errors of the rows that are not aside, by models that have not seen those aside."""


class LogScale(NamedTuple):
    """log s(x) of the factor that the deviation of errors has at x."""

    gp: ExactRegression
    level: float

    @classmethod
    def fit(
        cls,
        X: Float[np.ndarray, "N D"],
        z: Float[np.ndarray, "N"],
        weight: Float[np.ndarray, "N"],
        seed: int,
        start: "LogScale | None" = None,
    ) -> "LogScale":
        """Learn it from standardised errors z of rows X.

        Args:
            X: standardised inputs.
            z: standardised errors.
            weight: of the rows.
            seed: of the rows that hyperparameters are learned from.
            start: of errors of another model, whose hyperparameters learning starts from.
        """
        logs, level = _log_squares(z, weight)
        gp = exact_regression(
            X,
            logs,
            weight=weight,
            max_steps=_STEPS if start is None else _FURTHER_STEPS,
            prior_deviation=1.0,
            learn_from=_LEARN_FROM,
            polish_steps=0,
            seed=seed,
            start=None if start is None else start.gp,
        )
        return cls(gp, level)

    @property
    def left_out(self) -> Float[np.ndarray, "N"]:
        """Log s at every training row, learned from the others, and within what they have."""
        mean = np.clip(self.gp.left_out.mean, np.min(self.gp.y), np.max(self.gp.y))
        return 0.5 * (mean * _DEVIATION + self.level)

    def held_out(self, errors: Errors, seed: int) -> Float[np.ndarray, "N"]:
        """Log s at every training row, from errors that its own target had no part in.

        An outlier spoils the predictions of its neighbours too, so that even without its own error
        the rows around it tell how far off it is. Here a fifth of the rows is aside in turn, both
        for the model whose errors are learned from and for log s.

        Args:
            errors: of the rows that are not aside.
            seed: of the folds.
        """
        count = len(self.gp.y)
        fold = np.random.default_rng(seed).permutation(count) % _FOLDS
        found, own = np.empty(count), FoldsLeftOut.of(self.gp)
        for number in range(_FOLDS):
            aside = fold == number
            logs, level = _log_squares(errors(aside), self.gp.weight[~aside])
            mean = np.clip(own.mean_aside(aside, logs), np.min(logs), np.max(logs))
            found[aside] = 0.5 * (mean * _DEVIATION + level)
        return found

    def predict(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """Log s at new rows, near what was seen: a line in log s is an exponential in s."""
        seen = self.left_out
        log_scale = 0.5 * (self.gp.predicted_mean(X) * _DEVIATION + self.level)
        return np.clip(log_scale, np.min(seen) - _BEYOND, np.max(seen) + _BEYOND)


def _log_squares(
    z: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"]
) -> tuple[Float[np.ndarray, "N"], float]:
    """Log squares of standardised errors as targets of a GP, and their level."""
    squares = z**2
    logs = np.log(squares + 1e-6 * np.mean(squares) + _LEAST) - _MEAN_LOG_SQUARE
    logs = np.maximum(logs, np.median(logs) - _LOWEST)
    level = float(np.average(logs, weights=weight))
    return (logs - level) / _DEVIATION, level
