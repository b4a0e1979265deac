"""`FittedCountStack`: several models of counts and their weights."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.stacking.count_member import ByLogCounts, CountMember, RateComponents
from directgp.fitting.stacking.stack import FAR, Stack
from directgp.likelihoods import NegativeBinomialExp
from directgp.predictive import CountMixture
from directgp.tables import Standardiser, check_inputs, check_names


@dataclass(frozen=True, eq=False, repr=False)
class FittedCountStack(Stack):
    """A mixture of fitted models of counts, each calibrated by rows it had not seen.

    Printed it says who has which weight; `predict` gives the distribution of counts at new rows.
    """

    members: tuple[CountMember, ...]
    weights: Float[np.ndarray, "K"]
    inputs: Standardiser
    dispersion: float
    """Of every component: the variance of y is λ + dispersion · λ²."""
    loss: str
    """What the weights were chosen for: "log"."""
    seconds: float
    out_of_fold: Float[np.ndarray, "N"] = field(repr=False)
    """−log P(y) of training rows by models that had not seen them."""
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
        """The distribution of the count at every row of X; rows never influence each other.

        Args:
            X: rows with the columns that the model was fitted to.
            precision: as of other fits; a stack always computes in float64.
        """
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        rows = np.clip(self.inputs.forward_inputs(values), -FAR, FAR)
        used = np.flatnonzero(self.weights > 0)
        parts = mixed_rates([self.members[k].predict(rows) for k in used], self.weights[used])
        if not np.isfinite(parts.log_rate).all():
            raise DirectGPError(
                "this model predicts numbers that are not finite; look for extreme values in X"
            )
        return counts(parts, self.dispersion)

    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """The members by name with their weights, and what each has learned.

        Args:
            names: of the input columns; by default those of the frame it was fitted to.
        """
        columns = self.columns(names)
        return {
            member.name: {
                "weight": float(weight),
                **member.model.hyperparameters(columns, self.inputs),
            }
            for member, weight in zip(self.members, self.weights, strict=True)
        }


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
