"""One model of a stack with its calibration: a mixture of Gaussians at every row."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from directgp.exact.regression import ExactRegression
from directgp.fitting.fitted import FittedGP
from directgp.fitting.stacking.log_scale import LogScale
from directgp.fitting.stacking.residual_shape import ResidualShape
from directgp.fitting.stacking.trees import TreeEnsemble
from directgp.tables import Standardiser

_STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How much of a learned scale is believed: the power to which its factor is raised."""
_ROWS_FOR_SHAPE = 30
_TAILS = 4
"""Degrees of freedom of Student's t by which the size of many errors is measured."""
_SIZE_STEPS = 60
_MOST_FREEDOM = 30
"""Of Student's t for few rows, whose size is not known well."""
_PRIOR_ROWS = 3.0
"""Rows as far off as the model says that are added to those seen: few rows are little evidence."""


class Components(NamedTuple):
    """Gaussians at every row, in standardised units: Σ_s weight_s N(mean_s, deviation_s²)."""

    mean: Float[np.ndarray, "S N"]
    deviation: Float[np.ndarray, "S N"]
    weight: Float[np.ndarray, "S"]


class Location(ABC):
    """Where y is expected, and how far from there it may be: before calibration."""

    @abstractmethod
    def predict(
        self, X: Float[np.ndarray, "N D"]
    ) -> tuple[Float[np.ndarray, "N"], Float[np.ndarray, "N"]]:
        """Mean and deviation of y at standardised rows."""


@dataclass(frozen=True)
class ByMean(Location):
    """The mean of y, whatever the inputs: as wrong as this a stack need never be."""

    mean: float
    deviation: float

    def predict(self, X):
        return np.full(len(X), self.mean), np.full(len(X), self.deviation)


@dataclass(frozen=True)
class ByGP(Location):
    """An exact GP."""

    gp: ExactRegression

    def predict(self, X):
        mean, variance = self.gp.predict(X)
        return mean, np.sqrt(variance)


@dataclass(frozen=True)
class ByTrees(Location):
    """Boosted trees, with one deviation for all rows."""

    trees: TreeEnsemble
    deviation: float

    def predict(self, X):
        return self.trees.predict(X), np.full(len(X), self.deviation)


@dataclass(frozen=True)
class ByTreesAndGP(Location):
    """Boosted trees plus an exact GP of their errors, which sees their prediction as an input."""

    trees: TreeEnsemble
    shift: float
    scale: float
    size: float
    gp: ExactRegression

    def predict(self, X):
        base = self.trees.predict(X)
        mean, variance = self.gp.predict(self.with_base(X, base))
        return base + self.size * mean, self.size * np.sqrt(variance)

    def with_base(
        self, X: Float[np.ndarray, "N D"], base: Float[np.ndarray, "N"]
    ) -> Float[np.ndarray, "N D1"]:
        """The rows with the trees' prediction as a further column."""
        return np.column_stack([X, (base - self.shift) / self.scale])


@dataclass(frozen=True)
class ByDeepGP(Location):
    """A trained GP, deep for many rows, that sees the trees' prediction as an input."""

    trees: TreeEnsemble
    fitted: FittedGP

    def predict(self, X):
        found = self.fitted.predict(np.column_stack([X, self.trees.predict(X)]))
        return found.mean, found.std


class OutOfFold(NamedTuple):
    """What a model predicts of every training row without having seen it."""

    mean: Float[np.ndarray, "N"]
    deviation: Float[np.ndarray, "N"]
    log_scale: Float[np.ndarray, "N"] | None = None
    """Log s without the row's fold; None: as its leave-one-out predictions have it."""

    def scaled(self, scale: LogScale) -> Float[np.ndarray, "N"]:
        """Log s at the rows, without them."""
        return scale.left_out if self.log_scale is None else self.log_scale


