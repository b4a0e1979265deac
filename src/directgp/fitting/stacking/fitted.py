"""`FittedStack`: the stack for regression, in the units of the user."""

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FittedStack(Stack):
    """A mixture of fitted models of a real target."""

    members: tuple[Member, ...]
    targets: Standardiser
    warp: LogWarp | None = None
    """The transformation of the target of the members; None: the target itself."""

    @property
    def learned_target(self) -> str:
        """The target of the members: "y", or "log y"."""
        return "y" if self.warp is None else "log y"

    @property
    def likelihood(self) -> Gaussian:
        """A likelihood of real numbers."""
        return Gaussian()

    @property
    def steepness(self) -> Float[np.ndarray, "D"]:
        """1/length-scales of the exact GP; zeros if there is none."""
        found = [m.location.gp for m in self.members if isinstance(m.location, ByGP)]
        columns = len(self.inputs.shift)
        return np.exp(-found[0].kernel.log_parameters[:columns]) if found else np.zeros(columns)

    def predict(self, X: Any, *, precision: Literal["float64", "mixed"] = "float64") -> Any:
        """The predictive distribution of y at every row of X, independent of the other rows."""
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
