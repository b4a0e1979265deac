"""Compiled chunks of Adam steps, on rows in one process or distributed over a team."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Float, PyTree

from directgp.distributed.base import AXIS, Team
from directgp.objective import Batch, Parts
from directgp.parameters import on_device
from directgp.training import adam
from directgp.training.compiling import compiled_quickly
from directgp.training.learning_rates import rate_factors

ObjectiveFunction = Callable[..., tuple[jax.Array, Parts]]
"""Maps (model, likelihood, batch, *, beta, num_data, key) to (value, parts); see `Objective`."""


class Descent(NamedTuple):
    """The parameters, optimiser state and objective of a chunk; its rows are separate."""

    learned: PyTree
    moments: PyTree
    fixed: PyTree
    objective: ObjectiveFunction
    rates: Float[Array, "steps"]
    beta: Float[Array, "*L"]
    first_step: Array
    key: Array
    quick: float = 1.0
    """Factor of the learning rate of parts that are learned fast; see `rate_factors`."""


def _adam_steps(
    evaluate: Callable, learned: PyTree, moments: PyTree, rates, inputs: PyTree, quick: float
):
    """Scan over steps; `evaluate(learned, index, input)` returns the parts and their gradient."""
    factors = rate_factors(learned, quick)

    def step(carry, now):
        learned, moments = carry
        index, rate, own = now
        (total, parts), gradient = evaluate(learned, index, own)
        updates, moments = adam.update(gradient, moments)
        learned = jax.tree.map(
            lambda old, update, factor: old - factor * rate * update, learned, updates, factors
        )
        return (learned, moments), (total, parts.risk, parts.penalty)

    return lax.scan(step, (learned, moments), (jnp.arange(rates.shape[0]), rates, inputs))


def run_chunk(
    descent: Descent,
    data: Batch,
    rows: Any,
    num_data: Array | None = None,
    *,
    thorough: bool,
):
    """Run one compiled chunk, a scan over Adam steps.

    Args:
        descent: parameters, optimiser state and objective.
        data: all training rows.
        rows: row numbers of each step [steps, batch]; None for full batches.
        num_data: the number of rows that the data stand for.
        thorough: whether XLA optimises the program for long runs.

    Returns:
        Parameters and optimiser state, and the objective per row and its parts for every step.
    """
    program = _compiled_thoroughly if thorough else _compiled_quickly
    return program(*descent[:4], data, rows, *descent[4:], num_data)


def _chunk(
    learned, moments, fixed, objective, data, rows, rates, beta, first_step, key, quick, num_data
):
    if num_data is None:
        num_data = jnp.asarray(data.y.shape[0], jnp.float64)
    # Rows of weight 0 are padding: they do not count in averages.
    counted = jnp.sum(data.weight > 0).astype(jnp.float64)
    count = (num_data if rows is not None else counted) * _values_a_row(data, counted)

    def value(learned, batch, step_key):
        gp = eqx.combine(learned, fixed)
        total, parts = objective(
            gp.model, gp.likelihood, batch, beta=beta, num_data=num_data, key=step_key
        )
        return total / count, Parts(parts.risk / count, parts.penalty / count)

    def evaluate(learned, index, batch_rows):
        batch = data if rows is None else jax.tree.map(lambda column: column[batch_rows], data)
        step_key = jax.random.fold_in(key, first_step + index)
        return jax.value_and_grad(value, has_aux=True)(learned, batch, step_key)

    return _adam_steps(evaluate, learned, moments, rates, rows, quick)


def _values_a_row(data: Batch, counted: Array) -> Array | float:
    """The mean number of measured values per row: 1 unless there are several outputs."""
    if data.y.ndim == 1:
        return 1.0
    return jnp.sum(~jnp.isnan(data.y) & (data.weight > 0)[:, None]) / counted


_compiled_thoroughly = eqx.filter_jit(_chunk)
_compiled_quickly = compiled_quickly(_chunk)


class ShardedRows(NamedTuple):
    """The rows of a chunk by step and shard, of this process or of all processes of a mesh."""

    batches: Any
    """X, y, weight: [steps, shards, rows, …]; smaller shards are padded with rows of weight 0."""
    stand_for: Float[np.ndarray, "S"] | Float[Array, "S"]
    """The number of rows of the table that the batch of each shard stands for."""
    numbers: Any
    """The numbers of the shards."""


_SPREAD = ShardedRows(
    PartitionSpec(None, AXIS),  # pyright: ignore[reportArgumentType]
    PartitionSpec(AXIS),  # pyright: ignore[reportArgumentType]
    PartitionSpec(AXIS),
)


def run_sharded_chunk(descent: Descent, rows: ShardedRows, num_data: float, team: Team):
    """`run_chunk` on batches to which every shard contributes.

        objective(q) = Σ_shards (n_s / |batch_s|) Σ_i loss(y_i, q at x_i) + β divergence

    The sum over shards does not depend on which process computes its terms. All processes return
    the numbers of the leader, so that they take the same decisions.

    Args:
        descent: parameters, optimiser state and objective.
        rows: of each step, from the shards of this process.
        num_data: the number of rows of all shards.
        team: the processes.
    """
    spread = jax.tree.map(
        lambda spec, part: jax.tree.map(partial(_spread, team, spec), part),
        _SPREAD,
        rows,
        is_leaf=lambda leaf: isinstance(leaf, PartitionSpec),
    )
    out = _run_spread(descent, spread, on_device(num_data, np.float64), team.mesh)
    # A local copy: code outside of the mesh works on arrays of one process.
    return jax.tree.map(lambda leaf: on_device(np.asarray(leaf)), out)


def _spread(team: Team, spec: PartitionSpec, local: np.ndarray) -> jax.Array:
    return jax.make_array_from_process_local_data(NamedSharding(team.mesh, spec), local)


@eqx.filter_jit
def _run_spread(descent: Descent, rows: ShardedRows, num_data: Array, mesh):
    arrays, static = eqx.partition(descent, eqx.is_array)

    def program(arrays, rows: ShardedRows, num_data):
        own = eqx.combine(arrays, static)
        # Each shard adds its share of the penalty, so that the sum over shards is the objective.
        beta = own.beta / (rows.stand_for.shape[0] * mesh.size)

        def value(learned, batch, stand_for, step_key):
            gp = eqx.combine(learned, own.fixed)
            total, parts = own.objective(
                gp.model, gp.likelihood, batch, beta=beta, num_data=stand_for, key=step_key
            )
            return total / num_data, Parts(parts.risk / num_data, parts.penalty / num_data)

        def evaluate(learned, index, batches):
            step_key = jax.random.fold_in(own.key, own.first_step + index)

            def of_shard(shard):
                columns, stand_for, number = shard
                batch, key = Batch(*columns), jax.random.fold_in(step_key, number)
                return jax.value_and_grad(value, has_aux=True)(learned, batch, stand_for, key)

            parts = lax.map(of_shard, (batches, rows.stand_for, rows.numbers))
            return lax.psum(jax.tree.map(lambda part: jnp.sum(part, axis=0), parts), AXIS)

        out = _adam_steps(evaluate, own.learned, own.moments, own.rates, rows.batches, own.quick)
        leads = lax.axis_index(AXIS) == 0
        return lax.psum(jax.tree.map(lambda x: jnp.where(leads, x, jnp.zeros_like(x)), out), AXIS)

    everywhere = PartitionSpec()
    spread = jax.shard_map(
        program,
        mesh=mesh,
        in_specs=(everywhere, _SPREAD, everywhere),
        out_specs=everywhere,
        check_vma=False,
    )
    return spread(arrays, rows, num_data)
