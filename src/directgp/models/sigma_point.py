"""Deep sigma point processes (`dspp`): learned quadrature in place of the integral over layers.

Sigma points ξ determine the inputs g = μ + ξ √v of the next layer, given the Gaussian N(μ, v) of an
inner layer; ω are the weights of the resulting Gaussians in the predictive mixture (`dspp`
section 3.2).
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray
from scipy.special import ndtri

from directgp.errors import DirectGPError
from directgp.models.base import Model
from directgp.models.deep import DeepGP, Propagation
from directgp.parameters import float64, frozen, on_device, unwrap
from directgp.registry import Registry

MOST_COMPONENTS = 2000

rules = Registry("quadrature")
"""Functions (sites, widths of the inner layers, seed) that make the initial rule, by name."""


class SigmaPoints(Propagation):
    """A rule with `points`, one array per inner layer, and unnormalised log-weights `logits`."""

    points: eqx.AbstractVar[tuple[Any, ...]]
    logits: eqx.AbstractVar[Any]

    @classmethod
    @abstractmethod
    def start(cls, sites: int, widths: tuple[int, ...], seed: int) -> "SigmaPoints":
        """The rule before training, a quadrature rule for Gaussians.

        Args:
            sites: the number of sigma points.
            widths: of the inner layers.
            seed: of the points.
        """

    @property
    def log_weights(self) -> Float[Array, "T"]:
        return jax.nn.log_softmax(unwrap(self.logits))


class AlignedPoints(SigmaPoints):
    """QR3: site s has one point for every output of every layer, which gives S components.

        Σ_s ω_s Π_w δ(g_w − (μ_w + ξ_ws √v_w))                                    (`dspp` eq. 23)

    The sites are aligned across layers: component s of a layer uses site s of the next.
    """

    points: tuple[Float[Array, "S _"], ...]  # each layer has its own width
    logits: Float[Array, "S"]

    @classmethod
    @float64
    def start(cls, sites: int, widths: tuple[int, ...], seed: int) -> "AlignedPoints":
        _check_sites(sites)
        rng = np.random.default_rng(seed)
        points = tuple(on_device(_spread_points(sites, width, rng)) for width in widths)
        return cls(points, jnp.zeros(sites))

    def __call__(
        self,
        layer: int,
        mean: Float[Array, "S N W"],
        deviation: Float[Array, "S N W"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "T N W"]:
        return mean + unwrap(self.points[layer])[:, None] * deviation


class GridRule(SigmaPoints):
    """All combinations of S points for W outputs: S^W components per inner layer."""

    @abstractmethod
    def axes(self, layer: int) -> Float[Array, "S W"]:
        """The points of every output of an inner layer."""

    def __call__(
        self,
        layer: int,
        mean: Float[Array, "S N W"],
        deviation: Float[Array, "S N W"],
        key: PRNGKeyArray | None,
    ) -> Float[Array, "T N W"]:
        grid = _combinations(self.axes(layer))
        expanded = mean[:, None] + grid[:, None] * deviation[:, None]
        return expanded.reshape(-1, *mean.shape[1:])


class Grid(GridRule):
    """QR1: a grid of learned points with S^W learned weights (`dspp` eq. 22)."""

    points: tuple[Any, ...]
    logits: Any

    @classmethod
    @float64
    def start(cls, sites: int, widths: tuple[int, ...], seed: int) -> "Grid":
        return cls(*_hermite(sites, widths))

    def axes(self, layer: int) -> Float[Array, "S W"]:
        return unwrap(self.points[layer])


class SymmetricGrid(GridRule):
    """QR2: QR1 with symmetric points, ξ_s = −ξ_{S+1−s}; `points` holds the lower half."""

    points: tuple[Float[Array, "_ _"], ...]
    logits: Float[Array, "T"]
    sites: int = eqx.field(static=True)

    @classmethod
    @float64
    def start(cls, sites: int, widths: tuple[int, ...], seed: int) -> "SymmetricGrid":
        points, logits = _hermite(sites, widths)
        return cls(tuple(axis[: sites // 2] for axis in points), logits, sites)

    def axes(self, layer: int) -> Float[Array, "S W"]:
        half = unwrap(self.points[layer])
        middle = jnp.zeros((self.sites % 2, half.shape[1]), half.dtype)
        return jnp.concatenate([half, middle, -half[::-1]])


class GaussHermiteGrid(Grid):
    """Gauss–Hermite points and weights, held fixed (`dspp` eq. 18–20; ξ = ±√3, 0 for S = 3)."""

    @classmethod
    @float64
    def start(cls, sites: int, widths: tuple[int, ...], seed: int) -> "GaussHermiteGrid":
        return cls(*frozen(_hermite(sites, widths)))


rules.register("qr1")(Grid.start)
rules.register("qr2")(SymmetricGrid.start)
rules.register("qr3")(AlignedPoints.start)
rules.register("gauss-hermite")(GaussHermiteGrid.start)


def _combinations(axes: Float[Array, "S W"]) -> Float[Array, "T W"]:
    """All choices of one of S points for each output; the last output changes fastest."""
    columns = jnp.meshgrid(*axes.T, indexing="ij")
    return jnp.stack([column.ravel() for column in columns], axis=-1)


def _hermite(sites: int, widths: tuple[int, ...]):
    """Points [S W] of every layer and log-weights of the whole grid, exact for N(0, 1)."""
    _check_sites(sites)
    components = sites ** sum(widths)
    if components > MOST_COMPONENTS:
        raise DirectGPError(
            f"{sites} sites for each of {sum(widths)} inner outputs make {components} components, "
            f"more than {MOST_COMPONENTS}; use quadrature='qr3', fewer sites or a smaller width"
        )
    nodes, weights = np.polynomial.hermite_e.hermegauss(sites)
    log_weights = np.log(weights / weights.sum())
    logits = sum(np.meshgrid(*[log_weights] * sum(widths), indexing="ij"), np.zeros(()))
    points = tuple(jnp.tile(jnp.asarray(nodes)[:, None], (1, width)) for width in widths)
    return points, jnp.asarray(logits).ravel()


def _spread_points(sites: int, width: int, rng: np.random.Generator) -> Float[np.ndarray, "S W"]:
    """Quasi-random normal points with mean 0 and variance 1 in every output; 0 for one site."""
    if sites == 1:
        return np.zeros((1, width))
    uniform = (np.stack([rng.permutation(sites) for _ in range(width)], axis=1) + 0.5) / sites
    points = ndtri(uniform)
    return points / np.sqrt(np.mean(points**2, axis=0))


def _check_sites(sites: int) -> None:
    if sites < 1:
        raise DirectGPError(f"a sigma-point rule needs at least 1 site, got {sites}; use 8")


def deep_sigma_points(
    layers: tuple[Model, ...],
    widths: tuple[int, ...],
    *,
    sites: int = 8,
    quadrature: str = "qr3",
    seed: int = 0,
    skip: bool = False,
) -> DeepGP:
    """A deep sigma point process; with `Direct(LogLoss())` and KL its objective is `dspp` eq. 21.

    With one layer it is PPGPR.

    Args:
        layers: models from the inputs to the output.
        widths: outputs of the inner layers.
        sites: sigma points.
        quadrature: the name of the rule.
        seed: of the initial points.
        skip: whether x is an additional input of every layer.
    """
    return DeepGP(layers, rules.create(quadrature, sites, widths, seed), skip)
