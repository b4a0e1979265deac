"""`FittedExactRegression`: an exact GP for regression, in the units of the user."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from directgp.errors import DirectGPError
from directgp.exact.regression import ExactRegression
from directgp.fitting.hyperparameters import named_columns
from directgp.fitting.left_out import LeftOut
from directgp.kernels import Kernel, Linear, Matern52
from directgp.likelihoods import Gaussian
from directgp.linalg.blas_threads import one_blas_thread
from directgp.losses import Gibbs, Loss
from directgp.parameters import float64
from directgp.predictive import GaussianMixture
from directgp.tables import Standardiser, check_inputs, check_names

_NO_LEVEL = 1e-12
"""Bias of the `Linear` kernel in `kernel`, because the fitted kernel has no constant part."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedExactRegression:
    """An exact GP with Gaussian noise, fitted by evidence or by a leave-one-out loss.

    `repr` is a one-line summary, `predict` the distribution of y at new rows, `left_out` that of
    every training row from all the others.
    """

    gp: ExactRegression
    """For standardised rows; equal rows are one row of their total weight."""
    inputs: Standardiser
    targets: Standardiser
    loss: Loss
    """The loss of the hyperparameters: −log p(y) for Gibbs(LogLoss()), else leave-one-out."""
    optimism: float
    """The ratio of errors at rows that were not used for the hyperparameters to leave-one-out
    errors, at least 1 (`exact.checked_regression`)."""
    row: Int[np.ndarray, "N"] = field(repr=False)
    """For every training row, its row number in `gp`."""
    row_weight: Float[np.ndarray, "N"] = field(repr=False)
    """The weight of every training row."""
    seconds: float
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""

    num_outputs: int = 1

    @property
    def spread(self) -> float:
        """The factor of predictive standard deviations: `optimism` for leave-one-out losses, else
        1.

        Minimising a leave-one-out loss makes these errors, and the deviations fitted to them, too
        small.
        """
        return 1.0 if isinstance(self.loss, Gibbs) else self.optimism

    @property
    def likelihood(self) -> Gaussian:
        """p(y | f), of standardised targets."""
        return Gaussian(np.exp(self.gp.log_noise))

    @property
    @float64
    def kernel(self) -> Kernel:
        """Of f, for standardised rows."""
        *lengthscale, variance, slope = np.exp(self.gp.kernel.log_parameters)
        linear = Linear(np.full(len(lengthscale), slope / len(lengthscale)), _NO_LEVEL)
        return Matern52(variance=variance, lengthscale=np.array(lengthscale)) + linear

    @property
    def log_evidence(self) -> float:
        """Log p(y) of the training rows in the units of y."""
        logs = np.log(float(self.targets.scale[0]))
        return self.gp.log_evidence - float(self.gp.weight.sum()) * float(logs)

    def predict(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> GaussianMixture:
        """The predictive distribution of y at every row of X, independent of the other rows.

        Args:
            X: rows with the columns that the model was fitted to. Inputs more than 1000 deviations
                from those count as 1000 deviations away.
            precision: ignored; predictions are computed in float64.
        """
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        with one_blas_thread():
            mean, variance = self.gp.predict(self.inputs.forward_inputs(values))
        if not (np.isfinite(mean).all() and np.isfinite(variance).all()):
            raise DirectGPError(
                "this model predicts numbers that are not finite; look for extreme values in X"
            )
        return self._in_units(mean, variance)

    @property
    def left_out(self) -> LeftOut:
        """Leave-one-out predictions of the training rows.

        The hyperparameters depend on the row that is left out, so errors are multiplied by
        `optimism`: scores and coverage are then estimates for new rows. `gp.left_out` has the
        closed form without this factor in standardised units.
        """
        gp = self.gp
        mean = gp.y - self.optimism * (gp.y - gp.left_out.mean)
        found = self._in_units(mean[self.row], gp.left_out.variance[self.row])
        y = gp.y[self.row] * self.targets.scale[0] + self.targets.shift[0]
        return LeftOut(found, y, self.row_weight)

    def _in_units(
        self, mean: Float[np.ndarray, "N"], variance: Float[np.ndarray, "N"]
    ) -> GaussianMixture:
        found = GaussianMixture(mean[None], self.spread**2 * variance[None], np.zeros(1))
        return found.affine(float(self.targets.scale[0]), float(self.targets.shift[0]))

    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Variance, length-scales, slopes and noise in the units of the data, by name.

        "variance" and "lengthscale" are of the Matérn kernel, "slope_std" has the standard
        deviation of the slope along each input, "noise_std" that of the noise. Predictive standard
        deviations are multiplied by `spread`.

        Args:
            names: of the input columns; by default those of the frame it was fitted to.

        >>> from directgp import Exact, fit
        >>> X = np.linspace(0, 1000, 40)[:, None]  # metres
        >>> noise = 0.1 * np.random.default_rng(0).normal(size=40)
        >>> fitted = fit(X, np.sin(X[:, 0] / 200) + noise, model=Exact(), loss="elbo")
        >>> list(fitted.hyperparameters(["height"]))
        ['kernel', 'variance', 'lengthscale', 'slope_std', 'noise_std']
        >>> 100 < fitted.hyperparameters(["height"])["lengthscale"]["height"] < 1000
        True
        """
        columns = named_columns(self.names if names is None else names, len(self.inputs.scale))
        *lengthscale, variance, slope = np.exp(self.gp.kernel.log_parameters)
        scale = float(self.targets.scale[0])
        slopes = np.sqrt(slope / len(columns)) * scale / self.inputs.scale
        return {
            "kernel": self.kernel.label,
            "variance": float(variance) * scale**2,
            "lengthscale": _by_name(columns, np.array(lengthscale) * self.inputs.scale),
            "slope_std": _by_name(columns, slopes),
            "noise_std": float(np.exp(0.5 * self.gp.log_noise)) * scale,
        }

    def __repr__(self) -> str:
        weighted = "" if len(self.row) == len(self.gp.y) else f" ({len(self.gp.y)} different)"
        inputs = len(self.inputs.shift)
        left_out = float(np.average(-self.left_out.log_prob, weights=self.row_weight))
        return (
            f"FittedExactRegression: {len(self.row)} rows{weighted}, "
            f"{inputs} input{'s' if inputs > 1 else ''}, {self.kernel.label}; "
            f"{loss_in_words(self.loss)}; log evidence {self.log_evidence:.4g}, leave-one-out log "
            f"loss {left_out:.4g}; {self.seconds:.1f} s"
        )


def loss_in_words(loss: Loss) -> str:
    """The loss of the hyperparameters in words."""
    return "evidence" if isinstance(loss, Gibbs) else f"leave-one-out {type(loss.score).__name__}"


def _by_name(names: Sequence[str], values: Float[np.ndarray, "D"]) -> dict[str, float]:
    return dict(zip(names, values.tolist(), strict=True))
