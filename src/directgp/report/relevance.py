"""Relevance of the inputs of a trained model.

For a model with one kernel: 1/length-scale (ARD). Otherwise (layers, networks, several outputs):
the mean absolute slope of f along each input.
"""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from directgp.kernels import Kernel, Linear, OnColumns, Product, Scaled, Sum
from directgp.kernels.stationary import Stationary
from directgp.models import DecoupledGP, DeepGP, Independent, Model, MultiOutput, SparseGP
from directgp.parameters import float64, on_device, random_key, unwrap
from directgp.report.judged import LENGTH_SCALES
from directgp.training.compiling import compiled_quickly


@singledispatch
def steepness(kernel: Kernel, num_inputs: int) -> Float[np.ndarray, "D"] | None:
    """How fast functions of this kernel vary along each standardised input; None if unknown.

    Args:
        kernel: the kernel.
        num_inputs: the number of its inputs, D.
    """
    return None


@steepness.register
def _(kernel: Stationary, num_inputs: int):
    return np.broadcast_to(1.0 / np.asarray(unwrap(kernel.lengthscale)), (num_inputs,))


@steepness.register
def _(kernel: Linear, num_inputs: int):
    return np.broadcast_to(np.sqrt(np.asarray(unwrap(kernel.variance))), (num_inputs,))


@steepness.register
def _(kernel: Scaled, num_inputs: int):
    return steepness(kernel.part, num_inputs)


@steepness.register
def _(kernel: OnColumns, num_inputs: int):
    inner = steepness(kernel.part, len(kernel.columns))
    if inner is None:
        return None
    spread = np.zeros(num_inputs)
    spread[list(kernel.columns)] = inner
    return spread


@steepness.register(Sum)
@steepness.register(Product)
def _(kernel, num_inputs: int):
    parts = [steepness(part, num_inputs) for part in kernel.parts]
    known = [part for part in parts if part is not None]
    return np.max(known, axis=0) if len(known) == len(parts) else None


SLOPES = (
    "How fast f varies along each input: the mean absolute slope of f along each standardised "
    "input, as a share of the total. Length-scales are not used, because this model has several "
    "layers, a network or several outputs."
)
OF_STACK = (
    "How fast the exact GP of the stack varies along each standardised input: 1 / length-scale, "
    "as a share of the total (ARD). Reports (directgp evaluate --report) have the permutation "
    "importance of columns instead."
)
_MOST_ROWS = 500


def relevance_means(model: Any) -> str:
    """A sentence that explains the `relevance` of this model."""
    return SLOPES if getattr(model, "kernel", None) is None else LENGTH_SCALES


@float64
def relevance(
    model: Any, names: Sequence[str], rows: Float[np.ndarray, "N D1"] | None = None
) -> dict[str, float]:
    """Relevance of every input as a share of the total, largest first.

    1/length-scale if the model has one kernel (inputs are standardised, so length-scales are
    comparable), else the mean absolute slope of f. Equal shares may come from one length-scale for
    all inputs.

    Args:
        model: the trained model.
        names: the names of the inputs.
        rows: standardised rows at which slopes are taken; by default the inducing inputs.

    Returns:
        Share by name; empty if it cannot be computed for this model.

    >>> from types import SimpleNamespace
    >>> from directgp.kernels import Matern52
    >>> model = SimpleNamespace(kernel=Matern52(lengthscale=np.array([1.0, 3.0])))
    >>> {name: round(share, 3) for name, share in relevance(model, ["age", "income"]).items()}
    {'age': 0.75, 'income': 0.25}
    """
    kernel = getattr(model, "kernel", None)
    if kernel is not None:
        found = steepness(kernel, len(names))
    else:
        typical = typical_rows(model) if rows is None else rows
        found = None if typical is None else mean_slopes(model, typical)[: len(names)]
    if found is None or not np.sum(found) > 0:
        return {}
    shares = found / np.sum(found)
    order = np.argsort(-shares, kind="stable")
    return {str(names[int(i)]): float(shares[i]) for i in order}


BY_COLUMN = "A column that is encoded as several inputs has the largest of their shares."


def by_column(shares: dict[str, float], source_of: dict[str, str]) -> dict[str, float]:
    """Relevance of the user's columns: the largest of the inputs that encode a column.

    Args:
        shares: relevance of inputs by their names.
        source_of: the column that each input is encoded from.

    Returns:
        Shares of columns, again summing to one, largest first.

    >>> by_column({"red": 0.5, "size": 0.5, "blue": 0.2}, {"red": "colour", "blue": "colour"})
    {'colour': 0.5, 'size': 0.5}
    """
    largest: dict[str, float] = {}
    for name, share in shares.items():
        column = source_of.get(name, name)
        largest[column] = max(share, largest.get(column, 0.0))
    total = sum(largest.values())
    ordered = sorted(largest, key=lambda column: -largest[column])
    return {column: largest[column] / total for column in ordered}


@singledispatch
def typical_rows(model: Model) -> Float[np.ndarray, "N D"] | None:
    """Inducing inputs of a model as representative rows; None if it has none."""
    return None


@typical_rows.register
def _(model: SparseGP):
    return np.asarray(unwrap(model.inducing))


@typical_rows.register
def _(model: DecoupledGP):
    return typical_rows(model.base)


@typical_rows.register
def _(model: Independent):
    return typical_rows(model.parts[0])


@typical_rows.register
def _(model: DeepGP):
    return typical_rows(model.layers[0])


@typical_rows.register
def _(model: MultiOutput):
    rows = typical_rows(model.base)
    if rows is None:
        return None
    levels = np.asarray(unwrap(model.levels))
    numbers = np.repeat(levels, len(rows))[:, None]
    return np.concatenate([np.tile(rows, (len(levels), 1)), numbers], axis=1)


def mean_slopes(model: Model, rows: Float[np.ndarray, "N D"]) -> Float[np.ndarray, "D"]:
    """The mean of |∂E[f]/∂x_d| over rows and latent functions.

    Args:
        model: the trained model.
        rows: standardised rows, of which at most 500 are used, evenly spaced.
    """
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), _MOST_ROWS)).round().astype(int)
    return np.asarray(_mean_slopes(model, on_device(rows[chosen])))


@compiled_quickly
def _mean_slopes(model: Model, X: Float[Array, "N D"]) -> Float[Array, "D"]:
    ready, key = model.for_prediction().condition(), random_key(0)

    def means(X: Float[Array, "N D"]) -> Float[Array, "N P"]:
        q = ready.marginals(X, key)
        return jnp.tensordot(jnp.exp(q.log_weights), q.mean, axes=1)

    f, pull = jax.vjp(means, X)
    of_latents = jnp.eye(f.shape[1])[:, None] * jnp.ones((1, f.shape[0], 1))
    return jnp.mean(jax.lax.map(lambda bar: jnp.abs(pull(bar)[0]), of_latents), axis=(0, 1))
