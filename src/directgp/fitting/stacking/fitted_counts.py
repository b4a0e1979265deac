"""`FittedCountStack`: the stack for counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.fitting.stacking.count_member import ByLogCounts, CountMember, RateComponents
from directgp.fitting.stacking.stack import Stack, check_finite
from directgp.fitting.stacking.trees import trees_predict_once
from directgp.likelihoods import NegativeBinomialExp
from directgp.linalg.blas_threads import one_blas_thread
from directgp.predictive import CountMixture


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedCountStack(Stack):
    """A mixture of fitted models of counts."""

    members: tuple[CountMember, ...]
    dispersion: float
    """Of all components, whose variance is λ + dispersion · λ²."""

    @property
    def likelihood(self) -> NegativeBinomialExp:
        """A likelihood of counts with the dispersion of the components."""
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
        """The distribution of the count at every row of X, independent of the other rows."""
        rows = self.standardised(X)
        used = np.flatnonzero(self.weights > 0)
        with one_blas_thread(), trees_predict_once():
            parts = mixed_rates([self.members[k].predict(rows) for k in used], self.weights[used])
        check_finite(parts.log_rate)
        return counts(parts, self.dispersion)

    def _learned(self, member: CountMember, columns: Sequence[Any]) -> dict[str, Any]:
        return member.model.hyperparameters(columns, self.inputs)


def mixed_rates(parts: Sequence[RateComponents], weights: Float[np.ndarray, "K"]) -> RateComponents:
    """The components of all members.

    Args:
        parts: components of every member.
        weights: of the members.
    """
    return RateComponents(
        np.concatenate([part.log_rate for part in parts]),
        np.concatenate([w * part.weight for w, part in zip(weights, parts, strict=True)]),
    )


def counts(part: RateComponents, dispersion: float | int) -> CountMixture:
    """The distribution of counts.

    Args:
        part: its components.
        dispersion: of all components.
    """
    mean = part.log_rate[..., None]
    likelihood = NegativeBinomialExp(float(dispersion))
    return likelihood.predictive(mean, np.zeros_like(mean), np.log(part.weight))