@dataclass(frozen=True)
class Member:
    """A location with its calibration: deviation(x) · factor · s(x)^strength, errors of a shape."""

    name: str
    location: Location
    scale: LogScale | None
    strength: float
    factor: float
    shape: ResidualShape

    def predict(self, X: Float[np.ndarray, "N D"]) -> Components:
        """The Gaussians at standardised rows."""
        mean, deviation = self.location.predict(X)
        log_scale = None if self.scale is None else self.scale.predict(X)
        return self._components(mean, deviation, log_scale)

    def out_of_fold(self, seen: OutOfFold) -> Components:
        """The Gaussians at the training rows, each predicted without itself."""
        log_scale = None if self.scale is None else seen.scaled(self.scale)
        return self._components(seen.mean, seen.deviation, log_scale)

    def widened(self, factor: float) -> "Member":
        """The member with its spread times a factor."""
        return replace(self, factor=self.factor * factor)

    def hyperparameters(
        self, columns: Sequence[Any], inputs: Standardiser, scale: float, noise: str = "noise_std"
    ) -> dict[str, Any]:
        """Length-scales by column, deviations of f and noise in the units of the data.

        Args:
            columns: their names.
            inputs: the scales that the model sees them in.
            scale: of the targets.
            noise: what the deviation of the noise is called.
        """
        gp = getattr(self.location, "gp", None)
        if isinstance(self.location, ByDeepGP):
            return {"model": repr(self.location.fitted)}
        if isinstance(self.location, ByMean):
            return {}
        if gp is None:
            return {"trees": len(self.location.trees.roots)}  # pyright: ignore
        size = scale * getattr(self.location, "size", 1.0)  # of what the GP sees as its targets
        lengthscales = np.exp(gp.kernel.log_parameters[: len(columns)]) * inputs.scale
        return {
            "lengthscale": dict(zip(columns, lengthscales.tolist(), strict=True)),
            noise: float(size * np.exp(0.5 * gp.log_noise)),
        }

    def _components(
        self,
        mean: Float[np.ndarray, "N"],
        deviation: Float[np.ndarray, "N"],
        log_scale: Float[np.ndarray, "N"] | None,
    ) -> Components:
        local = deviation * self.factor
        if log_scale is not None:
            local = local * np.exp(self.strength * log_scale)
        return Components(
            mean + local * self.shape.centre[:, None],
            local * self.shape.deviation[:, None],
            self.shape.weight,
        )


def calibrated(
    name: str,
    location: Location,
    seen: OutOfFold,
    scale: LogScale | None,
    y: Float[np.ndarray, "N"],
    weight: Float[np.ndarray, "N"],
    optimism: float = 1.0,
    *,
    plain: bool = False,
) -> Member:
    """A location with the calibration that its out-of-fold errors ask for.

    Errors of few rows have the shape of Student's t with a degree of freedom for each, as their
    size is not known well.

    Args:
        name: for reports.
        location: the model.
        seen: its out-of-fold predictions.
        scale: the local scale of its standardised errors, if one was learned.
        y: the targets.
        weight: of the rows.
        optimism: what errors of new rows are a multiple of these errors.
        plain: the shape of Student's t for many rows, too.
    """
    few = plain or len(y) < _ROWS_FOR_SHAPE
    freedom = min(len(y), _MOST_FREEDOM)
    strengths = (0.0,) if scale is None else _STRENGTHS
    best, best_score = None, -np.inf
    for strength in strengths:
        log_scale = 0.0 if scale is None else strength * seen.scaled(scale)
        local = seen.deviation * np.exp(log_scale)
        error = (y - seen.mean) / local
        factor = _size(error, weight, freedom if few else _TAILS)
        z = error / factor
        shape = ResidualShape.of_few(freedom) if few else ResidualShape.fit(z, weight)
        score = float(weight @ (shape.log_density(z) - np.log(local * factor)))
        if score > best_score:
            kept = scale if strength > 0 else None
            widened = factor * optimism
            best, best_score = Member(name, location, kept, strength, widened, shape), score
    assert best is not None
    return best


def _size(error: Float[np.ndarray, "N"], weight: Float[np.ndarray, "N"], freedom: int) -> float:
    """The scale of Student's t by maximum likelihood, of which outliers decide less than a mean.

    Args:
        error: in units of the deviations that a model predicts.
        weight: of the rows; a few that are as far off as predicted are added.
        freedom: degrees of freedom.
    """
    squares = np.append(error**2, 1.0)
    share = np.append(weight, _PRIOR_ROWS)
    size = float(share @ squares / share.sum())
    # Where all errors are 0, only the added rows keep the size above 0, and they count as outliers.
    least = np.finfo(float).eps ** 2 * size
    for _ in range(_SIZE_STEPS):
        belief = (freedom + 1.0) / (freedom + squares / size)
        size = max(least, float((share * belief) @ squares / share.sum()))
    return float(np.sqrt(size))
