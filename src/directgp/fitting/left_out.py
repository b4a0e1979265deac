"""`LeftOut`: leave-one-out predictions of training rows and their scores."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from directgp.metrics import row_scores
from directgp.predictive import Predictive


@dataclass(frozen=True)
class LeftOut:
    """Leave-one-out predictions of the training rows, in their order, without rows of weight 0.

    Equal rows are one row of their total weight and are left out together.
    """

    predictive: Predictive
    """The prediction of every row from all other rows."""
    y: Float[np.ndarray, "N"]
    """The observed targets."""
    weight: Float[np.ndarray, "N"]
    """The weights of the rows."""

    @property
    def log_prob(self) -> Float[np.ndarray, "N"]:
        """The log density of every row."""
        return self.predictive.log_prob(self.y)

    def scores(self, level: float = 0.9) -> dict[str, tuple[float, float]]:
        """Mean and standard error of every score: nll, mse, crps, coverage, interval_width.

        Args:
            level: of the intervals whose coverage and width are scored.
        """
        found = row_scores(self.predictive, self.y, level)
        return {name: self._mean(values) for name, values in found.items()}

    def _mean(self, values: Float[np.ndarray, "N"]) -> tuple[float, float]:
        share = self.weight / self.weight.sum()
        mean = float(share @ values)
        few = 1.0 - float(share @ share)  # (N − 1)/N of equal weights
        if not few > 0:
            return mean, float("nan")
        return mean, float(np.sqrt(np.sum((share * (values - mean)) ** 2) / few))
