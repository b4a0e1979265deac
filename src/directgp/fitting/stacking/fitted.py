"""`FittedStack`: several models and their weights, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.stacking.member import ByGP, Components, Member
from directgp.fitting.stacking.stack import FAR, Stack
from directgp.likelihoods import Gaussian
from directgp.predictive import GaussianMixture
from directgp.tables import Standardiser, check_inputs, check_names


@dataclass(frozen=True, eq=False, repr=False)
class FittedStack(Stack):
    """A mixture of fitted models, each calibrated by rows it had not seen.

    Printed it says who has which weight; `predict` gives the distribution of y at new rows.
    """

    members: tuple[Member, ...]
    weights: Float[np.ndarray, "K"]
    inputs: Standardiser
    targets: Standardiser
    loss: str
    """What the weights were chosen for: "log", "crps", "square" or "pinball"."""
    seconds: float
    out_of_fold: Float[np.ndarray, "N"] = field(repr=False)
    """−log p(y) of training rows by models that had not seen them (standardised units)."""
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""

    num_outputs: int = 1

    @property
    def likelihood(self) -> Gaussian:
        """Targets are real numbers, as those of Gaussian noise are."""
        return Gaussian()

    @property
    def steepness(self) -> Float[np.ndarray, "D"]:
        """1/length-scales of the exact GP; zeros if there is none."""
        found = [m.location.gp for m in self.members if isinstance(m.location, ByGP)]
        columns = len(self.inputs.shift)
        return np.exp(-found[0].kernel.log_parameters[:columns]) if found else np.zeros(columns)

    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Any:
        """The predictive distribution of y at every row of X; rows never influence each other.

        Args:
            X: rows with the columns that the model was fitted to.
            precision: as of other fits; a stack always computes in float64.
        """
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        rows = np.clip(self.inputs.forward_inputs(values), -FAR, FAR)
        used = np.flatnonzero(self.weights > 0)
        parts = mixed([self.members[k].predict(rows) for k in used], self.weights[used])
        if not (np.isfinite(parts.mean).all() and np.isfinite(parts.deviation).all()):
            raise DirectGPError(
                "this model predicts numbers that are not finite; look for extreme values in X"
            )
        return gaussians(parts).affine(float(self.targets.scale[0]), float(self.targets.shift[0]))

    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """The members by name with their weights, and what each has learned.

        Args:
            names: of the input columns; by default those of the frame it was fitted to.
        """
        columns = self.columns(names)
        return {
            member.name: {
                "weight": float(weight),
                **member.hyperparameters(columns, self.inputs, float(self.targets.scale[0])),
            }
            for member, weight in zip(self.members, self.weights, strict=True)
        }


def mixed(parts: Sequence[Components], weights: Float[np.ndarray, "K"]) -> Components:
    """The components of all members, weighted."""
    return Components(
        np.concatenate([part.mean for part in parts]),
        np.concatenate([part.deviation for part in parts]),
        np.concatenate([w * part.weight for w, part in zip(weights, parts, strict=True)]),
    )


def gaussians(part: Components) -> GaussianMixture:
    """The components as a distribution."""
    with np.errstate(divide="ignore"):  # weights chosen for CRPS or square loss may be 0
        logs = np.log(part.weight)
    return GaussianMixture(part.mean, part.deviation**2, logs)


def log_density(part: Components, y: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Log p(y) of a mixture of Gaussians at every row."""
    return gaussians(part).log_prob(y)
