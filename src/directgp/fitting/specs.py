"""What a model is built of: layers, features, extra inducing inputs, several outputs."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from directgp.models import Deep, Model, deep_gp, deep_sigma_points
from directgp.registry import Registry

INNER_SPREAD = 0.05
"""Posterior deviation an inner layer starts with, of a prior's 1: nearly deterministic."""


def default_learning_rate(layers: int) -> float:
    """Adam's rate: several layers bear less of it than one."""
    return 0.05 if layers == 1 else 0.02


joins = Registry("deep")
"""name → function (layers, widths, structure, seed) that makes one model of several layers."""


@dataclass(frozen=True)
class Structure:
    """How a model is put together; `width` None means min(30, number of inputs).

    With `own_kernels` every output of an inner layer has a kernel and inducing inputs of its own.
    `features` names a network in front of it, with `feature_widths`. `mean_inducing` more inducing
    inputs serve the mean of the top layer alone (`DecoupledGP`). With `mixing` [T Q] the last input
    column is the output's number (`MultiOutput`).
    """

    layers: int = 1
    width: int | None = None
    deep: str = "sigma-points"
    sites: int = 8
    quadrature: str = "qr3"
    skip: bool = False
    own_kernels: bool = False
    features: str | None = None
    feature_widths: tuple[int, ...] = (64, 64, 8)
    mean_inducing: int = 0
    mixing: Float[np.ndarray, "T Q"] | None = None

    def widths(self, num_inputs: int) -> tuple[int, ...]:
        """The widths of the inner layers."""
        return (self.width or min(30, num_inputs),) * (self.layers - 1)


Layers = tuple[Model, ...]
Widths = tuple[int, ...]


@joins.register("sigma-points")
def _sigma_points(layers: Layers, widths: Widths, structure: Structure, seed: int) -> Deep:
    return deep_sigma_points(
        layers,
        widths,
        sites=structure.sites,
        quadrature=structure.quadrature,
        seed=seed,
        skip=structure.skip,
    )


@joins.register("samples")
def _samples(layers: Layers, widths: Widths, structure: Structure, seed: int) -> Deep:
    return deep_gp(layers, samples=structure.sites, skip=structure.skip)


def join(
    layers: tuple[Model, ...], widths: tuple[int, ...], structure: Structure, seed: int
) -> Deep:
    """One model of several layers, joined as `structure.deep` says."""
    return joins.lookup(structure.deep)(layers, widths, structure, seed)


def projection(X: Float[np.ndarray, "N D"], width: int) -> Float[np.ndarray, "D W"]:
    """Where an inner layer's linear mean starts (Salimbeni & Deisenroth 2017, section 3.1).

    The identity where the widths agree, padded with zeros where the layer is wider, the first
    principal directions where it is narrower.
    """
    columns = X.shape[1]
    if width >= columns:
        return np.eye(columns, width)
    centred = X - X.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred / len(X))
    leading = directions[:, ::-1][:, :width]
    # eigh leaves the sign open: fix it, so that a fit is the same on every machine.
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(width)])
    return leading * signs
