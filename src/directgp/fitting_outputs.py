"""`fit_outputs`: several targets of the same rows, learned together, some of them missing."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.data import Standardiser, check_inputs
from directgp.fitting import FittedGP, fit
from directgp.likelihoods import GaussianOutputs
from directgp.predictive import Predictive


@dataclass(frozen=True)
class FittedOutputs:
    """A trained multi-output model; `fitted` is the model of the long table (x, output, y)."""

    fitted: FittedGP
    targets: Standardiser

    def predict(self, X: Any) -> tuple[Predictive, ...]:
        """The predictive distribution of every output at every row, one object an output."""
        values = check_inputs(X, num_columns=len(self.fitted.inputs.shift) - 1)
        scales = zip(self.targets.scale, self.targets.shift, strict=True)
        return tuple(
            self.fitted.predict(_with_number(values, number)).affine(float(scale), float(shift))
            for number, (scale, shift) in enumerate(scales)
        )


def fit_outputs(X: Any, Y: Any, *, num_factors: int | None = None, **options: Any) -> FittedOutputs:
    """Train one model for all columns of Y; NaN means that an output was not measured.

    Outputs mix `num_factors` latent functions (by default as many as outputs), starting from the
    principal components of Y, and have noise of their own. `options` are those of `fit`, so layers,
    features and losses work as there; `validation` as a pair is (X, Y).

    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Y = np.stack([np.sin(6 * X[:, 0]), 10 - 5 * np.sin(6 * X[:, 0])], axis=1)
    >>> Y[20:40, 1] = np.nan                                  # learned from the other output
    >>> second = fit_outputs(X, Y, beta=1.0, max_steps=300).predict([[0.5]])[1]
    >>> bool(abs(second.mean[0] - (10 - 5 * np.sin(3.0))) < 1.0)
    True
    """
    values, Y = check_inputs(X), _check_outputs(X, Y)
    count = Y.shape[1]
    shift, scale = np.nanmean(Y, axis=0), np.nanstd(Y, axis=0)
    targets = Standardiser(shift, np.where(scale > 0, scale, 1.0))
    given = options.get("validation")
    if isinstance(given, tuple | list):
        held = check_inputs(given[0], num_columns=values.shape[1])
        rows, y = _long(held, (_check_outputs(held, given[1]) - shift) / targets.scale)
        options["validation"] = (rows, y)
    rows, y = _long(values, (Y - shift) / targets.scale)
    mixing = _principal_mixing((Y - shift) / targets.scale, num_factors or count)
    fitted = fit(rows, y, likelihood=GaussianOutputs(count), mixing=mixing, **options)
    return FittedOutputs(fitted, targets)


def _with_number(X: Float[np.ndarray, "N D"], number: int) -> Float[np.ndarray, "N D1"]:
    return np.concatenate([X, np.full((len(X), 1), float(number))], axis=1)


def _long(X: Float[np.ndarray, "N D"], Y: Float[np.ndarray, "N T"]):
    """One row for every measured output: (x, its number), y."""
    rows = np.concatenate([_with_number(X, number) for number in range(Y.shape[1])])
    y = Y.T.ravel()
    measured = np.isfinite(y)
    return rows[measured], y[measured]


def _check_outputs(X: Any, Y: Any) -> Float[np.ndarray, "N T"]:
    Y = np.asarray(Y, np.float64)
    if Y.ndim != 2 or len(Y) != len(X):
        raise ValueError(
            f"Y must have a row for each of the {len(X)} rows of X and a column for each output, "
            f"got shape {Y.shape}; use fit() for a single output"
        )
    empty = np.flatnonzero(~np.isfinite(Y).any(axis=0))
    if len(empty):
        raise ValueError(f"outputs {empty.tolist()} of Y have no measured value; leave them out")
    return Y


def _principal_mixing(Y: Float[np.ndarray, "N T"], factors: int) -> Float[np.ndarray, "T Q"]:
    """A with A Aᵀ ≈ the outputs' correlations (from the rows where both are measured)."""
    if not 1 <= factors <= Y.shape[1]:
        raise ValueError(f"num_factors must be between 1 and {Y.shape[1]}, got {factors}")
    present = np.isfinite(Y)
    filled = np.where(present, Y, 0.0)
    together = np.maximum(present.T.astype(float) @ present.astype(float), 1.0)
    values, vectors = np.linalg.eigh(filled.T @ filled / together)
    order = np.argsort(values)[::-1][:factors]
    return vectors[:, order] * np.sqrt(np.maximum(values[order], 0.05))
