"""`fit_outputs`: a model of several outputs, fitted jointly, with missing values allowed."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError, WrongType
from directgp.fitting.checks import Beta, beta_and_grid, check_count
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP, LongTable
from directgp.fitting.prepare import target_scale
from directgp.fitting.prepare_outputs import AS_THEY_ARE
from directgp.fitting.specs import Coregionalised, ModelSpec, Sparse
from directgp.likelihoods import Likelihood, for_outputs, likelihoods
from directgp.predictive import Predictive
from directgp.tables import (
    Standardiser,
    WeightedRows,
    as_numbers,
    check_inputs,
    check_weights,
    drop_zero_weight,
    set_aside,
)

_SPARSE = Sparse()


def fit_outputs(
    X: Any,
    Y: Any,
    *,
    model: ModelSpec | FittedGP = _SPARSE,
    num_factors: int | None = None,
    likelihood: str | Likelihood = "gaussian",
    beta: Beta = "auto",
    validation: float | tuple[Any, ...] | None = None,
    sample_weight: Any = None,
    seed: int = 0,
    **options: Any,
) -> FittedGP[tuple[Predictive, ...]]:
    """Train one model for all columns of Y; NaN is a missing value.

    Outputs are linear mixtures of latent functions, initialised by the principal components of Y.
    Layers, features and losses work as in `fit`: a loss is summed over the observed outputs of a
    row, while `loss="joint-log"` scores their joint distribution. Batches hold whole rows.

    Args:
        X: inputs [N D].
        Y: targets [N T].
        model: a spec to build, or a fit of the same outputs to continue from.
        num_factors: the number of latent functions; None: as many as outputs.
        likelihood: Gaussian noise has one variance per output; other likelihoods with one latent
            function (counts, two classes, Student-t) share their parameters between outputs.
        beta: the weight of the divergence, see `fit`.
        validation: a share of the rows of X, or separate rows: (X, Y) or (X, Y, weight).
        sample_weight: one weight per row.
        seed: of all random numbers.
        **options: the other arguments of `fit`.

    Returns:
        The trained model, whose `predict` returns one distribution per output.

    >>> from directgp.fitting.specs import Training
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Y = np.stack([np.sin(6 * X[:, 0]), 10 - 5 * np.sin(6 * X[:, 0])], axis=1)
    >>> Y[20:40, 1] = np.nan                                  # learned from the other output
    >>> quick = Training(max_steps=300)
    >>> second = fit_outputs(X, Y, beta=1.0, training=quick).predict([[0.5]])[1]
    >>> bool(abs(second.mean[0] - (10 - 5 * np.sin(3.0))) < 1.0)
    True
    """
    if not isinstance(model, ModelSpec | FittedGP):
        raise WrongType(
            "several outputs are modelled by a Sparse, Deep or Decoupled, or by what fit_outputs "
            f"returned, got a {type(model).__name__}"
        )
    values = check_inputs(X)
    Y = check_outputs(values, Y)
    count = Y.shape[1]
    check_count("seed", seed, 0)
    start = model if isinstance(model, FittedGP) else None
    if start is not None and start.num_outputs != count:
        raise DirectGPError(
            f"Y has {count} outputs and the model to go on from {start.num_outputs}; give the same "
            "outputs"
        )
    weight = check_weights(sample_weight, len(Y))
    counted = weight[:, None] * np.isfinite(Y)
    empty = np.flatnonzero(~counted.any(axis=0))
    if len(empty):
        raise DirectGPError(f"outputs {empty.tolist()} of Y have no measured value; leave them out")
    rows = drop_zero_weight(WeightedRows(values, Y, counted.max(axis=1)))
    each = for_outputs(likelihoods.resolve(likelihood), count)
    if validation is None and beta_and_grid(beta)[0] == "auto":
        validation = 0.1
    rows, held = set_aside(rows, validation, seed, lambda X, Y: check_outputs(X, Y, count))
    targets = start.targets if start is not None else _scales(rows, each)
    rows, held = (part and part._replace(y=targets.forward(part.y)) for part in (rows, held))
    assert rows is not None
    if isinstance(model, FittedGP):
        chosen, known = model.as_long_table(), model.long_table
        number = AS_THEY_ARE if known is None else known.number
    else:
        chosen = Coregionalised(model, _principal_mixing(rows.y, num_factors or count))
        number = AS_THEY_ARE
    fitted = fit(
        rows.X,
        rows.y,
        model=chosen,
        likelihood=each,
        beta=beta,
        validation=held,
        sample_weight=rows.weight,
        seed=seed,
        **options,
    )
    whole = replace(fitted, targets=targets, long_table=LongTable(number, fitted.targets))
    return cast(FittedGP[tuple[Predictive, ...]], whole)


def check_outputs(X: Any, Y: Any, count: int | None = None) -> Float[np.ndarray, "N T"]:
    """Validate several outputs.

    Args:
        X: the inputs, for their number of rows.
        Y: the outputs.
        count: the required number of outputs, if known.
    """
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


def _scales(rows: WeightedRows, likelihood: Likelihood) -> Standardiser:
    """The scale of each output, from the rows where it is observed."""
    measured = [(y, np.isfinite(y)) for y in rows.y.T]
    each = [target_scale(y[known], rows.weight[known], likelihood) for y, known in measured]
    return Standardiser(*(np.concatenate(parts) for parts in zip(*each, strict=True)))


def _principal_mixing(Y: Float[np.ndarray, "N T"], factors: int) -> Float[np.ndarray, "T Q"]:
    """A with A Aᵀ ≈ the correlations of the outputs (from rows where both are observed)."""
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
