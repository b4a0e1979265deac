"""One model of counts in a stack: a log-rate at every row, and the distribution around it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.exact.regression import ExactRegression
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.tables import Standardiser

HALF = 0.5
"""Added to counts and rates before their logarithm, which is then finite for 0."""


class RateModel(ABC):
    """log E[y] at standardised rows: before calibration."""

    @abstractmethod
    def log_rate(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N"]:
        """Of every row."""

    @abstractmethod
    def hyperparameters(self, columns: Sequence[Any], inputs: Standardiser) -> dict[str, Any]:
        """Learned parameters in the units of the data.

        Args:
            columns: their names.
            inputs: the scales that the model sees them in.
        """


@dataclass(frozen=True)
class ByLogLinear(RateModel):
    """Poisson regression with a ridge penalty: log λ = xᵀ slopes + level."""

    slopes: Float[np.ndarray, "D"]
    level: float

    def log_rate(self, X):
        # Row by row, so that a prediction does not depend on other rows.
        return np.einsum("nd,d->n", X, self.slopes) + self.level

    def hyperparameters(self, columns, inputs):
        slopes = self.slopes / inputs.scale
        return {"slope": dict(zip(columns, slopes.tolist(), strict=True))}


@dataclass(frozen=True)
class ByRateTrees(RateModel):
    """Boosted trees of the log-rate."""

    trees: TreeEnsemble

    def log_rate(self, X):
        return self.trees.predict(X)

    def hyperparameters(self, columns, inputs):
        return {"trees": len(self.trees.roots)}


@dataclass(frozen=True)
class ByLogCounts(RateModel):
    """An exact GP of log(y + ½), relative to a base model's log(λ + ½) if there is one."""

    gp: ExactRegression
    shift: float
    scale: float
    trees: TreeEnsemble | None = None

    def log_rate(self, X):
        base = 0.0
        inputs = X
        if self.trees is not None:
            base = smoothed_log(self.trees.predict(X))
            inputs = np.column_stack([X, base])
        return base + self.shift + self.scale * self.gp.predict(inputs)[0]

    def hyperparameters(self, columns, inputs):
        lengthscales = np.exp(self.gp.kernel.log_parameters[: len(columns)]) * inputs.scale
        return {"lengthscale": dict(zip(columns, lengthscales.tolist(), strict=True))}


@dataclass(frozen=True)
class ByTrainedRates(RateModel):
    """A sparse GP of counts, trained for the direct log loss."""

    fitted: FittedGP

    def log_rate(self, X):
        return np.log(np.maximum(self.fitted.predict(X).mean, 1e-12))

    def hyperparameters(self, columns, inputs):
        return {"model": repr(self.fitted)}


def smoothed_log(log_rate: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Log(λ + ½) of a log-rate."""
    return np.logaddexp(log_rate, np.log(HALF))


class RateComponents(NamedTuple):
    """Negative binomial counts at every row: Σ_s weight_s NB(exp(log_rate_s), dispersion)."""

    log_rate: Float[np.ndarray, "S N"]
    weight: Float[np.ndarray, "S"]


@dataclass(frozen=True)
class CountMember:
    """A mixture of negative binomials with log-rates level + slope · log λ(x) + offset.

    The offsets and their shares describe the variation of rates around those of the model: large
    negative offsets for rows that are always 0, small ones for over-dispersion beyond `dispersion`.
    """

    name: str
    model: RateModel
    level: float
    slope: float
    lowest: float
    highest: float
    offsets: Float[np.ndarray, "S"]
    shares: Float[np.ndarray, "S"]

    def predict(self, X: Float[np.ndarray, "N D"]) -> RateComponents:
        """The components at standardised rows."""
        return self.components(self.model.log_rate(X))

    def components(self, log_rate: Float[np.ndarray, "N"]) -> RateComponents:
        """The components for log-rates of the model, clipped to near those of training rows."""
        centre = np.clip(self.level + self.slope * log_rate, self.lowest, self.highest)
        return RateComponents(centre + self.offsets[:, None], self.shares)
