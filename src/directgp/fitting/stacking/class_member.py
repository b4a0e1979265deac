"""One model of classes in a stack, with its calibration: one temperature."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax

from directgp.exact.classification import ExactClassification
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking.class_trees import ClassTrees
from directgp.fitting.stacking.logistic import LogisticRegression, out_of_fold_loss
from directgp.linalg.optimise import minimize_scalar
from directgp.tables import Standardiser

_PRIOR_DEVIATION = 0.5
"""Standard deviation of a prior on the log temperature, around 0."""
_BOUND = 2.0


class ClassModel(ABC):
    """P(y = k) at standardised rows: before calibration."""

    @abstractmethod
    def log_probabilities(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Of every class."""

    @abstractmethod
    def hyperparameters(self, columns: Sequence[Any], inputs: Standardiser) -> dict[str, Any]:
        """Learned parameters in the units of the data.

        Args:
            columns: their names.
            inputs: the scales that the model sees them in.
        """


@dataclass(frozen=True)
class ByLogistic(ClassModel):
    """Logistic regression."""

    model: LogisticRegression

    def log_probabilities(self, X):
        return self.model.log_probabilities(X)

    def hyperparameters(self, columns, inputs):
        size = np.max(self.model.slopes, axis=0) - np.min(self.model.slopes, axis=0)
        return {"largest_slope": dict(zip(columns, (size / inputs.scale).tolist(), strict=True))}


@dataclass(frozen=True)
class ByClassTrees(ClassModel):
    """Boosted trees."""

    trees: ClassTrees

    def log_probabilities(self, X):
        return self.trees.log_probabilities(X)

    def hyperparameters(self, columns, inputs):
        return {"trees": max(len(own.roots) for own in self.trees.ensembles)}


@dataclass(frozen=True)
class ByClassGP(ClassModel):
    """An exact GP by Laplace's approximation."""

    gp: ExactClassification

    def log_probabilities(self, X):
        return self.gp.predict(X).log_probabilities()

    def hyperparameters(self, columns, inputs):
        kernel = self.gp.kernel.log_parameters
        lengthscales = np.exp(kernel[: len(columns)]) * inputs.scale
        return {
            "lengthscale": dict(zip(columns, lengthscales.tolist(), strict=True)),
            "variance": float(np.exp(kernel[-2])),
        }


@dataclass(frozen=True)
class ByTrainedGP(ClassModel):
    """A sparse GP, trained for the direct log loss."""

    fitted: FittedGP

    def log_probabilities(self, X):
        return self.fitted.predict(X).log_probabilities

    def hyperparameters(self, columns, inputs):
        return {"model": repr(self.fitted)}


@dataclass(frozen=True)
class ClassMember:
    """A model whose log probabilities are divided by a temperature."""

    name: str
    model: ClassModel
    temperature: float

    def log_probabilities(self, X: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "N K"]:
        """Of every class at standardised rows."""
        return self.calibrated(self.model.log_probabilities(X))

    def calibrated(self, logs: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "N K"]:
        """Log probabilities at the member's temperature."""
        return log_softmax(logs / self.temperature, axis=1)


def best_temperature(
    logs: Float[np.ndarray, "N K"], y: Int[np.ndarray, "N"], weight: Float[np.ndarray, "N"]
) -> float:
    """The temperature that minimises the out-of-fold log loss, with a prior around 1.

    Args:
        logs: log probabilities of rows by models that had not seen them.
        y: their classes.
        weight: of the rows.

    >>> logs, y = np.log([[0.99, 0.01]] * 100), np.array([0] * 80 + [1] * 20)
    >>> best_temperature(logs, y, np.ones(100)) > 2
    True
    """
    total = float(weight.sum())

    def objective(log_temperature: float) -> float:
        loss = out_of_fold_loss(log_softmax(logs * np.exp(-log_temperature), axis=1), y, weight)
        return total * loss + 0.5 * (log_temperature / _PRIOR_DEVIATION) ** 2

    found = minimize_scalar(objective, bounds=(-_BOUND, _BOUND), method="bounded")
    return float(np.exp(found.x))
