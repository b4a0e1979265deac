"""`fit_outputs`: several targets of the same rows, learned together, some of them missing."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from directgp.errors import DirectGPError
from directgp.fitting.checks import Beta, beta_and_grid, check_count
from directgp.fitting.fit import fit
from directgp.fitting.fitted import FittedGP, LongTable, numbered
from directgp.fitting.prepare import target_scale
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
    """Train one model for all columns of Y; NaN means that an output was not measured.

    Outputs mix latent functions, starting from the principal components of Y. Layers, features and
    losses work as in `fit`.

    Args:
        X: rows of numbers [N D].
        Y: their targets [N T].
        model: a spec to build, or a fit of the same outputs to go on from.
        num_factors: the number of latent functions; None: as many as outputs.
        likelihood: Gaussian noise is each output's own; other likelihoods of one latent function
            (counts, two classes, Student-t) are the same for all.
        beta: the weight of the divergence, see `fit`.
        validation: a share of the rows of X, or rows of their own: (X, Y) or (X, Y, weight).
        sample_weight: how much each row counts.
        seed: of everything random.
        **options: the other arguments of `fit`.

    >>> from directgp.fitting.specs import Training
    >>> X = np.linspace(0, 1, 60)[:, None]
    >>> Y = np.stack([np.sin(6 * X[:, 0]), 10 - 5 * np.sin(6 * X[:, 0])], axis=1)
    >>> Y[20:40, 1] = np.nan                                  # learned from the other output
    >>> quick = Training(max_steps=300)
    >>> second = fit_outputs(X, Y, beta=1.0, training=quick).predict([[0.5]])[1]
    >>> bool(abs(second.mean[0] - (10 - 5 * np.sin(3.0))) < 1.0)
    True
    """
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
    table = long_rows(*rows, targets)
    if isinstance(model, FittedGP):
        chosen = model.as_long_table()
    else:
        mixing = _principal_mixing(targets.forward(rows.y), num_factors or count)
        chosen = Coregionalised(model, mixing)
    fitted = fit(
        table.X,
        table.y,
        model=chosen,
        likelihood=each,
        beta=beta,
        validation=None if held is None else long_rows(*held, targets),
        sample_weight=table.weight,
        seed=seed,
        **options,
    )
    shift, scale = fitted.inputs
    whole = replace(
        fitted,
        inputs=Standardiser(shift[:-1], scale[:-1]),
        targets=targets,
        # The long table has a row for every output of a row.
        support=(fitted.support or 0.0) / count,
        long_table=LongTable(Standardiser(shift[-1:], scale[-1:]), fitted.targets),
    )
    return cast(FittedGP[tuple[Predictive, ...]], whole)


def long_rows(
    X: Float[np.ndarray, "N D"],
    Y: Float[np.ndarray, "N T"],
    weight: Float[np.ndarray, "N"],
    targets: Standardiser,
) -> WeightedRows:
    """One row for every measured output: (x, its number), y in standardised units, weight."""
    rows = numbered(X, Y.shape[1])
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
