"""Learning from a stream: go on from a fitted model with new rows and a memory of old ones."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.fit_outputs import long_rows
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.specs import Training, default_learning_rate
from directgp.fitting.square_loss_variance import with_spread, without_spread
from directgp.fitting.stacking import Stack
from directgp.objective import Batch
from directgp.parameters import float64, thawed
from directgp.tables import WeightedRows
from directgp.training.loop import Settings, run
from directgp.training.padding import padded, padded_rows

_MEMORY = 1000
_LEAST_ROWS = 1280
_STEPS = 100
_SLOWER = 0.2


@dataclass
class Memory:
    """A sample of the rows of a stream in which every row is equally likely (a reservoir)."""

    rows: WeightedRows
    seen: float

    @classmethod
    def of(cls, rows: WeightedRows, generator: np.random.Generator) -> "Memory":
        """The memory after the first rows."""
        return cls(_sample(rows, generator), float(rows.weight.sum()))

    def trained_on(self, new: WeightedRows) -> WeightedRows:
        """New rows with their own weights, remembered ones standing for all that were seen."""
        share = self.seen / self.rows.weight.sum()
        old = self.rows._replace(weight=share * self.rows.weight)
        return _joined(old, new)

    def extended(self, new: WeightedRows, generator: np.random.Generator) -> "Memory":
        """The memory after some more rows."""
        return Memory(_sample(self.trained_on(new), generator), self.seen + float(new.weight.sum()))


def _joined(first: WeightedRows, second: WeightedRows) -> WeightedRows:
    return WeightedRows(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _sample(rows: WeightedRows, generator: np.random.Generator) -> WeightedRows:
    """At most a thousand rows, chosen in proportion to their weights, then of equal weight.

    Systematic sampling: even steps along the summed weights of the rows in random order, so that
    every row's chance is exactly its share (drawing without replacement would favour light rows).
    """
    if len(rows.y) <= _MEMORY:
        return rows
    order = generator.permutation(len(rows.y))
    along = np.cumsum(rows.weight[order])
    steps = (generator.random() + np.arange(_MEMORY)) * (along[-1] / _MEMORY)
    chosen = order[np.searchsorted(along, steps)]
    return WeightedRows(rows.X[chosen], rows.y[chosen], np.ones(_MEMORY))


def one_gp(fitted: FittedGP | Stack | FittedExact, asked: str) -> FittedGP:
    """The model to go on from; a stack of models does not learn from more rows.

    Args:
        fitted: the earlier fit.
        asked: what goes on from it: "partial_fit" or "warm_start".
    """
    if isinstance(fitted, FittedExact):
        raise DirectGPError(
            f"{asked} goes on from a trained GP, and this one was found by {fitted.inference}; "
            "leave out inference"
        )
    if isinstance(fitted, Stack):
        raise DirectGPError(
            f"{asked} goes on from one GP, and fit made a stack of models; use {asked} from the "
            "start, or fit with e.g. layers=1"
        )
    return fitted


@float64
def continued(
    fitted: FittedGP,
    rows: WeightedRows,
    learning_rate: float | None,
    seed: int,
    steps: int = _STEPS,
) -> FittedGP:
    """The model after some more steps on these rows: q(u) and hyperparameters both move on.

    The scales of inputs and targets and β stay those of the first rows; β weighs against the
    rows' total weight, as it does for `fit`. The rate is a fifth of the one given, or of that
    of a `fit` of such a model.
    """
    if fitted.long_table is not None:
        measured = long_rows(rows.X, rows.y, rows.weight, fitted.targets)
        long = continued(fitted.as_long_table(), measured, learning_rate, seed, steps)
        return replace(fitted, gp=long.gp, reason=long.reason, _ready={})
    rate = Training(learning_rate=learning_rate).learning_rate
    batch = Batch(
        jnp.asarray(fitted.inputs.forward_inputs(rows.X)),
        jnp.asarray(fitted.targets.forward(rows.y[:, None])[:, 0]),
        jnp.asarray(rows.weight),
    )
    # One size for a memory that fills up, so that a stream compiles once.
    size = padded_rows(max(len(rows.y), _LEAST_ROWS))
    batch = padded(batch, size, rows.X.shape[1])
    start = thawed(without_spread(fitted.gp))
    own_rate = _SLOWER * (rate or default_learning_rate(start.model.depth))
    settings = Settings(steps, None, own_rate, tolerance=0.0, seed=seed)
    trained = run(start, fitted.objective, batch, settings, beta=fitted.beta)
    gp = with_spread(trained.gp, fitted.objective, batch, fitted.beta)
    return replace(fitted, gp=gp, reason=trained.reason, _ready={})
