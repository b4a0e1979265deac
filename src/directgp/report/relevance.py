"""How much each input matters to a trained model, read off its length-scales (ARD)."""

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np
from jaxtyping import Float

from directgp.kernels import Kernel, Linear, OnColumns
from directgp.kernels.compose import Product, Scaled, Sum
from directgp.kernels.stationary import Stationary
from directgp.parameters import float64, unwrap


@singledispatch
def steepness(kernel: Kernel, num_inputs: int) -> Float[np.ndarray, "D"] | None:
    """How fast functions of this kernel vary along each standardised input; None if unknown."""
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


@float64
def relevance(model: Any, names: Sequence[str]) -> dict[str, float]:
    """1/length-scale of every input as a share of their sum, the largest first.

    Inputs are standardised, so their length-scales compare. Equal shares mean nothing was learnt
    about relevance (one length-scale for all); an empty answer, that the model has none to read.

    >>> from types import SimpleNamespace
    >>> from directgp.kernels import Matern52
    >>> model = SimpleNamespace(kernel=Matern52(lengthscale=np.array([1.0, 3.0])))
    >>> {name: round(share, 3) for name, share in relevance(model, ["age", "income"]).items()}
    {'age': 0.75, 'income': 0.25}
    """
    kernel = getattr(model, "kernel", None)
    found = None if kernel is None else steepness(kernel, len(names))
    if found is None or not np.sum(found) > 0:
        return {}
    shares = found / np.sum(found)
    order = np.argsort(-shares, kind="stable")
    return {str(names[int(i)]): float(shares[i]) for i in order}
