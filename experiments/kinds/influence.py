"""`gvi` Fig. 1, right: how much one more observation moves a posterior, for each loss."""

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from directgp.expectations import ClosedForm
from directgp.likelihoods import Gaussian
from directgp.losses import losses
from directgp.losses.base import Integrals
from directgp.marginals import Marginals
from directgp.parameters import float64
from experiments.datasets import Rows
from experiments.execute import Outcome
from experiments.job import Record
from experiments.kinds import kinds
from experiments.method import part

_GRID = np.linspace(-4.0, 4.0, 4001)
_CERTAIN = 1e-12
NO_ROWS = Rows(*(np.zeros((0, 1)), np.zeros(0)) * 3)
"""Empty rows, for parts that do not use them."""


@kinds.register("influence")
@float64
def influence(record: Record, _folder: Path) -> Outcome:
    """The generalised posterior of a mean, ∝ exp(−Σ loss), before and after the last observation.

    `observations` − 1 values come from N(0, 1); the last lies `distance` predictive standard
    deviations from the posterior mean. Influence is the Fisher–Rao distance of the two posteriors,
    arccos ∫ √(p q) (Kurtek & Bharath 2015), on a grid; the prior is N(0, 10²).
    """
    loss = losses.resolve(part("loss", record["loss"], NO_ROWS, record["seed"]))
    rng = np.random.default_rng(record["seed"])
    y = rng.standard_normal(record["observations"] - 1)
    log_prior = -0.5 * (_GRID / 10.0) ** 2
    before = log_prior - sum(_losses(loss, value) for value in y)
    density = _normalised(before)
    centre = float(_GRID @ density)
    spread = float(np.sqrt(1.0 + (_GRID - centre) ** 2 @ density))
    rows = []
    for distance in record["distances"]:
        after = _normalised(before - _losses(loss, centre + distance * spread))
        moved = float(np.arccos(np.clip(np.sqrt(density * after).sum(), -1.0, 1.0)))
        scores = {"influence": moved, "minus_influence": -moved}
        rows.append({"labels": {"distance": distance}, "scores": scores})
    return Outcome({}, rows=rows)


def _losses(loss, y: float) -> np.ndarray:
    """loss(y, f) for every f of the grid, by the library's loss with almost zero variance."""
    means = jnp.asarray(_GRID)[None, :, None]
    certain = Marginals(means, jnp.full_like(means, _CERTAIN), jnp.zeros(1))
    values = jnp.full(len(_GRID), y)
    return np.asarray(loss(Gaussian(1.0), Integrals(values, certain, ClosedForm(), None)))


def _normalised(log_density: np.ndarray) -> np.ndarray:
    density = np.exp(log_density - log_density.max())
    return density / density.sum()
