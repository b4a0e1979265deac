"""`RidgeBaseline`: a ridge regression with one deviation, which a model of numbers should beat."""

import json
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.predictive import GaussianMixture

_MOST_ROWS = 20_000
_PENALTIES = np.logspace(-6, 2, 17)
"""Of standardised inputs, for each row."""


class RidgeBaseline(NamedTuple):
    """y ≈ intercept + slopes · x with errors of one deviation."""

    slopes: Float[np.ndarray, "D"]
    intercept: float
    deviation: float
    """The root of the mean squared leave-one-out error."""

    @classmethod
    def fit(
        cls, X: Float[np.ndarray, "N D"], y: Float[np.ndarray, "N"], seed: int = 0
    ) -> "RidgeBaseline":
        """Fit it by least squares with the penalty whose leave-one-out error is smallest.

        Args:
            X: inputs.
            y: targets.
            seed: of the sample of 20,000 rows from more.

        >>> X = np.random.default_rng(0).normal(size=(50, 2))
        >>> RidgeBaseline.fit(X, 3.0 + X @ [1.0, -2.0]).slopes.round(3).tolist()
        [1.0, -2.0]
        """
        some = np.random.default_rng(seed).permutation(len(y))[:_MOST_ROWS]
        X, y = X[some], y[some]
        with np.errstate(over="ignore", invalid="ignore"):
            centre, scale, level = X.mean(axis=0), X.std(axis=0), float(y.mean())
            usable = np.isfinite(centre) & np.isfinite(scale) & (scale > 0)  # no slope else
            centre, scale = np.where(usable, centre, 0.0), np.where(usable, scale, 1.0)
            inputs = np.where(usable, (X - centre) / scale, 0.0)
        left, sizes, right = np.linalg.svd(inputs, full_matrices=False)
        unit = float(np.max(np.abs(y - level))) or 1.0  # so that no square is infinite
        gaps = (y - level) / unit
        squares, along = sizes**2, left.T @ gaps
        found, least = np.zeros(len(sizes)), np.inf
        for penalty in (_PENALTIES * len(y)).tolist():
            kept = squares / (squares + penalty)
            seen = 1.0 / len(y) + np.einsum("nk,k,nk->n", left, kept, left)
            errors = (gaps - left @ (kept * along)) / np.maximum(1.0 - seen, 1e-9)
            error = float(np.mean(errors**2))
            if error < least:
                found, least = sizes / (squares + penalty) * along, error
        slopes = np.where(usable, unit * (right.T @ found) / scale, 0.0)
        spread = unit * float(np.sqrt(least)) or 1e-6 * (1.0 + abs(level))
        return cls(slopes, float(level - centre @ slopes), spread)

    def predict(self, X: Float[np.ndarray, "N D"]) -> GaussianMixture:
        """A Gaussian at every row."""
        mean = self.intercept + X @ self.slopes
        return GaussianMixture(mean[None], np.full((1, len(X)), self.deviation**2), np.zeros(1))

    def to_json(self) -> str:
        """For a model file."""
        return json.dumps([self.slopes.tolist(), self.intercept, self.deviation])

    @classmethod
    def of(cls, stored: object, num_inputs: int) -> "RidgeBaseline":
        """What `to_json` wrote, parsed; anything else is refused.

        Args:
            stored: the parsed JSON.
            num_inputs: columns of the model.
        """
        match stored:
            case [list(slopes), float(intercept), float(deviation)] if (
                len(slopes) == num_inputs
                and all(isinstance(slope, float) for slope in slopes)
                and deviation > 0
            ):
                return cls(np.array(slopes, np.float64), intercept, deviation)
        raise DirectGPError("the linear baseline is none")
