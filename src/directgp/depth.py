"""How many layers, how wide, and how they are joined; where a deep model starts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from directgp.models import Deep, Model, deep_gp, deep_sigma_points
from directgp.registry import Registry

INNER_SPREAD = 0.05
"""Posterior deviation an inner layer starts with, of a prior's 1: nearly deterministic."""

joins = Registry("deep")
"""name → function (layers, widths, depth, seed) that makes one model of several layers."""


@dataclass(frozen=True)
class Depth:
    """The shape of a deep model; `width` None means min(30, number of inputs)."""

    layers: int = 1
    width: int | None = None
    deep: str = "sigma-points"
    sites: int = 8
    quadrature: str = "qr3"
    skip: bool = False

    def widths(self, num_inputs: int) -> tuple[int, ...]:
        """The widths of the inner layers."""
        return (self.width or min(30, num_inputs),) * (self.layers - 1)


@joins.register("sigma-points")
def _sigma_points(layers: tuple[Model, ...], widths: tuple[int, ...], depth: Depth, seed: int):
    return deep_sigma_points(
        layers, widths, sites=depth.sites, quadrature=depth.quadrature, seed=seed, skip=depth.skip
    )


@joins.register("samples")
def _samples(layers: tuple[Model, ...], widths: tuple[int, ...], depth: Depth, seed: int):
    return deep_gp(layers, samples=depth.sites, skip=depth.skip)


def join(layers: tuple[Model, ...], widths: tuple[int, ...], depth: Depth, seed: int) -> Deep:
    """One model of several layers, joined as `depth.deep` says."""
    return joins.lookup(depth.deep)(layers, widths, depth, seed)


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
