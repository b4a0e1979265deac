"""`FoldsLeftOut`: predictions of an exact GP from all rows but one fold, by its own inverse.

With P = K⁻¹ and a fold F, the inverse of K without the rows F is P_AA − P_AF P_FF⁻¹ P_FA on the
other rows A. So leave-one-out predictions of A that have not seen F either, and predictions of F
from any values at A, cost no factorisation of their own: N³/k for all k folds together.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import cho_factor, cho_solve

from directgp.exact.leave_one_out import LeaveOneOut
from directgp.exact.regression import ExactRegression
from directgp.exact.regression_objective import cholesky, covariance, inverse_of
from directgp.linalg.blas_threads import one_blas_thread


class FoldsLeftOut(NamedTuple):
    """A GP and its K⁻¹, noise included."""

    gp: ExactRegression
    inverse: Float[np.ndarray, "N N"]

    @classmethod
    def of(cls, gp: ExactRegression) -> "FoldsLeftOut":
        """Factorise K of a fitted GP once more."""
        with one_blas_thread():
            matrix = covariance(gp.X, gp.weight, gp.kernel, gp.log_noise)
            return cls(gp, inverse_of(cholesky(matrix)))

    def others(self, aside: Bool[np.ndarray, "N"]) -> LeaveOneOut:
        """Every row that is not aside, from the rows that are neither aside nor itself."""
        gp, kept = self.gp, ~aside
        between = self.inverse[np.ix_(aside, kept)]
        moved = self._solved(aside, between)
        alpha = gp.alpha[kept] - moved.T @ gp.alpha[aside]
        precision = np.diagonal(self.inverse)[kept] - np.einsum("fn,fn->n", moved, between)
        noise = float(np.exp(gp.log_noise))
        variance = np.maximum(1.0 / precision - noise / gp.weight[kept], 0.0) + noise
        return LeaveOneOut(gp.y[kept] - alpha / precision, variance)

    def mean_aside(
        self, aside: Bool[np.ndarray, "N"], y: Float[np.ndarray, "M"]
    ) -> Float[np.ndarray, "F"]:
        """The mean at the rows aside, given these values at the others.

        Args:
            aside: the fold.
            y: values at the other rows, in place of those that the GP was fitted to.
        """
        return -self._solved(aside, self.inverse[np.ix_(aside, ~aside)] @ y)

    def _solved(self, aside: Bool[np.ndarray, "N"], right: np.ndarray) -> np.ndarray:
        return cho_solve(cho_factor(self.inverse[np.ix_(aside, aside)], lower=True), right)
