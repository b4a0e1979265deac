"""`FittedStack`: several models and their weights, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from directgp.fitting.stacking.member import ByGP, Components, Member
from directgp.fitting.stacking.stack import Stack, check_finite
from directgp.fitting.stacking.stacked_density import gaussians, mixed
from directgp.fitting.stacking.trees import trees_predict_once
from directgp.likelihoods import Gaussian
from directgp.linalg.blas_threads import one_blas_thread
from directgp.predictive.warped import LogWarp, warped
from directgp.tables import Standardiser

_REACH = 12.0
"""Deviations from the mean that are looked at by any integral over a component."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedStack(Stack):
    """A mixture of fitted models, each calibrated on out-of-fold predictions.

    `repr` lists members and weights; `predict` gives the distribution of y at new rows.
    """

    members: tuple[Member, ...]
    weights: Float[np.ndarray, "K"]
    inputs: Standardiser
    targets: Standardiser
    loss: str
    """The loss that the weights minimise: "log", "crps", "square" or "pinball"."""
    seconds: float
    out_of_fold: Float[np.ndarray, "N"] = field(repr=False)
    """−log p(y) of training rows out of fold (standardised units)."""
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""
    warp: LogWarp | None = None
    """The transformation of the target that the members have learned; None: the target itself."""

    num_outputs: int = 1

    @property
    def learned_target(self) -> str:
        """What the members have learned: "y", or "log y"."""
        return "y" if self.warp is None else "log y"

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
        """The predictive distribution of y at every row of X, independent of the other rows.

        Args:
            X: rows with the columns that the model was fitted to.
            precision: as of other fits; a stack always computes in float64.
        """
        rows = self.standardised(X)
        used = np.flatnonzero(self.weights > 0)
        with one_blas_thread(), trees_predict_once():
            parts = mixed([self.members[k].predict(rows) for k in used], self.weights[used])
        check_finite(parts.mean, parts.deviation, self._squares(parts))
        found = gaussians(parts).affine(float(self.targets.scale[0]), float(self.targets.shift[0]))
        return warped(found, self.warp)

    def _squares(self, parts: Components) -> Float[np.ndarray, "4"]:
        """The squares of the least and the largest number that matter: variances are below them.

        As the members see them, and in the user's units.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            least = np.min(parts.mean - _REACH * parts.deviation, initial=0.0)
            largest = np.max(parts.mean + _REACH * parts.deviation, initial=0.0)
            ends = np.array([least, largest])
            y = ends * self.targets.scale + self.targets.shift
            return np.append(ends, y if self.warp is None else self.warp.backward(y)) ** 2

    def _learned(self, member: Member, columns: Sequence[Any]) -> dict[str, Any]:
        noise = "noise_std" if self.warp is None else "noise_std_of_log"
        return member.hyperparameters(columns, self.inputs, float(self.targets.scale[0]), noise)
