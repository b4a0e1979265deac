"""Learning from a stream: go on from a fitted model with new rows and a memory of old ones."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from directgp.estimators.rows import WeightedRows
from directgp.fitting import FittedGP
from directgp.objective import Batch
from directgp.parameters import float64, thawed
from directgp.training.loop import Settings, run
from directgp.training.padding import padded, padded_rows

_MEMORY = 1000
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
    """At most a thousand rows, drawn in proportion to their weights, then of equal weight."""
    if len(rows.y) <= _MEMORY:
        return rows
    chances = rows.weight / rows.weight.sum()
    chosen = generator.choice(len(rows.y), _MEMORY, replace=False, p=chances)
    return WeightedRows(rows.X[chosen], rows.y[chosen], np.ones(_MEMORY))


@float64
def continued(
    fitted: FittedGP, rows: WeightedRows, learning_rate: float, seed: int, steps: int = _STEPS
) -> FittedGP:
    """The model after some more steps on these rows: q(u) and hyperparameters both move on.

    The scales of inputs and targets and β stay those of the first rows; β weighs against the
    rows' total weight, as it does for `fit`.
    """
    y = fitted.gp.likelihood.check_targets(rows.y)
    batch = Batch(
        jnp.asarray(fitted.inputs.forward(rows.X)),
        jnp.asarray(fitted.targets.forward(y[:, None])[:, 0]),
        jnp.asarray(rows.weight),
    )
    batch = padded(batch, padded_rows(len(y)), rows.X.shape[1])
    settings = Settings(steps, None, _SLOWER * learning_rate, tolerance=0.0, seed=seed)
    trained = run(thawed(fitted.gp), fitted.objective, batch, settings, beta=fitted.beta)
    return replace(fitted, gp=trained.gp, reason=trained.reason, _ready={})
