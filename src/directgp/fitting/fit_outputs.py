"""`fit_outputs`: several targets of the same rows, learned together, some of them missing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP, in_short
from directgp.fitting.hyperparameters import Units, hyperparameters, named_columns
from directgp.fitting.prepare import target_scale
from directgp.likelihoods import Likelihood, for_outputs, likelihoods
from directgp.models import Model, MultiOutput
from directgp.objective import Objective
from directgp.predictive import Predictive
from directgp.tables import (
    Standardiser,
    WeightedRows,
    as_numbers,
    check_inputs,
    check_weights,
    set_aside,
    that_count,
)
from directgp.training.loop import GP, History


@dataclass(frozen=True)
class FittedOutputs:
    """A trained multi-output model; `fitted` is the model of the long table (x, output, y)."""

    fitted: FittedGP
    targets: Standardiser

    def predict(
        self, X: Any, *, precision: Literal["float64", "mixed"] = "float64"
    ) -> tuple[Predictive, ...]:
        """The predictive distribution of every output at every row, one object an output."""
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        count = len(values)
        # One table for all outputs: blocks of fixed size would be mostly padding for each alone.
        whole = self.fitted.predict(_numbered(values, self.num_outputs), precision=precision)
        parts = (whole[k * count : (k + 1) * count] for k in range(self.num_outputs))
        if not self.gp.likelihood.standardise_targets:
            return tuple(parts)
        scales = zip(self.targets.scale, self.targets.shift, strict=True)
        return tuple(
            part.affine(float(scale), float(shift))
            for part, (scale, shift) in zip(parts, scales, strict=True)
        )

    def model_inputs(self, X: Any, output: int = 0) -> Float[np.ndarray, "N D1"]:
        """The rows as the model of the long table sees them, for one output."""
        values = check_inputs(X, num_columns=len(self.inputs.shift))
        return self.fitted.model_inputs(_with_number(values, output))

    def hyperparameters(self, names: Sequence[Any] | None = None) -> dict[str, Any]:
        """As of `FittedGP`; "noise_std" is a list, one an output.

        The kernel is that of the latent functions, whose mixtures the outputs are: its variance is
        that of standardised outputs.
        """
        inputs, model = self.inputs.scale, self.gp.model
        units = Units(named_columns(names, len(inputs)), inputs, 1.0)
        noise_scale = self.targets.scale * float(self.fitted.targets.scale[0])
        return hyperparameters(_inside(model), self.gp.likelihood, units, noise_scale)

    def __repr__(self) -> str:
        short = in_short(self, _inside(self.gp.model), len(self.inputs.shift))
        return f"FittedOutputs: {self.num_outputs} outputs of {short}"

    @property
    def num_outputs(self) -> int:
        """How many outputs there are."""
        return len(self.targets.shift)

    @property
    def inputs(self) -> Standardiser:
        """The scales of the user's own columns."""
        shift, scale = self.fitted.inputs
        return Standardiser(shift[:-1], scale[:-1])

    @property
    def gp(self) -> GP:
        """Model and likelihood of the long table."""
        return self.fitted.gp

    @property
    def objective(self) -> Objective:
        """What was minimised."""
        return self.fitted.objective

    @property
    def beta(self) -> float:
        """The weight of the divergence."""
        return self.fitted.beta

    @property
    def beta_curve(self) -> dict[float, float]:
        """The loss of held-out rows for every β tried."""
        return self.fitted.beta_curve

    @property
    def history(self) -> History:
        """How training went."""
        return self.fitted.history

    @property
    def held_out(self) -> Float[np.ndarray, "V"] | None:
        """The loss of every held-out value, if some were held out."""
        return self.fitted.held_out

    @property
    def reason(self) -> str:
        """Why training ended."""
        return self.fitted.reason

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.fitted.seconds

    def with_history(self, history: History) -> "FittedOutputs":
        """The same model with another record of its training."""
        return replace(self, fitted=self.fitted.with_history(history))


