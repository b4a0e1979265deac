"""`FittedExact`: an exact GP classifier, perhaps calibrated for a cost, in the user's units."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Bool, Float

from directgp.exact.calibrate import calibrate
from directgp.exact.classifier import ExactGP
from directgp.exact.ep import Propagated, ep
from directgp.exact.ep_by_row import ep_by_row
from directgp.exact.target import Target
from directgp.fitting.hyperparameters import named_columns
from directgp.kernels import Kernel, Units
from directgp.likelihoods import Likelihood
from directgp.linalg.blas_threads import one_blas_thread
from directgp.parameters import float64, on_device
from directgp.predictive import ClassProbabilities
from directgp.tables import Standardiser, check_inputs, check_names

_BLOCK = 64
"""Block size of predictions, constant so that a prediction does not depend on other rows."""


@dataclass(frozen=True)
class CostCalibration:
    """The decisions of loss-EM at the test rows of the fit."""

    decisions: Bool[np.ndarray, "S"]
    """Whether each of these rows is decided as class 1."""
    rounds: float
    """Number of EM rounds."""
    converged: bool
    """Whether posterior and decisions converged."""


@dataclass(frozen=True, eq=False, repr=False)
class FittedExact:
    """A GP of two classes whose posterior is found by Laplace, EP or loss-EM, not by training.

    `repr` is a one-line summary; `hyperparameters()` returns the learned hyperparameters.
    """

    exact: ExactGP
    """The posterior over f, with the scales of the inputs."""
    inference: str
    """The method: "laplace", "ep", "loss-ep", "loss-em", …"""
    seconds: float
    calibration: CostCalibration | None = None
    names: tuple[str, ...] | None = None
    """The names of the input columns, if X was a frame that has them."""
    num_outputs: int = 1

    _ready: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def inputs(self) -> Standardiser:
        """The scales of the input columns."""
        return self.exact.inputs

    @property
    def likelihood(self) -> Likelihood:
        """p(y | f)."""
        return self.exact.likelihood

    @property
    def kernel(self) -> Kernel:
        """Of f, for standardised inputs."""
        return self.exact.gp.kernel

    @property
    def log_evidence(self) -> float:
        """Log q(y), of the tilted posterior where it was calibrated for a cost."""
        return self.exact.log_evidence

    @property
    def converged(self) -> bool:
        """Whether the inference converged, decisions included."""
        settled = self.calibration is None or self.calibration.converged
        return self.exact.converged and settled

    @float64
    def predict(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> ClassProbabilities:
        """Class probabilities at every row of X, independent of the other rows.

        Args:
            X: rows with the columns that the model was fitted to.
            precision: ignored; predictions are computed in float64.
        """
        check_names(X, self.names)
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        parts = [np.empty((0, 2))]
        with one_blas_thread():
            for first in range(0, len(values), _BLOCK):
                rows = values[first : first + _BLOCK]
                block = np.broadcast_to(self.inputs.shift, (_BLOCK, values.shape[1])).copy()
                block[: len(rows)] = rows
                parts.append(self._log_probabilities(block, len(rows)))
        return ClassProbabilities(np.concatenate(parts))

    def _log_probabilities(
        self, block: Float[np.ndarray, "B D"], count: int
    ) -> Float[np.ndarray, "C 2"]:
        if self.inference != "loss-ep":
            return self.exact.predict(block).log_probabilities[:count]
        rows = self.exact.gp.features(on_device(self.inputs.forward_inputs(block[:count]))).scaled
        if "ep" not in self._ready:
            self._ready["ep"] = _run_ep(self._target)
        both = np.asarray(_refined(self._target, self._ready["ep"], rows))
        return np.log(np.clip(np.stack([1.0 - both, both], axis=1), 1e-300, None))

    @property
    def _target(self) -> Target:
        return Target(self.exact.rows, self.exact.likelihood)

    def calibrated(self, X_test: Any, false_positive: Any, false_negative: Any, **options: Any):
        """A copy whose posterior is calibrated by loss-EM for decisions at these rows.

        Args:
            X_test: the inputs of the decisions.
            false_positive: the cost of deciding class 1 if the truth is class 0.
            false_negative: the cost of deciding class 0 if the truth is class 1.
            **options: bound, weights and seed of `exact.calibrate`.
        """
        values = check_inputs(X_test, num_columns=len(self.inputs.shift))
        found = calibrate(
            self.exact,
            values,
            false_positive,
            false_negative,
            inference=self.inference,
            **options,
        )
        record = CostCalibration(
            np.asarray(found.decisions), float(found.rounds), bool(found.converged)
        )
        return replace(
            self,
            exact=replace(self.exact, posterior=found.posterior),
            calibration=record,
            _ready={},
        )

    @float64
    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """Length-scales in the units of the data and the variance of f, by name.

        Args:
            names: of the input columns; by default those of the frame it was fitted to.
        """
        columns = named_columns(self.names if names is None else names, len(self.inputs.scale))
        return self.kernel.in_units(Units(columns, self.inputs.scale, 1.0))

    @float64
    def __repr__(self) -> str:
        rows, support = self.exact.rows.shape
        parts = [
            f"FittedExact: {self.inference} on {rows} rows, {len(self.inputs.shift)} inputs",
            *([] if rows == support else [f"{support} inducing points"]),
            self.kernel.label,
            type(self.likelihood).__name__,
        ]
        words = [", ".join(parts), f"log evidence {self.log_evidence:.4g}"]
        if self.calibration is not None:
            words.append(
                f"calibrated on {len(self.calibration.decisions)} rows in "
                f"{self.calibration.rounds:.0f} rounds"
            )
        if not self.converged:
            words.append("not converged")
        return "; ".join([*words, f"{self.seconds:.1f} s"])

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: arrays as NumPy arrays, which keep float64."""
        state = {item.name: getattr(self, item.name) for item in fields(self)}
        own = {item.name: getattr(self.exact, item.name) for item in fields(self.exact)}
        plain = jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, own)
        return state | {"exact": plain, "_ready": {}}

    @float64
    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore in float64, independent of JAX's setting."""
        inputs = state["exact"]["inputs"]
        own = jax.tree.map(
            lambda x: on_device(x) if isinstance(x, np.ndarray) else x, state["exact"]
        )
        for name, value in (state | {"exact": ExactGP(**own | {"inputs": inputs})}).items():
            object.__setattr__(self, name, value)


@eqx.filter_jit
def _run_ep(target: Target) -> Propagated:
    return ep(target)


@eqx.filter_jit
def _refined(target: Target, plain: Propagated, rows: Any) -> Any:
    return ep_by_row(target, plain, rows)
