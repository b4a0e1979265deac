"""`FittedCountStack`: several models of counts and their weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.fitting.stacking.count_member import ByLogCounts, CountMember, RateComponents
from directgp.fitting.stacking.stack import Stack, check_finite
from directgp.fitting.stacking.trees import trees_predict_once
from directgp.likelihoods import NegativeBinomialExp
from directgp.linalg.blas_threads import one_blas_thread
from directgp.predictive import CountMixture
from directgp.tables import Standardiser


@dataclass(frozen=True, eq=False, repr=False)
class FittedCountStack(Stack):
    """A mixture of fitted models of counts, each calibrated on out-of-fold predictions.

    `repr` lists members and weights; `predict` gives the distribution of counts at new rows.
    """

    members: tuple[CountMember, ...]
    weights: Float[np.ndarray, "K"]
    inputs: Standardiser
    dispersion: float
    """Of every component: the variance of y is λ + dispersion · λ²."""
    loss: str
    """The loss that the weights minimise: "log"."""
    seconds: float
    out_of_fold: Float[np.ndarray, "N"] = field(repr=False)
    """−log P(y) of training rows, out of fold."""
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""

    num_outputs: int = 1

    @property
    def likelihood(self) -> NegativeBinomialExp:
        """Targets are counts, with the dispersion of one component."""
        return NegativeBinomialExp(self.dispersion)

    @property
    def steepness(self) -> Float[np.ndarray, "D"]:
        """1/length-scales of the exact GP; zeros if there is none."""
        columns = len(self.inputs.shift)
        for member in self.members:
            if isinstance(member.model, ByLogCounts):
                return np.exp(-member.model.gp.kernel.log_parameters[:columns])
        return np.zeros(columns)

    def predict(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> CountMixture:
        """The distribution of the count at every row of X, independent of the other rows.

        Args:
            X: rows with the columns that the model was fitted to.
            precision: as of other fits; a stack always computes in float64.
        """
        rows = self.standardised(X)
        used = np.flatnonzero(self.weights > 0)
        with one_blas_thread(), trees_predict_once():
            parts = mixed_rates([self.members[k].predict(rows) for k in used], self.weights[used])
        check_finite(parts.log_rate)
        return counts(parts, self.dispersion)

    def _learned(self, member: CountMember, columns: Sequence[Any]) -> dict[str, Any]:
        return member.model.hyperparameters(columns, self.inputs)


def mixed_rates(parts: Sequence[RateComponents], weights: Float[np.ndarray, "K"]) -> RateComponents:
    """The components of all members, weighted."""
    return RateComponents(
        np.concatenate([part.log_rate for part in parts]),
        np.concatenate([w * part.weight for w, part in zip(weights, parts, strict=True)]),
    )


def counts(part: RateComponents, dispersion: float | int) -> CountMixture:
    """The components as a distribution of counts."""
    mean = part.log_rate[..., None]
    likelihood = NegativeBinomialExp(float(dispersion))
    return likelihood.predictive(mean, np.zeros_like(mean), np.log(part.weight))
