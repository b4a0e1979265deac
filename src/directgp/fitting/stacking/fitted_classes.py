"""`FittedClassStack`: the stack for classification."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from directgp.fitting.stacking.class_member import ByClassGP, ByLogistic, ClassMember
from directgp.fitting.stacking.stack import Stack, check_finite
from directgp.likelihoods import BernoulliProbit, Categorical, Likelihood
from directgp.linalg.blas_threads import one_blas_thread
from directgp.predictive import ClassProbabilities

_BLOCK = 256
"""Block size of predictions, constant so that a prediction does not depend on other rows."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedClassStack(Stack):
    """A mixture of fitted classifiers."""

    members: tuple[ClassMember, ...]
    num_classes: int
    support: float
    """The number of rows n, or their total weight, which bounds probabilities; see `succession`."""

    @property
    def likelihood(self) -> Likelihood:
        """A likelihood of the same number of classes."""
        return BernoulliProbit() if self.num_classes == 2 else Categorical(self.num_classes)

    @property
    def steepness(self) -> Float[np.ndarray, "D"]:
        """1/length-scales of the GP, or, without one, the sizes of logistic regression's slopes."""
        models = [member.model for member in self.members]
        for model in models:
            if isinstance(model, ByClassGP):
                return np.exp(-model.gp.kernel.log_parameters[:-2])
        slopes = next(model.model.slopes for model in models if isinstance(model, ByLogistic))
        return np.max(slopes, axis=0) - np.min(slopes, axis=0) + np.finfo(float).tiny

    def predict(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> ClassProbabilities:
        """The probability of every class at every row of X, independent of the other rows."""
        rows = self.standardised(X)
        logs = np.empty((len(rows), self.num_classes))
        for first in range(0, len(rows), _BLOCK):
            block = np.zeros((_BLOCK, rows.shape[1]))
            count = len(rows[first : first + _BLOCK])
            block[:count] = rows[first : first + _BLOCK]
            with one_blas_thread():
                parts = [member.log_probabilities(block) for member in self.members]
            logs[first : first + count] = mixed_classes(parts, self.weights)[:count]
        check_finite(logs)
        return ClassProbabilities(logs).with_further_row(self.support)

    def _learned(self, member: ClassMember, columns: Sequence[Any]) -> dict[str, Any]:
        learned = member.model.hyperparameters(columns, self.inputs)
        return {"temperature": member.temperature, **learned}


def mixed_classes(
    parts: Sequence[Float[np.ndarray, "N K"]], weights: Float[np.ndarray, "M"]
) -> Float[np.ndarray, "N K"]:
    """Log Σ_m w_m p_m of every class.

    Args:
        parts: log p_m of every member.
        weights: w.
    """
    logs = np.stack(parts) + np.log(np.maximum(weights, 1e-300))[:, None, None]
    return np.asarray(logsumexp(logs, axis=0))
