"""`partial_fit`: gradient steps on new rows and on a reservoir sample of earlier rows."""

from dataclasses import dataclass, replace

import numpy as np

from directgp.errors import DirectGPError
from directgp.fitting.any_fitted import Fitted
from directgp.fitting.fitted import FittedGP
from directgp.fitting.fitted_exact import FittedExact
from directgp.fitting.fitted_exact_regression import FittedExactRegression
from directgp.fitting.flat_options import EXACT
from directgp.fitting.prepare_outputs import one_row_per_value
from directgp.fitting.specs import Training, default_learning_rate
from directgp.fitting.square_loss_variance import with_spread, without_spread
from directgp.fitting.stacking import Stack
from directgp.objective import Batch
from directgp.parameters import float64, on_device, thawed
from directgp.tables import WeightedRows
from directgp.training.loop import Settings, run
from directgp.training.padding import padded, padded_rows

_MEMORY = 1000
_LEAST_ROWS = 1280
_STEPS = 100
_SLOWER = 0.2


@dataclass
class Memory:
    """A reservoir sample: every row of the stream so far is equally likely to be in it."""

    rows: WeightedRows
    seen: float

    @classmethod
    def of(cls, rows: WeightedRows, generator: np.random.Generator) -> "Memory":
        """The sample after the first rows."""
        return cls(_sample(rows, generator), float(rows.weight.sum()))

    def trained_on(self, new: WeightedRows) -> WeightedRows:
        """New rows with their own weights, and the sample weighted to represent all old rows."""
        share = self.seen / self.rows.weight.sum()
        old = self.rows._replace(weight=share * self.rows.weight)
        return _joined(old, new)

    def extended(self, new: WeightedRows, generator: np.random.Generator) -> "Memory":
        """The sample after more rows."""
        return Memory(_sample(self.trained_on(new), generator), self.seen + float(new.weight.sum()))


def _joined(first: WeightedRows, second: WeightedRows) -> WeightedRows:
    return WeightedRows(*(np.concatenate(pair) for pair in zip(first, second, strict=True)))


def _sample(rows: WeightedRows, generator: np.random.Generator) -> WeightedRows:
    """Sample at most 1000 rows in proportion to their weights; the sample has equal weights.

    Systematic sampling: even steps along the cumulative weights of the shuffled rows, so that the
    inclusion probabilities are exact (sampling without replacement would favour small weights).
    """
    if len(rows.y) <= _MEMORY:
        return rows
    order = generator.permutation(len(rows.y))
    along = np.cumsum(rows.weight[order])
    steps = (generator.random() + np.arange(_MEMORY)) * (along[-1] / _MEMORY)
    chosen = order[np.searchsorted(along, steps)]
    return WeightedRows(rows.X[chosen], rows.y[chosen], np.ones(_MEMORY))


def one_gp(fitted: Fitted, asked: str) -> FittedGP:
    """The fitted GP that training continues from; an error for a stack or an exact GP.

    Args:
        fitted: the result of the earlier fit.
        asked: "partial_fit" or "warm_start", for the message.
    """
    if isinstance(fitted, FittedExact | FittedExactRegression):
        inference = getattr(fitted, "inference", EXACT)
        raise DirectGPError(
            f"{asked} continues gradient training, but this model was fitted with "
            f"inference={inference!r}; leave out inference"
        )
    if isinstance(fitted, Stack):
        raise DirectGPError(
            f"{asked} continues training one GP, but fit made a stack of models; use {asked} from "
            "the start, or fit with e.g. layers=1"
        )
    return fitted


@float64
def continued(
    fitted: FittedGP,
    rows: WeightedRows,
    learning_rate: float | None,
    seed: int,
) -> FittedGP:
    """Train the model for more steps on these rows: q(u) and all hyperparameters.

    The scaling of inputs and targets and β stay those of the first fit; β is relative to the
    rows' total weight, as in `fit`.

    Args:
        fitted: the model to continue from.
        rows: the training rows.
        learning_rate: a fifth of it is used; None for the default rate of `fit`.
        seed: for mini-batches and samples.
    """
    rate = Training(learning_rate=learning_rate).learning_rate
    scaled = fitted.output_scales.forward(rows.y.reshape(len(rows.y), -1))
    batch = Batch(
        on_device(fitted.inputs.forward_inputs(rows.X)),
        on_device(scaled.reshape(rows.y.shape)),
        on_device(rows.weight),
    )
    # Pad to one size while the sample fills up, so that the step is compiled once.
    size = padded_rows(max(len(rows.y), _LEAST_ROWS))
    batch = padded(batch, size, rows.X.shape[1])
    start = thawed(without_spread(fitted.gp))
    own_rate = _SLOWER * (rate or default_learning_rate(start.model.depth))
    settings = Settings(_STEPS, None, own_rate, tolerance=0.0, seed=seed)
    trained = run(start, fitted.objective, batch, settings, beta=fitted.beta)
    gp = with_spread(
        trained.gp, fitted.objective, one_row_per_value(batch, trained.gp), fitted.beta
    )
    return replace(fitted, gp=gp, reason=trained.reason, _ready={})