def fit_outputs(
    X: Any,
    Y: Any,
    *,
    num_factors: int | None = None,
    likelihood: str | Likelihood = "gaussian",
    start: FittedOutputs | None = None,
    **options: Any,
) -> FittedOutputs:
    """Train one model for all columns of Y; NaN means that an output was not measured.

    Outputs mix `num_factors` latent functions (by default as many as outputs), starting from the
    principal components of Y. Gaussian noise is each output's own; other likelihoods of one latent
    function (counts, two classes, Student-t) are the same for all. `options` are those of `fit`, so
    layers, features and losses work as there; with one layer `own_kernels` gives every latent
    function a kernel of its own (semiparametric latent factors, Seeger, Teh & Jordan 2005);
    `validation` is a share of the rows of X, or rows of their own: (X, Y) or (X, Y, weight).

    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Y = np.stack([np.sin(6 * X[:, 0]), 10 - 5 * np.sin(6 * X[:, 0])], axis=1)
    >>> Y[20:40, 1] = np.nan                                  # learned from the other output
    >>> second = fit_outputs(X, Y, beta=1.0, max_steps=300).predict([[0.5]])[1]
    >>> bool(abs(second.mean[0] - (10 - 5 * np.sin(3.0))) < 1.0)
    True
    """
    values = check_inputs(X)
    Y = check_outputs(values, Y)
    count = Y.shape[1]
    weight = check_weights(options.pop("sample_weight", None), len(Y))
    counted = weight[:, None] * np.isfinite(Y)
    empty = np.flatnonzero(~counted.any(axis=0))
    if len(empty):
        raise DirectGPError(f"outputs {empty.tolist()} of Y have no measured value; leave them out")
    rows = that_count(WeightedRows(values, Y, counted.max(axis=1)))
    single: Likelihood = likelihoods.resolve(likelihood)
    each = for_outputs(single, count)
    chosen = options.pop("validation", None)
    if chosen is None and options.get("beta", "auto") == "auto":
        chosen = 0.1
    rows, held = set_aside(
        rows, chosen, options.get("seed", 0), lambda X, Y: check_outputs(X, Y, count)
    )
    targets = start.targets if start is not None else _scales(rows, each)
    if held is not None:
        options["validation"] = long_rows(*held, targets)
    X, y, weight = long_rows(*rows, targets)
    if start is not None:
        options["start"] = start.fitted
    fitted = fit(
        X,
        y,
        likelihood=each,
        mixing=_principal_mixing(targets.forward(rows.y), num_factors or count),
        sample_weight=weight,
        **options,
    )
    # The long table has a row for every output of a row.
    return FittedOutputs(replace(fitted, support=(fitted.support or 0.0) / count), targets)


def long_rows(
    X: Float[np.ndarray, "N D"],
    Y: Float[np.ndarray, "N T"],
    weight: Float[np.ndarray, "N"],
    targets: Standardiser,
) -> WeightedRows:
    """One row for every measured output: (x, its number), y in standardised units, weight."""
    rows = _numbered(X, Y.shape[1])
    y = targets.forward(Y).T.ravel()
    measured = np.isfinite(y)
    return WeightedRows(rows[measured], y[measured], np.tile(weight, Y.shape[1])[measured])


def check_outputs(X: Any, Y: Any, count: int | None = None) -> Float[np.ndarray, "N T"]:
    """Y as a table with a row for each row of X and, where it is said, `count` columns."""
    Y = as_numbers(Y, "Y must be a table of numbers", "encode it first")
    if Y.ndim != 2 or len(Y) != len(X):
        raise DirectGPError(
            f"Y must have a row for each of the {len(X)} rows of X and a column for each output, "
            f"got shape {Y.shape}; use fit() for a single output"
        )
    if count not in (None, Y.shape[1]):
        raise DirectGPError(f"Y has {Y.shape[1]} outputs, not {count}; give the same outputs")
    infinite = np.argwhere(np.isinf(Y))
    if len(infinite):
        row, output = infinite[0]
        raise DirectGPError(
            f"Y has {len(infinite)} infinite values (first: row {row}, output {output}); remove "
            "these rows, or write NaN for what was not measured"
        )
    return Y


def _inside(model: Model) -> Model:
    """The model of the latent functions, whose inputs are the user's own columns."""
    return cast(MultiOutput, model).base


def _numbered(X: Float[np.ndarray, "N D"], outputs: int) -> Float[np.ndarray, "L D1"]:
    """All rows for the first output, then all for the second, …"""
    return np.concatenate([_with_number(X, number) for number in range(outputs)])


def _with_number(X: Float[np.ndarray, "N D"], number: int) -> Float[np.ndarray, "N D1"]:
    return np.concatenate([X, np.full((len(X), 1), float(number))], axis=1)


def _scales(rows: WeightedRows, likelihood: Likelihood) -> Standardiser:
    """The scale of each output, from the rows where it was measured."""
    measured = [(y, np.isfinite(y)) for y in rows.y.T]
    each = [target_scale(y[known], rows.weight[known], likelihood) for y, known in measured]
    return Standardiser(*(np.concatenate(parts) for parts in zip(*each, strict=True)))


def _principal_mixing(Y: Float[np.ndarray, "N T"], factors: int) -> Float[np.ndarray, "T Q"]:
    """A with A Aᵀ ≈ the outputs' correlations (from the rows where both are measured)."""
    if not 1 <= factors <= Y.shape[1]:
        raise DirectGPError(f"num_factors must be between 1 and {Y.shape[1]}, got {factors}")
    present = np.isfinite(Y)
    centred = Y - np.nanmean(Y, axis=0)
    filled = np.where(present, centred, 0.0)
    together = np.maximum(present.T.astype(float) @ present.astype(float), 1.0)
    spread = np.sqrt(np.maximum(np.diagonal(filled.T @ filled / together), 1e-12))
    values, vectors = np.linalg.eigh(filled.T @ filled / together / np.outer(spread, spread))
    order = np.argsort(values)[::-1][:factors]
    return vectors[:, order] * np.sqrt(np.maximum(values[order], 0.05))
