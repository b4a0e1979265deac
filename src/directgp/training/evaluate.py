"""Scores and predictions of rows in blocks of a fixed shape: no recompilation, bounded memory."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from directgp.distributed import Team
from directgp.linalg.blas_threads import one_blas_thread
from directgp.linalg.blocks import rows_a_block, to_blocks
from directgp.losses.base import Integrals
from directgp.marginals import Marginals
from directgp.models.base import Conditioned, Model
from directgp.objective import Batch, Objective
from directgp.parameters import float64, on_device, random_key
from directgp.training.compiling import compiled_at_once, compiled_quickly
from directgp.training.loop import GP

ROWS = 2048
"""Inputs per block: rows times components of the mixture."""
_TOGETHER = 32
_FEW = 400_000
"""Pairs of an input and an inducing point, up to which an optimised program does not pay."""
MORE_NOISE = np.concatenate([[0.0], np.geomspace(1e-6, 1.0, 31)])
"""Amounts added to the noise, relative to the variance of y (for counts: to the dispersion)."""
_MANY_ROWS = 1000
"""Number of held-out rows from which on one further row has no effect."""


def rows_at_a_time(components: int) -> int:
    """Rows per block, the same for all blocks, so that predictions do not depend on other rows.

    A multiple of 32, because rows in an incomplete tile of a product are summed in another order.

    >>> [rows_at_a_time(components) for components in (1, 8, 50, 2000)]
    [2048, 256, 32, 32]
    """
    return max(_TOGETHER, ROWS // components // _TOGETHER * _TOGETHER)


class PredictedMarginals(NamedTuple):
    """`Marginals` as NumPy arrays."""

    mean: Float[np.ndarray, "S N P"]
    variance: Float[np.ndarray, "S N P"]
    log_weights: Float[np.ndarray, "S"]


@float64
@compiled_at_once
def condition(model: Model, precision: str) -> Conditioned:
    """The M×M algebra for prediction, computed once.

    Args:
        model: trained.
        precision: "float64" or "mixed".
    """
    form = "rotated" if precision == "mixed" else "auto"
    return model.for_prediction().condition(precision, form)


@jax.jit
def _marginals(model: Conditioned, X: Float[Array, "N D"], key) -> Marginals:
    return model.marginals(X, key)


@float64
def marginals(
    conditioned: Conditioned, X: Float[np.ndarray, "N D"], seed: int = 0
) -> PredictedMarginals:
    """q(f) at every row, as NumPy arrays in float64.

    Args:
        conditioned: from `condition`.
        X: inputs.
        seed: of models that draw samples.
    """
    key = random_key(seed)
    size = rows_at_a_time(conditioned.components)
    firsts = range(0, max(len(X), 1), size)
    with one_blas_thread():
        # All blocks are dispatched before the first result is copied, so that the device is busy.
        blocks = [
            _marginals(conditioned, _padded(X[first : first + size], size), key) for first in firsts
        ]
        means = np.concatenate([np.asarray(block.mean) for block in blocks], axis=1)
        variances = np.concatenate([np.asarray(block.variance) for block in blocks], axis=1)
    log_weights = np.asarray(blocks[0].log_weights)
    return PredictedMarginals(means[:, : len(X)], variances[:, : len(X)], log_weights)


def _padded(rows: Float[np.ndarray, "B D"], size: int) -> Float[np.ndarray, "K D"]:
    if len(rows) == size:
        return rows
    return np.concatenate([rows, np.zeros((size - len(rows), rows.shape[1]))])


class Scorer:
    """Losses of held-out rows between chunks, compiled once."""

    def __init__(
        self,
        objective: Objective,
        data: Batch,
        seed: int = 0,
        bound: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        """Compile nothing yet.

        Args:
            objective: with the loss of the scores.
            data: the held-out rows.
            seed: of models that draw samples.
            bound: converts losses to those of bounded class probabilities, if they are bounded.
        """
        self.objective, self._bound = objective, bound
        self.key = random_key(seed)
        self.data = data
        weight = np.asarray(data.weight)
        self._counted = weight > 0
        y = np.asarray(data.y)
        self._measured = np.isfinite(y) if y.ndim == 2 else None
        # Rows are weighted by their weight and number of values, for a mean over values.
        values = 1.0 if self._measured is None else self._measured[self._counted].sum(axis=1)
        self._share = weight[self._counted] / np.mean(weight[self._counted] * values)
        self._program: Callable[..., Array] | None = None

    def __call__(self, gp: GP) -> float:
        """The weighted mean loss."""
        return float(np.mean(self.rows(gp)))

    @float64
    def rows(self, gp: GP) -> Float[np.ndarray, "N"]:
        """Losses of the rows with weight above 0, scaled so that their mean is the weighted mean
        loss.

        With several outputs a row has the sum over its values, scaled so that the mean is over
        values.
        """
        return self._share * self._losses(gp, self.data)

    @float64
    def further_row(self, gp: GP) -> float | None:
        """The expected loss of a row whose class is independent of its inputs.

        The mean over the held-out inputs, with the K classes equally often. None if y are not
        classes, or if there are so many rows that one more has no effect.
        """
        classes, number = gp.likelihood.outcomes, int(np.sum(self._counted))
        if classes is None or number >= _MANY_ROWS:
            return None
        y = np.array(self.data.y)
        counted = np.flatnonzero(self._counted)
        step = np.arange(number).reshape(-1, *(1,) * (y.ndim - 1))
        y[counted] = (y[counted] + step) % len(classes)
        further = replace(self.data, y=on_device(y))
        return float(np.mean(self._share * self._losses(gp, further)))

    @float64
    def rows_by_noise(self, gp: GP) -> Float[np.ndarray, "A N"]:
        """`rows` for each amount of `MORE_NOISE` added to the noise, in one block of rows.

        Only `rows` if the likelihood has no noise parameter.
        """
        if not gp.likelihood.has_learned_noise:
            return self.rows(gp)[None]
        amounts = on_device(MORE_NOISE)
        losses = np.asarray(_losses_by_noise(self.objective, gp, self.data, self.key, amounts))
        return self._share * losses[:, self._counted]

    def _losses(self, gp: GP, data: Batch) -> Float[np.ndarray, "N"]:
        """The losses of the rows with weight above 0."""
        if self._program is None:
            pairs = len(data.y) * gp.model.components * gp.model.posteriors[0].mean.shape[1]
            self._program = _losses_of_few if pairs <= _FEW else _losses_of_many
        losses = np.asarray(self._program(self.objective, gp, data, self.key))
        losses = losses[: len(self._counted)][self._counted]
        losses = losses if self._bound is None else self._bound(losses)
        if losses.ndim == 1:
            return losses
        assert self._measured is not None
        return np.sum(losses, axis=1, where=self._measured[self._counted])


class TeamScorer:
    """A `Scorer` whose rows are distributed over the shards of a team."""

    def __init__(
        self,
        objective: Objective,
        data: Batch,
        team: Team,
        num_shards: int,
        bound: Callable[[np.ndarray], np.ndarray] | None = None,
    ):
        self._team, self._count = team, len(data.y)
        here = num_shards // team.size
        size = -(-self._count // num_shards)
        # Parts of equal size are compiled once; the last one is padded with the first rows.
        rows = np.resize(np.arange(self._count), (num_shards, size))
        self._parts = [
            Scorer(
                objective,
                jax.tree.map(lambda column: column[rows[number]], data),  # noqa: B023
                number,
                bound,
            )
            for number in range(team.index * here, (team.index + 1) * here)
        ]

    def __call__(self, gp: GP) -> float:
        """The mean loss."""
        return float(np.mean(self.rows(gp)))

    def further_row(self, gp: GP) -> float | None:
        """None, because a team has many rows."""
        return None

    def rows_by_noise(self, gp: GP) -> Float[np.ndarray, "1 N"]:
        """`rows` only, because a team does not cross-validate."""
        return self.rows(gp)[None]

    def rows(self, gp: GP) -> Float[np.ndarray, "N"]:
        """The loss of every row."""
        own = np.concatenate([part.rows(gp) for part in self._parts])
        return np.concatenate(self._team.gather_arrays(own))[: self._count]


def team_scorer(
    objective: Objective,
    data: Batch,
    team: Team,
    num_shards: int,
    bound: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Scorer | TeamScorer:
    """A `Scorer`, or a `TeamScorer` for several shards.

    Args:
        objective: with the loss of the scores.
        data: the held-out rows.
        team: the processes.
        num_shards: of the data.
        bound: see `Scorer`.
    """
    if num_shards == 1:
        return Scorer(objective, data, bound=bound)
    return TeamScorer(objective, data, team, num_shards, bound)


def _row_losses(objective: Objective, gp: GP, data: Batch, key) -> Float[Array, "N *T"]:
    conditioned = gp.model.for_prediction().condition(objective.precision)
    blocks = to_blocks(data, rows_a_block(conditioned.components))
    keys = jax.random.split(key, blocks.y.shape[0])
    losses = jax.lax.map(
        lambda block: objective.row_losses(conditioned, gp.likelihood, *block), (blocks, keys)
    )
    return losses.reshape(-1, *losses.shape[2:])


@compiled_at_once
def _losses_by_noise(
    objective: Objective, gp: GP, data: Batch, key, amounts: Float[Array, "A"]
) -> Float[Array, "A N"]:
    """The moments of f are computed once for all amounts of noise."""
    conditioned = gp.model.for_prediction().condition(objective.precision)
    q = conditioned.marginals(data.X, key)

    def losses(amount: Float[Array, ""]) -> Float[Array, "N"]:
        likelihood = gp.likelihood.with_more_noise(amount)
        assert likelihood is not None
        return objective.loss(likelihood, Integrals(data.y, q, objective.expectation, key))

    return jax.lax.map(losses, amounts)


_losses_of_few = compiled_at_once(_row_losses)
_losses_of_many = compiled_quickly(_row_losses)
